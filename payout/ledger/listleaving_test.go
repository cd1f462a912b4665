package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

// halfGone makes a long list whose removal is aborted in its second step. who are its members in the order of
// removal; the first sqldb.Chunk of them are gone. allow lets the removal continue.
func halfGone(t testing.TB, b *paytest.Books, lists *ledger.Lists, name string, purpose standing.ListPurpose) (
	who []string, allow func()) {
	t.Helper()
	for i := range 2*sqldb.Chunk + 500 {
		who = append(who, fmt.Sprintf("u%04d", i))
	}
	makeList(t, lists, name, purpose)
	testenv.Must(t, testenv.Err(lists.Import(t.Context(), name, false, slices.Values([][]string{who}))))
	allow = b.RefuseRemoval(t, who[sqldb.Chunk+100])
	if err := lists.Delete(t.Context(), name); err == nil {
		t.Fatal("it did not break off")
	}
	return who, allow
}

// opens makes a campaign for the players on a list.
func opens(t testing.TB, b *paytest.Books, id, list string) error {
	t.Helper()
	c := paytest.FullCampaign(id)
	c.Players = &rain.Players{List: list}
	testenv.Must(t, testenv.Err(b.Deposit(context.Background(), c.Sponsor, id, c.Budget)))
	return b.CreateCampaign(context.Background(), c)
}

// wantLeaving fails the test unless a campaign is refused because of its list's removal.
func wantLeaving(t testing.TB, err error) {
	t.Helper()
	if invalid, ok := errors.AsType[rain.Invalid](err); !ok || invalid[0].Field != "players.list" ||
		invalid[0].Message != "is being removed" {
		t.Errorf("a campaign for the players on it: %v", err)
	}
}

// After an aborted removal, a list has only its remaining members. No campaign can name it, and only a second removal
// can change it, which completes.
func TestARemovalThatBreaksOff(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		lists := paytest.Node(t, b).Lists
		who, allow := halfGone(t, b, lists, "l", standing.PurposeInvite)

		left := b.Count(t, "SELECT COUNT(*) FROM list_member WHERE removed_at = 0")
		l, err := lists.List(ctx, "l")
		if err != nil || left != len(who)-sqldb.Chunk ||
			l.Purpose != standing.PurposeLeaving || l.BusyUntil != 0 {
			t.Errorf("%+v, and %d are left of %d; %v", l, left, len(who), err)
		}
		wantLeaving(t, opens(t, b, "c", "l"))
		_, add := lists.Add(ctx, "l", who[:1])
		_, remove := lists.Remove(ctx, "l", who[len(who)-1:])
		_, replace := lists.Import(ctx, "l", true, slices.Values([][]string{who}))
		for _, err := range []error{add, remove, replace} {
			if !errors.Is(err, ledger.ErrListLeaving) {
				t.Errorf("it is changed: %v", err)
			}
		}

		allow()
		testenv.Must(t, lists.Delete(ctx, "l"))
		testenv.WantErr(t, testenv.Err(lists.List(ctx, "l")), ledger.ErrUnknownList, "after its removal")
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM list_member"), 0, "members are left")
	})
}

// A deny list ends for all of its members when its removal begins.
func TestALeavingListDeniesNobody(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		lists := paytest.Node(t, b).Lists
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9})
		who, allow := halfGone(t, b, lists, "barred", standing.PurposeDeny)
		gone, stays := who[0], who[len(who)-1]
		for i, user := range []string{gone, stays} {
			posted := b.MustPost(t, paytest.Entry("c", int(b.Clock.Now())+i, paytest.Win(user, i, 10)))
			if posted.New != 1 {
				t.Errorf("a win of %s: %+v", user, posted)
			}
			testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "w"+user, user, 5)), nil, fmt.Sprintf("%s withdraws", user))
		}
		allow()
		testenv.Must(t, lists.Delete(ctx, "barred"))
	})
}

// meanwhile calls do once, just before the nth statement with this prefix.
func meanwhile(b *paytest.Books, statement string, nth int64, do func()) {
	var heard atomic.Int64
	b.DB.Heard = func(text string, _ []any) {
		if strings.HasPrefix(text, statement) && heard.Add(1) == nth {
			do()
		}
	}
}

// No campaign can name a list during its removal, even if the removal was frozen for so long that it counts as
// aborted. So it completes.
func TestNoCampaignNamesAListThatIsLeaving(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t) // SQLite has one writer
	ctx := t.Context()
	lists := paytest.Node(t, b).Lists
	makeList(t, lists, "vip", standing.PurposeInvite, "u", "v")
	var opened error
	meanwhile(b, standing.ListTable.Select("WHERE name = ?"), 2, func() { // of the removal's second step
		b.Clock.Add(60_001)
		opened = opens(t, b, "c", "vip")
	})
	testenv.Must(t, lists.Delete(ctx, "vip"))
	wantLeaving(t, opened)
	testenv.WantErr(t, testenv.Err(lists.List(ctx, "vip")), ledger.ErrUnknownList, "after its removal")
}

// An import that was frozen for so long that its list was removed, and another was made under its name, changes nothing
// of that one.
func TestAFrozenImportIsNotForAnotherList(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		lists := paytest.Node(t, b).Lists
		makeList(t, lists, "l", standing.PurposeInvite)
		_, err := lists.Import(ctx, "l", true, func(yield func([]string) bool) {
			b.Clock.Add(60_001)
			testenv.Must(t, lists.Delete(ctx, "l"))
			makeList(t, lists, "l", standing.PurposeDeny, "new") // as often changed as the other
			yield([]string{"old"})
		})
		if !errors.Is(err, ledger.ErrListBusy) {
			t.Errorf("it ended with %v", err)
		}
		if m, _, err := lists.Members(ctx, "l", "", 10); err != nil || len(m) != 1 || m[0].Who != "new" {
			t.Errorf("its members are %v, %v", m, err)
		}
	})
}
