package reconcile_test

import (
	"os"
	"strings"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/playerlist"
	"redrain/payout/ledger/verdict"
	"redrain/payout/paytest"
)

// whichProof says, for what somebody may do to the books by hand, whether the next proof of what is recent names it, or
// only one that reads the row again: the full proof, or `redrain reconcile CAMPAIGN` for a campaign's. docs/books.md
// has the same table. CLOSED is a deposit that a checkpoint has closed, OPEN one that came since.
var whichProof = []struct {
	what, sql, back string
	recent          bool
}{
	{"a transaction since the newest checkpoint is changed",
		"UPDATE txn SET created_at = created_at + 1 WHERE idem_key = OPEN",
		"UPDATE txn SET created_at = created_at - 1 WHERE idem_key = OPEN", true},
	{"a transaction that a checkpoint has closed is changed",
		"UPDATE txn SET created_at = created_at + 1 WHERE idem_key = CLOSED",
		"UPDATE txn SET created_at = created_at - 1 WHERE idem_key = CLOSED", false},
	{"a line of a closed transaction is changed, of an account that nothing touches since",
		"UPDATE entry SET amount = amount + 1 WHERE account_id = 'user:v1'",
		"UPDATE entry SET amount = amount - 1 WHERE account_id = 'user:v1'", false},
	{"a closed payout gets another amount, and its player wins no more",
		"UPDATE payout SET amount = amount + 1 WHERE packet = 1",
		"UPDATE payout SET amount = amount - 1 WHERE packet = 1", false},
	{"a closed payout gets another player, and neither wins any more",
		"UPDATE payout SET user_id = 'thief' WHERE packet = 1",
		"UPDATE payout SET user_id = 'v1' WHERE packet = 1", false},
	{"a payout is added without a transaction that there is",
		"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, entry_seq, " +
			"settled_at, txn_id) VALUES ('c1', 99, 'c1-99', 'thief', 10, 'settled', '9.9', 0, 1, 0, 1, 999999)",
		"DELETE FROM payout WHERE packet = 99", true},
	{"a payout is added to a closed transaction",
		"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, entry_seq, " +
			"settled_at, txn_id) SELECT 'c1', 99, 'c1-99', 'thief', 10, 'settled', '9.9', 0, 1, 0, 1, txn_id FROM " +
			"payout WHERE packet = 0",
		"DELETE FROM payout WHERE packet = 99", false},
	{"a transaction is added behind the chain",
		"INSERT INTO txn (kind, idem_key, created_at) VALUES ('deposit', 'x', 1)",
		"DELETE FROM txn WHERE idem_key = 'x'", true},
	{"the balance of an account that is touched since is changed",
		"UPDATE balance SET amount = amount + 1 WHERE account_id = 'user:u'",
		"UPDATE balance SET amount = amount - 1 WHERE account_id = 'user:u'", true},
	{"the balance of an account that nothing touches is changed",
		"UPDATE balance SET amount = amount + 1 WHERE account_id = 'user:v1'",
		"UPDATE balance SET amount = amount - 1 WHERE account_id = 'user:v1'", false},
	{"the balance of a live campaign's escrow is changed",
		"UPDATE balance SET amount = amount + 1 WHERE account_id = 'escrow:c1'",
		"UPDATE balance SET amount = amount - 1 WHERE account_id = 'escrow:c1'", true},
	{"the tally of a live campaign is changed", "UPDATE campaign_tally SET paid = paid + 1",
		"UPDATE campaign_tally SET paid = paid - 1", true},
	{"the row of a live campaign is changed", "UPDATE campaign SET expires_at = expires_at + 1",
		"UPDATE campaign SET expires_at = expires_at - 1", true},
	{"what a player has won is changed, who has won since", "UPDATE winner SET wins = wins + 1 WHERE user_id = 'u'",
		"UPDATE winner SET wins = wins - 1 WHERE user_id = 'u'", true},
	{"what a player has won is changed, who has not won since",
		"UPDATE winner SET wins = wins + 1 WHERE user_id = 'v1'",
		"UPDATE winner SET wins = wins - 1 WHERE user_id = 'v1'", false},
	{"a withdrawal that has ended is changed", "UPDATE withdrawal SET amount = amount + 1 WHERE id = 'w1'",
		"UPDATE withdrawal SET amount = amount - 1 WHERE id = 'w1'", false},
	{"a closed line of the audit is changed", "UPDATE audit SET actor = 'bob' WHERE id = 1",
		"UPDATE audit SET actor = 'ann' WHERE id = 1", false},
	{"a sum that is carried forward is changed",
		"UPDATE proof_sum SET amount = amount + 1 WHERE subject = 'payouts c1 0'",
		"UPDATE proof_sum SET amount = amount - 1 WHERE subject = 'payouts c1 0'", true},
	{"a checkpoint is changed", "UPDATE proof_checkpoint SET last_txn = last_txn + 1",
		"UPDATE proof_checkpoint SET last_txn = last_txn - 1", true},
	{"all checkpoints are removed, or the newest ones", "CREATE TABLE w AS SELECT " + checkpointColumns +
		" FROM proof_checkpoint; DELETE FROM proof_checkpoint",
		"INSERT INTO proof_checkpoint SELECT " + checkpointColumns + " FROM w; DROP TABLE w", true},
	{"a list is changed, of up to 5,000", "UPDATE player_list SET purpose = 'invite'",
		"UPDATE player_list SET purpose = 'deny'", true},
	{"a member of a list is added, changed or removed", "UPDATE list_member SET removed_at = 1 WHERE who = 'x'",
		"UPDATE list_member SET removed_at = 0 WHERE who = 'x'", false},
	{"a verdict about a player is changed, of up to 5,000", "UPDATE verdict SET verdict = 'allow'",
		"UPDATE verdict SET verdict = 'hold'", true},
}

// checkpointColumns are all of proof_checkpoint.
const checkpointColumns = "number, taken_at, ends, last_txn, holes, previous, key_id, seal"

// TestWhichProofNamesWhat changes the books by hand in each of these ways, and holds both proofs, and the page for
// people, against the table.
func TestWhichProofNamesWhat(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/books.md")
	paytest.Must(t, err)
	l := newRecentLedger(t, paytest.OnSQLite(t))
	for range 8 {
		l.goOn()
		l.recent()
	}
	node := paytest.Node(t, l.b)
	_, err = node.Lists.Create(t.Context(), "barred", playerlist.Players, playerlist.Deny)
	paytest.Must(t, err)
	_, err = node.Lists.Add(t.Context(), "barred", []string{"x", "y"})
	paytest.Must(t, err)
	_, err = node.Risk.Give(t.Context(), ledger.ByRules, verdict.Verdict{User: "bot", Act: verdict.Hold, Reasons: "[]"})
	paytest.Must(t, err)
	l.recent()
	l.goOn()
	l.b.Proof.SetRecent(3, 1_000_000, 0) // no checkpoint closes what is done by hand
	deposit := func(n string) string { return "'deposit:acme:more " + n + "'" }
	place := strings.NewReplacer("CLOSED", deposit("1"), "OPEN", deposit("9"))
	for _, row := range whichProof {
		says := map[bool]string{true: "the next proof", false: "the full proof"}[row.recent]
		if line := "| " + row.what + " | " + says + " |"; !strings.Contains(string(page), line) {
			t.Errorf("docs/books.md does not have the line %q", line)
		}
		change(t, l.b, place.Replace(row.sql))
		if found, _ := l.recent(); len(found) > 0 != row.recent {
			t.Errorf("%s: the proof of what is recent finds %q", row.what, found)
		}
		if found := l.full(); len(found) == 0 {
			t.Errorf("%s: the full proof finds nothing", row.what)
		}
		change(t, l.b, place.Replace(row.back))
		if found, _ := l.recent(); len(found) > 0 {
			t.Fatalf("%s, put right: %q", row.what, found)
		}
	}
	if found := l.full(); len(found) > 0 {
		t.Errorf("all put right: %q", found)
	}
}
