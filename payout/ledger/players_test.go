package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

// Players are found by a prefix of their ids if they have money, a ban or a verdict.
func TestPlayersAreFound(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		node := paytest.Node(t, b)
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c", 1, paytest.Win("ua", 0, 10), paytest.Win("张三", 1, 10),
			paytest.Win("u%", 2, 10), paytest.Win("UA", 3, 10)))
		for _, user := range []string{"ub", "ua", "张四"} {
			testenv.Must(t, testenv.Err(node.Sanctions.Give(ctx, user, standing.Ban, warden)))
		}
		testenv.Must(t, testenv.Err(node.Sanctions.Give(ctx, "张四", standing.Unban, warden)))
		suspect(t, node, "uc")
		for prefix, want := range map[string][]string{
			"\U0010FFFF": nil, "\uD7FF": nil,
			"u": {"u%", "ua", "ub", "uc"}, "ua": {"ua"}, "张": {"张三", "张四"}, "U": {"UA"}, "u%": {"u%"}, "_": nil,
			"": {"UA", "u%", "ua", "ub", "uc", "张三", "张四"},
		} {
			for limit := 1; limit < 8; limit++ {
				var got []string
				for _, p := range slices.Concat(paytest.Pages(t, func(after string) ([]ledger.Player, string, error) {
					return node.Players.ListPlayers(ctx, prefix, after, limit)
				})...) {
					got = append(got, p.User)
					won := slices.Contains([]string{"ua", "张三", "u%", "UA"}, p.User)
					if p.Banned != (p.User == "ua" || p.User == "ub") || (p.Balance == 10) != won {
						t.Errorf("%+v", p)
					}
				}
				testenv.Equal(t, got, want, "%q, %d at once", prefix, limit)
			}
		}
		verdicts, err := node.Risk.VerdictsOf(ctx, "uc")
		if err != nil || len(verdicts) != 1 || verdicts[0].By != ledger.ByRules {
			t.Errorf("verdicts %+v, %v", verdicts, err)
		}
	})
}

// The list of bans has the present ones, each once, with operator and reason.
func TestBansThatHold(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		s := paytest.Node(t, b).Sanctions
		for _, g := range []struct {
			user string
			act  standing.SanctionAct
		}{
			{"a", standing.Ban}, {"b", standing.Ban}, {"c", standing.Disconnect}, {"b", standing.Unban},
			{"d", standing.Ban}, {"a", standing.Ban}, {"d", standing.Disconnect}, {"e", standing.Unban},
		} {
			testenv.Must(t, testenv.Err(s.Give(ctx, g.user, g.act, warden)))
		}
		for limit := 1; limit < 4; limit++ {
			var got []string
			pages := paytest.Pages(t, func(cursor string) ([]standing.Sanction, string, error) {
				return s.Bans(ctx, cursor, limit)
			})
			for _, one := range slices.Concat(pages...) {
				got = append(got, one.User)
				if one.By != "ann" || one.Reason != "a bot" || one.Act != standing.Ban {
					t.Errorf("%+v", one)
				}
			}
			testenv.Equal(t, got, []string{"a", "d"}, "%d at once", limit)
		}
	})
}

// The log about a player has only acts about them, and none about players with the same prefix.
func TestTheLogAboutOne(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		s := paytest.Node(t, b).Sanctions
		for _, user := range []string{"a", "ab", "a"} {
			testenv.Must(t, testenv.Err(s.Give(paytest.As(t, "user.ban"), user, standing.Ban, warden)))
		}
		list, next, err := b.ListAuditOf(t.Context(), "user:a", "", 1)
		if err != nil || len(list) != 1 || next == "" {
			t.Fatal(list, next, err)
		}
		list, next, err = b.ListAuditOf(t.Context(), "user:a", next, 1)
		if err != nil || len(list) != 1 || list[0].Target != "user:a" || next != "" {
			t.Error(list, next, err)
		}
	})
}

var warden = ledger.Person{Name: "ann", ID: "token:ann", Reason: "a bot"}

// TestABannedPlayerIsNotPaid: a banned player's win waits for an operator's decision, on whichever node it is posted. A
// win from before the ban, or from after it was lifted, is paid.
func TestABannedPlayerIsNotPaid(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9})
		node := paytest.Node(t, b)
		win := func(number int, user string) rain.Entry {
			return paytest.Entry("c", int(b.Clock.Now()), paytest.Win(user, number, 10))
		}
		b.MustPost(t, win(0, "u"))
		give := func(act standing.SanctionAct) {
			t.Helper()
			testenv.Must(t, testenv.Err(node.Sanctions.Give(paytest.As(t, "user."+string(act)), "u", act, warden)))
		}
		give(standing.Ban)
		posted := b.MustPost(t, win(1, "u"), win(2, "v"))
		if len(posted.Dead) != 1 || posted.Dead[0].User != "u" || posted.Dead[0].Reason != posting.Banned ||
			posted.New != 1 {
			t.Errorf("posted %+v", posted)
		}
		testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "w1", "u", 5)), ledger.ErrBanned, "a banned player withdraws")
		give(standing.Disconnect)
		testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "w2", "u", 5)), ledger.ErrBanned,
			"a banned player who was disconnected since withdraws")
		testenv.Must(t, paytest.Err3(b.Withdraw(ctx, "w3", "v", 5)))
		b.Clock.Add(1)
		give(standing.Unban)
		testenv.Must(t, paytest.Err3(b.Withdraw(ctx, "w1", "u", 5)))
		of, err := node.Sanctions.Of(ctx, "u")
		if err != nil || len(of) != 3 || of[0].Act != standing.Unban || of[2].By != "ann" || of[2].Reason != "a bot" {
			t.Errorf("the acts: %+v, %v", of, err)
		}
		testenv.Got(b.Retry(ctx, rain.ClaimID("c", 1))).Len(t, 1, "a person pays it")
	})
}

// Acts that are given at once get one number each, without gaps, and each list has them all.
func TestSanctionsAtOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const all = 12
		nodes := []*ledger.Ledger{paytest.Node(t, b), paytest.Node(t, b)}
		paytest.Together(all, func(i int) {
			testenv.WantErr(t, testenv.Err(nodes[i%2].Sanctions.Give(t.Context(), fmt.Sprint("u", i), standing.Ban,
				warden)), nil)
		})
		list := standing.NewSanctions()
		fresh, err := nodes[0].Sanctions.Refresh(t.Context(), list)
		if err != nil || len(fresh) != all {
			t.Fatalf("%d of %d: %v", len(fresh), all, err)
		}
		for i, s := range fresh {
			if s.Number != int64(i)+1 || !list.Banned(s.User) || list.BannedAt(s.User, s.At-1) {
				t.Errorf("%d: %+v", i, s)
			}
		}
		if fresh, err = nodes[1].Sanctions.Refresh(t.Context(), list); err != nil || len(fresh) != 0 {
			t.Errorf("again %d: %v", len(fresh), err)
		}
		testenv.Must(t, testenv.Err(b.DB.Exec(t.Context(), "DELETE FROM sanction WHERE number > 3")))
		if fresh, err = nodes[1].Sanctions.Refresh(t.Context(), list); err != nil || len(fresh) != 0 {
			t.Errorf("a ledger that went back: %d, %v", len(fresh), err)
		}
		banned := 0
		for i := range all {
			if list.Banned(fmt.Sprint("u", i)) {
				banned++
			}
		}
		if banned != 3 {
			t.Errorf("%d are banned in a ledger that went back, want 3", banned)
		}
	})
}
