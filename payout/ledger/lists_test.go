package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

func makeList(t testing.TB, l *ledger.Lists, name string, purpose standing.ListPurpose, who ...string) {
	t.Helper()
	testenv.Must(t, testenv.Err(l.Create(t.Context(), name, standing.KindPlayers, purpose)))
	if len(who) > 0 {
		testenv.Must(t, testenv.Err(l.Add(t.Context(), name, who)))
	}
}

// reasons joins the reasons of dead letters.
func reasons(dead []string) string { return strings.Join(dead, "; ") }

// Members of the campaign's list are paid, and former members for wins before their removal. Other wins become
// dead letters, even if a node accepted them, and an operator may pay them.
func TestOnlyTheInvitedArePaid(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		lists := paytest.Node(t, b).Lists
		makeList(t, lists, "vip", standing.PurposeInvite, "in", "out", "back")
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9,
			Players: &rain.Players{List: "vip"}})
		b.OpenCampaign(t, "open", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9})
		win := func(campaign string, number int, user string) rain.Entry {
			return paytest.Entry(campaign, int(b.Clock.Now()), paytest.Win(user, number, 10))
		}
		before := win("c", 0, "out")
		b.Clock.Add(1)
		testenv.Must(t, testenv.Err(lists.Remove(paytest.As(t, "list.remove"), "vip", []string{"out", "back",
			"nobody"})))
		posted := b.MustPost(t, before, win("c", 1, "out"), win("c", 2, "in"), win("c", 3, "stranger"),
			win("open", 0, "stranger"))
		dead := paytest.Map(posted.Dead, func(d posting.DeadLetter) string { return d.User + ": " + d.Reason })
		slices.Sort(dead)
		if want := "out: " + standing.NotInvited + "; stranger: " + standing.NotInvited; reasons(dead) != want ||
			posted.New != 3 {
			t.Errorf("%d are paid; dead: %s", posted.New, reasons(dead))
		}
		testenv.Must(t, testenv.Err(lists.Add(t.Context(), "vip", []string{"back"})))
		testenv.Equal(t, b.MustPost(t, win("c", 4, "back")).New, 1, "who is on it again")
		testenv.Got(b.Retry(t.Context(), rain.ClaimID("c", 3))).Len(t, 1, "a person pays it")
		testenv.Equal(t, testenv.Got(lists.List(t.Context(), "vip")).Must(t).Members, 2, "members")
	})
}

// Members of a deny list are not paid and cannot withdraw until their removal from it.
func TestDeniedPlayersAreNotPaid(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		lists := paytest.Node(t, b).Lists
		makeList(t, lists, "barred", standing.PurposeDeny)
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9})
		win := func(number int, user string) rain.Entry {
			return paytest.Entry("c", int(b.Clock.Now()), paytest.Win(user, number, 10))
		}
		before := win(0, "u")
		b.Clock.Add(1)
		testenv.Must(t, testenv.Err(lists.Add(t.Context(), "barred", []string{"u"})))
		between := win(1, "u")
		testenv.Must(t, testenv.Err(lists.Add(t.Context(), "barred", []string{"u"}))) // keeps the first time
		posted := b.MustPost(t, before, between, win(2, "v"))
		if len(posted.Dead) != 1 || posted.Dead[0].Reason != standing.WasDenied || posted.New != 2 {
			t.Errorf("%+v", posted)
		}
		testenv.WantErr(t, paytest.Err3(b.Withdraw(t.Context(), "w1", "u", 5)), standing.ErrDenied,
			"a denied player withdraws")
		late := win(3, "u")
		b.Clock.Add(1)
		testenv.Must(t, testenv.Err(lists.Remove(t.Context(), "barred", []string{"u"})))
		if posted := b.MustPost(t, late, win(4, "u")); posted.New != 1 || len(posted.Dead) != 1 {
			t.Errorf("won before and after the pardon: %+v", posted)
		}
		testenv.Must(t, paytest.Err3(b.Withdraw(t.Context(), "w1", "u", 5)))
	})
}

// A campaign needs an existing list for inviting players. A list in use cannot be deleted, and a deleted one leaves
// no rows.
func TestCampaignsAndTheirLists(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		lists := paytest.Node(t, b).Lists
		makeList(t, lists, "vip", standing.PurposeInvite, "u")
		makeList(t, lists, "barred", standing.PurposeDeny)
		testenv.WantErr(t, testenv.Err(lists.Create(ctx, "vip", standing.KindPlayers, standing.PurposeDeny)),
			ledger.ErrListExists, "made twice")
		for _, name := range []string{"barred", "none"} {
			c := paytest.FullCampaign("x")
			c.Players = &rain.Players{List: name}
			testenv.Must(t, testenv.Err(b.Deposit(ctx, c.Sponsor, name, c.Budget)))
			if err := b.CreateCampaign(ctx, c); !errors.As(err, &rain.Invalid{}) {
				t.Errorf("a campaign with the list %s: %v", name, err)
			}
		}
		b.OpenCampaign(t, "c", rain.Spec{Budget: 10, Packets: 10, Players: &rain.Players{List: "vip"}})
		testenv.Equal(t, testenv.Got(b.Campaign(ctx, "c")).Must(t).Invited(), "vip", "its list")
		testenv.WantErr(t, lists.Delete(ctx, "vip"), ledger.ErrListInUse, "deleted while a campaign needs it")
		testenv.Must(t, lists.Delete(ctx, "barred"))
		makeList(t, lists, "barred", standing.PurposeDeny)
		testenv.Got3(lists.Members(ctx, "barred", "", 10)).Len(t, 0, "made anew it has")
		testenv.WantErr(t, lists.Delete(ctx, "none"), ledger.ErrUnknownList)
		testenv.WantErr(t, testenv.Err(lists.Add(ctx, "none", []string{"u"})), ledger.ErrUnknownList)
	})
}

// An import writes in chunks, and with replace removes the other members. The list is locked meanwhile. A second
// import completes an aborted one.
func TestImports(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		lists := paytest.Node(t, b).Lists
		makeList(t, lists, "l", standing.PurposeInvite, "old", "u1")
		chunk := func(from, to int) (who []string) {
			for i := from; i < to; i++ {
				who = append(who, fmt.Sprint("u", i))
			}
			return who
		}
		size := func(want int64) {
			t.Helper()
			l, err := lists.List(ctx, "l")
			all := slices.Concat(paytest.Pages(t, func(after string) ([]ledger.ListMember, string, error) {
				return lists.Members(ctx, "l", after, 1000)
			})...)
			if err != nil || l.Members != want || int64(len(all)) != want {
				t.Errorf("%d members, %d are listed, want %d, %v", l.Members, len(all), want, err)
			}
		}
		busy := 0
		_, err := lists.Import(ctx, "l", true, func(yield func([]string) bool) {
			for i := range 3 {
				if _, err := lists.Add(ctx, "l", []string{"x"}); errors.Is(err, ledger.ErrListBusy) {
					busy++
				}
				yield(append(chunk(i*1500, i*1500+1500), "u1"))
			}
		})
		if err != nil || busy != 3 {
			t.Fatalf("%v; busy for %d of 3", err, busy)
		}
		size(4500)
		testenv.Got(lists.Among(ctx, "l", []string{"old", "u1", "u4499"})).Len(t, 2, "members")

		stopped := func() (stopped bool) { // as at the end of the process
			defer func() { stopped = recover() != nil }()
			_, _ = lists.Import(ctx, "l", true, func(yield func([]string) bool) {
				yield(chunk(5000, 5010))
				panic("the process ends")
			})
			return false
		}
		if !stopped() {
			t.Fatal("it did not stop")
		}
		size(4510)
		testenv.WantErr(t, testenv.Err(lists.Add(ctx, "l", []string{"x"})), ledger.ErrListBusy,
			"after an import that may still go on")
		b.Clock.Add(60_001)
		testenv.Must(t, testenv.Err(lists.Import(ctx, "l", true, slices.Values([][]string{chunk(5005, 5015)}))))
		size(10)
		testenv.Must(t, testenv.Err(lists.Remove(ctx, "l", chunk(0, 5010))))
		size(5)
		testenv.Must(t, lists.Delete(ctx, "l")) // pages with few remaining members
		left, err := sqldb.Column[string](ctx, b.DB, "SELECT who FROM list_member WHERE list_name = 'l'")
		if _, is := lists.List(ctx, "l"); !errors.Is(is, ledger.ErrUnknownList) || err != nil || len(left) > 0 {
			t.Errorf("after its removal: %v, %v, %d members", is, err, len(left))
		}
	})
}

// Members are stored in canonical form: an address as a network, an IPv6 one as its /64.
func TestCanonicalMembers(t *testing.T) {
	for given, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "192.0.2.7/24": "192.0.2.0/24", "::ffff:192.0.2.7": "192.0.2.7/32",
		"2001:db8::1": "2001:db8::/64", "2001:db8::1/48": "2001:db8::/48", "2001:db8::1/128": "2001:db8::/64",
		"fe80::1%eth0": "", "192.0.2": "", "": "", "::ffff:1.2.3.4/120": "", "a\x00": "",
	} {
		if got, err := standing.KindAddresses.Canonical(given); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	testenv.WantFail(t, testenv.Err(standing.KindPlayers.Canonical("a\nb")), "a player of two lines")
}
