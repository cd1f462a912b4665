package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/playerlist"
	"redrain/payout/ledger/sanction"
	"redrain/payout/ledger/verdict"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
)

// TestWhatIsNeverOverHasItsTurn: however many players there are verdicts about, have been banned, or are lists, a proof
// of what is recent looks at no more than so many of them. All have their turn soon, and one in which something is
// wrong is named by each proof from then on, by whatever process, until it is mended.
func TestWhatIsNeverOverHasItsTurn(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRecentLedger(t, open(t))
			const things, turn, round = 25, 10, 3
			fillTurns(t, l.b, things)
			l.b.Proof.SetRecent(1000, 1, 0)
			for range 2 { // so that a checkpoint closes all of it
				l.goOn()
				l.recent()
			}
			l.b.Proof.SetRecent(3, 1_000_000, 0) // none closes what is done by hand
			l.b.Proof.SetTurn(turn)

			looks := map[string]int{}
			l.b.DB.Heard = func(text string, args []any) {
				for table, id := range map[string]string{"verdict": "user_id", "sanction": "user_id",
					"player_list": "name"} {
					if strings.Contains(text, " FROM "+table+" WHERE "+id+" IN (") {
						looks[table] += len(args)
					}
				}
			}
			for n := range 2 * round {
				if found, _ := l.recent(); len(found) > 0 {
					t.Fatalf("untouched: %q", found)
				}
				for _, table := range []string{"verdict", "sanction", "player_list"} {
					if looks[table] < 1 || looks[table] > turn {
						t.Errorf("proof %d looks at %d things of %s", n, looks[table], table)
					}
				}
				clear(looks)
			}
			l.b.DB.Heard = nil

			for _, wrong := range []struct{ sql, back, named string }{
				{"UPDATE verdict SET score = score + 1 WHERE user_id = 'p17'",
					"UPDATE verdict SET score = score - 1 WHERE user_id = 'p17'", "verdicts about p17"},
				{"UPDATE sanction SET act = 'unban' WHERE user_id = 'p03'",
					"UPDATE sanction SET act = 'ban' WHERE user_id = 'p03'", "player p03"},
				{"UPDATE sanction SET user_id = 'q' WHERE user_id = 'p24'",
					"UPDATE sanction SET user_id = 'p24' WHERE user_id = 'q'", "player p24: its row was removed"},
				{"UPDATE player_list SET purpose = 'invite' WHERE name = 'p00'",
					"UPDATE player_list SET purpose = 'deny' WHERE name = 'p00'", "list p00"},
			} {
				change(t, l.b, wrong.sql)
				l.namedFromThenOn(round, wrong.named)
				change(t, l.b, wrong.back)
				for range round {
					if found, _ := l.recent(); len(found) > 0 {
						t.Fatalf("%s, put right: %q", wrong.named, found)
					}
				}
			}
		})
	}
}

// fillTurns makes so many verdicts, bans and lists.
func fillTurns(t testing.TB, b *paytest.Books, things int) {
	t.Helper()
	node := paytest.Node(t, b)
	for n := range things {
		id := fmt.Sprintf("p%02d", n)
		_, err := node.Risk.Give(t.Context(), ledger.ByRules, verdict.Verdict{User: id, Act: verdict.Hold,
			Reasons: "[]"})
		paytest.Must(t, err)
		_, err = node.Sanctions.Give(t.Context(), id, sanction.Ban, ledger.Person{Name: "ann", ID: "token:ann"})
		paytest.Must(t, err)
		_, err = node.Lists.Create(t.Context(), id, playerlist.Players, playerlist.Deny)
		paytest.Must(t, err)
	}
}

// namedFromThenOn wants something to be named within a round of proofs, and then by each, also after a restart.
func (l *recentLedger) namedFromThenOn(round int, what string) {
	l.t.Helper()
	named := false
	for n := range 3 * round {
		found, _ := l.recent()
		is := names(found, what)
		if n >= round-1 && !is || named && !is {
			l.t.Fatalf("proof %d: %q is not named in %q", n, what, found)
		}
		named = named || is
		was := l.b.Proof
		l.b.Proof = reconcile.New(l.b.DB, l.b.Campaigns, l.b.Clock.Now, nil)
		l.b.Proof.Like(was)
	}
}
