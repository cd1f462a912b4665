package paytest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// WantBalance fails the test unless an account's balance is want.
func (b *Books) WantBalance(t testing.TB, a booking.Account, want rain.Money) {
	t.Helper()
	got, _, err := booking.BalanceOf(context.Background(), b.DB, a)
	testenv.Must(t, err)
	if got != want {
		t.Errorf("%s holds %d, want %d", a.ID(), got, want)
	}
}

// CheckBooks checks the invariants of the books.
func (b *Books) CheckBooks(t testing.TB) {
	t.Helper()
	err := b.DB.View(context.Background(), time.Minute, func(ctx context.Context, tx *sqldb.Tx) error {
		for what, query := range map[string]string{
			"transactions that do not sum to zero": "SELECT txn_id FROM entry GROUP BY txn_id " +
				"HAVING SUM(amount) <> 0 OR COUNT(*) < 2",
			"transactions without lines": "SELECT t.id FROM txn t " +
				"LEFT JOIN entry e ON e.txn_id = t.id WHERE e.txn_id IS NULL",
			"lines without a transaction": "SELECT e.txn_id FROM entry e " +
				"LEFT JOIN txn t ON t.id = e.txn_id WHERE t.id IS NULL",
			"balances that are not their entries": "SELECT b.account_id FROM balance b " +
				"LEFT JOIN entry e ON e.account_id = b.account_id " +
				"GROUP BY b.account_id, b.amount HAVING b.amount <> COALESCE(SUM(e.amount), 0)",
			"entries without a balance": "SELECT e.account_id FROM entry e " +
				"LEFT JOIN balance b ON b.account_id = e.account_id WHERE b.account_id IS NULL",
			"balances that are not an account's": "SELECT b.account_id FROM balance b LEFT JOIN account a " +
				"ON a.id = b.account_id AND a.id = CONCAT(a.owner_type, ':', a.owner_id) WHERE a.id IS NULL",
			"negative balances":  "SELECT account_id FROM balance WHERE amount < 0 AND account_id NOT LIKE 'world:%'",
			"money from nowhere": "SELECT SUM(amount) FROM balance HAVING SUM(amount) <> 0",
			"payouts that are not their transactions": "SELECT p.txn_id FROM payout p " +
				"JOIN entry e ON e.txn_id = p.txn_id " +
				"AND e.amount < 0 GROUP BY p.txn_id, e.amount HAVING SUM(p.amount) <> -e.amount",
			"withdrawals that were not taken out once": "SELECT w.id FROM withdrawal w " +
				"LEFT JOIN txn t ON t.idem_key = CONCAT('withdraw:', w.id) AND t.kind = 'withdraw' " +
				"LEFT JOIN entry e ON e.txn_id = t.id AND e.account_id = CONCAT('user:', w.user_id) " +
				"AND e.amount = -w.amount WHERE e.txn_id IS NULL",
			"withdrawals that were returned and have not failed, or the other way round": "SELECT w.id " +
				"FROM withdrawal w " +
				"LEFT JOIN txn t ON t.idem_key = CONCAT('return:', w.id) AND t.kind = 'return' " +
				"LEFT JOIN entry e ON e.txn_id = t.id AND e.account_id = CONCAT('user:', w.user_id) " +
				"AND e.amount = w.amount " +
				"WHERE (w.state IN ('refused', 'returned')) <> (e.txn_id IS NOT NULL)",
			"withdrawals that have left clearing and are not paid, or the other way round": "SELECT w.id " +
				"FROM withdrawal w LEFT JOIN txn t ON t.idem_key = CONCAT('paid:', w.id) AND t.kind = 'paid' " +
				"LEFT JOIN entry e ON e.txn_id = t.id AND e.account_id = CONCAT('clearing:', w.user_id) " +
				"AND e.amount = -w.amount WHERE (w.state = 'paid') <> (e.txn_id IS NOT NULL)",
			"players whose clearing account is not their open withdrawals": "SELECT b.account_id FROM balance b " +
				"LEFT JOIN withdrawal w ON b.account_id = CONCAT('clearing:', w.user_id) " +
				"AND w.state IN ('requested', 'held', 'sent', 'action_required') " +
				"WHERE b.account_id LIKE 'clearing:%' GROUP BY b.account_id, b.amount " +
				"HAVING b.amount <> COALESCE(SUM(w.amount), 0)",
			"players whose held account is not their held wins": "SELECT b.account_id FROM balance b " +
				"LEFT JOIN held h ON b.account_id = CONCAT('held:', h.user_id) AND h.state = 'held' " +
				"WHERE b.account_id LIKE 'held:%' GROUP BY b.account_id, b.amount " +
				"HAVING b.amount <> COALESCE(SUM(h.amount), 0)",
			"held wins whose decision differs from their movements": "SELECT claim FROM held WHERE " +
				"(state = 'released') <> (release_id > 0) OR (state = 'confirmed') <> (confirm_id > 0) OR hold_id = 0",
			"withdrawals whose history ends otherwise": "SELECT w.id FROM withdrawal w WHERE w.state <> " +
				"COALESCE((SELECT e.state FROM withdrawal_event e WHERE e.withdrawal_id = w.id " +
				"ORDER BY e.id DESC LIMIT 1), '')",
			"withdrawals without a receiver that are sent, or the other way round": "SELECT id " +
				"FROM withdrawal WHERE (receiver = '') <> (sent_at = 0) " +
				"OR (state IN ('requested', 'held') AND receiver <> '') " +
				"OR (state IN ('sent', 'action_required', 'paid', 'refused') AND receiver = '')",
			"money that went out or back without a withdrawal": "SELECT t.idem_key FROM txn t LEFT JOIN withdrawal w " +
				"ON t.idem_key IN (CONCAT('withdraw:', w.id), CONCAT('paid:', w.id), CONCAT('return:', w.id)) " +
				"WHERE t.kind IN ('withdraw', 'paid', 'return') AND w.id IS NULL",
			"withdrawals that are dead without a dead letter, or the reverse": "SELECT w.id FROM withdrawal w " +
				"WHERE w.dead <> " +
				"(SELECT COUNT(*) FROM dead_letter d WHERE d.claim = w.id AND d.kind = 'withdrawal' " +
				"AND d.resolved_at = 0)",
			"tallies that are not their payouts": "SELECT t.campaign_id FROM campaign_tally t " +
				"LEFT JOIN payout p ON p.campaign_id = t.campaign_id " +
				"GROUP BY t.campaign_id, t.paid, t.amount_paid HAVING t.paid <> COUNT(p.packet) OR t.amount_paid <> " +
				"COALESCE(SUM(p.amount), 0)",
			"players whose wins are not counted right": "SELECT p.user_id FROM payout p LEFT JOIN winner w " +
				"ON w.campaign_id = p.campaign_id AND w.user_id = p.user_id GROUP BY p.campaign_id, p.user_id, " +
				"w.wins, " +
				"w.amount HAVING w.wins IS NULL OR w.wins <> COUNT(*) OR w.amount <> SUM(p.amount)",
			"players who have won nothing": "SELECT w.user_id FROM winner w LEFT JOIN payout p " +
				"ON p.campaign_id = w.campaign_id AND p.user_id = w.user_id WHERE p.packet IS NULL",
			"tallies that are not their reclaims": "SELECT t.campaign_id FROM campaign_tally t " +
				"LEFT JOIN reclaim r ON r.campaign_id = t.campaign_id " +
				"GROUP BY t.campaign_id, t.reclaimed, t.amount_reclaimed HAVING t.reclaimed <> " +
				"COALESCE(SUM(r.packets), 0) " +
				"OR t.amount_reclaimed <> COALESCE(SUM(r.amount), 0)",
			"shards whose mark is not their newest entry": "SELECT p.campaign_id FROM payout p LEFT JOIN shard_mark " +
				"m " +
				"ON m.campaign_id = p.campaign_id AND m.shard = p.shard WHERE p.won_at < p.settled_at + 1000 " +
				"AND (m.shard IS NULL OR p.won_at > m.entry_ms OR p.won_at = m.entry_ms AND p.entry_seq > m.entry_seq)",
		} {
			err := tx.Each(ctx, func(scan sqldb.Scan) error {
				var row string
				err := scan(&row)
				t.Errorf("%s: %s", what, row)
				return err
			}, query)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		return nil
	})
	testenv.Must(t, err)
	b.CheckHashes(t)
}

// CheckHashes checks that every transaction and every audit record has the hash of its content.
func (b *Books) CheckHashes(t testing.TB) {
	t.Helper()
	_, err := chain.NewRoots(b.DB, b.Clock.Now).Verify(context.Background(), chain.VerifyOptions{
		Found: func(what string) { t.Error(what) },
	})
	testenv.Must(t, err)
}

// Count returns the result of a query for one number.
func (b *Books) Count(t testingT, query string, args ...any) (n int) {
	t.Helper()
	testenv.Must(t, testenv.Err(b.DB.First(context.Background(), []any{&n}, query, args...)))
	return n
}

// ClaimState is the state of a player's claim; it is empty for a claim that the books do not know.
func (b *Books) ClaimState(t testing.TB, user, claim string) ledger.ClaimState {
	t.Helper()
	states, err := b.ClaimStates(context.Background(), user, []string{claim})
	testenv.Must(t, err)
	return states[claim]
}

// Prove reconciles a campaign with Redis, or without if hot is nil, and checks that the parts add up to the funded
// amount.
func (b *Books) Prove(t testing.TB, c *rain.Campaign, hot reconcile.Hot) reconcile.Reconciliation {
	t.Helper()
	if hot == nil {
		hot = NewFakeRedis(b.Clock.Now)
	}
	r, err := b.Proof.ReconcileWith(t.Context(), c.ID, hot, reconcile.Rows)
	testenv.Must(t, err)
	if r.Funded != r.Paid+r.Reclaimed+r.Stock+r.Unsettled+r.Dead+r.Difference {
		t.Errorf("the sum does not hold: %+v", r)
	}
	return r
}

// WantWithdrawal fails the test unless a withdrawal has a state and a number of tries. It returns the withdrawal.
func (b *Books) WantWithdrawal(t testing.TB, id string, state ledger.WithdrawalState, attempts int) ledger.Withdrawal {
	t.Helper()
	w, err := b.Withdrawal(t.Context(), id)
	testenv.Must(t, err)
	if w.State != state || w.Attempts != attempts || (w.FinishedAt == 0) != state.Open() {
		t.Errorf("%s is %+v, want %s after %d tries", id, w, state, attempts)
	}
	return w
}

// CountDead counts the open dead letters.
func (b *Books) CountDead(t testingT) int {
	t.Helper()
	return b.Count(t, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0")
}

// LastAudit returns the newest audit record, and the number of records.
func (b *Books) LastAudit(t testing.TB) (last ledger.AuditRecord, before, after map[string]any, n int) {
	t.Helper()
	list, _, err := b.ListAudit(context.Background(), "", 1)
	testenv.Must(t, err)
	if len(list) == 0 {
		return last, nil, nil, 0
	}
	var detail struct {
		Before map[string]any `json:"before"`
		After  map[string]any `json:"after"`
	}
	testenv.Must(t, json.Unmarshal(list[0].Detail, &detail))
	return list[0], detail.Before, detail.After, b.Count(t, "SELECT COUNT(*) FROM audit")
}

// Waits reports whether a table of MariaDB has a row for the condition.
func (b *Books) Waits(t testing.TB, table, where string) bool {
	t.Helper()
	return b.Count(t, "SELECT COUNT(*) FROM information_schema."+table+" WHERE "+where) > 0
}

// Assigned lists the assigned packets of a campaign.
func (b *Books) Assigned(t testing.TB, c *rain.Campaign) []posting.Assigned {
	t.Helper()
	var all []posting.Assigned
	if err := b.EachAssigned(t.Context(), c, Packets(0, c.Packets-1), func(k posting.Assigned) error {
		all = append(all, k)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// HashAll hashes all rows into blocks, while no other process writes.
func HashAll(t testing.TB, db *sqldb.DB) {
	t.Helper()
	r := chain.NewRootRounds(chain.NewRoots(db, nil), "", nil, nil)
	for _, at := range []int64{0, 60} {
		testenv.Must(t, r.Hash(context.Background(), time.Unix(at, 0)))
	}
}

// CampaignTerms returns the columns of a campaign that never change.
func CampaignTerms() []string {
	return slices.DeleteFunc(ledger.CampaignTable.Columns(), func(column string) bool {
		return slices.Contains([]string{"status", "expires_at", "revision", "drained"}, column)
	})
}
