package ledger_test

import (
	"errors"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
)

// A list that is made while one of its name is being removed is a list as any other, or is refused because the other is
// still there. The proof has nothing to say about it, then and later.
func TestAListIsMadeWhileItsNameIsRemoved(t *testing.T) {
	t.Parallel()
	b := paytest.OnMySQL(t) // SQLite has one writer
	ctx := t.Context()
	lists := paytest.Node(t, b).Lists
	goesOn := func() {
		t.Helper()
		wantProved(t, b)
		paytest.Must(t, testenv.Err(lists.Add(ctx, "l", []string{"new"})))
		wantProved(t, b)
		if m, _, err := lists.Members(ctx, "l", "", 10); err != nil || len(m) != 1 || m[0].Who != "new" {
			t.Errorf("its members are %v, %v", m, err)
		}
	}
	makeList(t, lists, "l", standing.PurposeInvite)
	meanwhile(b, "INSERT INTO player_list", 1, func() { paytest.Must(t, lists.Delete(ctx, "l")) })
	if _, err := lists.Create(ctx, "l", standing.KindPlayers, standing.PurposeDeny); err != nil &&
		!errors.Is(err, ledger.ErrListExists) {
		t.Error(err)
	}
	b.DB.Heard = nil
	goesOn()

	made := make(chan error)
	meanwhile(b, "DELETE FROM player_list", 1, func() { // its row is locked
		go func() {
			_, err := lists.Create(ctx, "l", standing.KindPlayers, standing.PurposeDeny)
			made <- err
		}()
		testenv.Eventually(t, 10*time.Second, "the new list waits for the old one", func() bool {
			return b.Waits(t, "GLOBAL_STATUS",
				"variable_name = 'Innodb_row_lock_current_waits' AND variable_value > 0")
		})
	})
	paytest.Must(t, lists.Delete(ctx, "l"))
	paytest.Must(t, <-made)
	b.DB.Heard = nil
	goesOn()
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
			paytest.Must(t, lists.Delete(ctx, "l"))
			makeList(t, lists, "l", standing.PurposeDeny, "new") // as often changed as the other
			yield([]string{"old"})
		})
		if !errors.Is(err, ledger.ErrListBusy) {
			t.Errorf("it ended with %v", err)
		}
		if m, _, err := lists.Members(ctx, "l", "", 10); err != nil || len(m) != 1 || m[0].Who != "new" {
			t.Errorf("its members are %v, %v", m, err)
		}
		wantProved(t, b)
	})
}
