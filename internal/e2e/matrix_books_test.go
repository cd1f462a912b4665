package e2e

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/rain"
)

// soundBooks are queries that find what may not be in a ledger, whatever has happened. They are an auditor's: they
// share no code with redrain's own reconciliation.
var soundBooks = map[string]string{
	"transactions that do not sum to zero": `SELECT COUNT(*) FROM
		(SELECT txn_id FROM entry GROUP BY txn_id HAVING SUM(amount) <> 0) x`,
	"transactions without lines": `SELECT COUNT(*) FROM txn
		LEFT JOIN entry ON entry.txn_id = txn.id WHERE entry.txn_id IS NULL`,
	"lines without a transaction": `SELECT COUNT(*) FROM entry
		LEFT JOIN txn ON entry.txn_id = txn.id WHERE txn.id IS NULL`,
	"balances that are not their entries' sum": `SELECT COUNT(*) FROM balance b
		LEFT JOIN (SELECT account_id, SUM(amount) s FROM entry GROUP BY account_id) e ON e.account_id = b.account_id
		WHERE b.amount <> COALESCE(e.s, 0)`,
	"accounts with entries and without a balance": `SELECT COUNT(*) FROM (SELECT DISTINCT account_id FROM entry) e
		LEFT JOIN balance b USING (account_id) WHERE b.account_id IS NULL`,
	"balances below zero":  "SELECT COUNT(*) FROM balance WHERE amount < 0 AND account_id NOT LIKE 'world:%'",
	"money out of nothing": "SELECT COALESCE(ABS(SUM(amount)), 0) FROM balance",
	"claims that are there twice": `SELECT COUNT(*) FROM
		(SELECT claim FROM payout GROUP BY claim HAVING COUNT(*) > 1) x`,
	"payments that are not their transaction's lines": `SELECT COUNT(*) FROM
		(SELECT txn_id, user_id, SUM(amount) s FROM payout GROUP BY txn_id, user_id) p
		LEFT JOIN entry e ON e.txn_id = p.txn_id AND e.account_id = CONCAT('user:', p.user_id)
		WHERE e.amount IS NULL OR e.amount <> p.s`,
	"lines that pay without a payment": `SELECT COUNT(*) FROM entry e
		JOIN txn ON txn.id = e.txn_id AND txn.kind = 'pay'
		LEFT JOIN payout p ON p.txn_id = e.txn_id AND e.account_id = CONCAT('user:', p.user_id)
		WHERE e.amount > 0 AND p.claim IS NULL`,
	"players whose balance is not what they won less what they took out": `SELECT COUNT(*) FROM
		(SELECT user_id, SUM(part) s FROM
			(SELECT user_id, SUM(amount) part FROM payout GROUP BY user_id
			UNION ALL
			SELECT user_id, -SUM(amount) FROM withdrawal WHERE state NOT IN ('refused', 'returned') GROUP BY user_id) x
		GROUP BY user_id) u
		LEFT JOIN balance b ON b.account_id = CONCAT('user:', u.user_id) WHERE b.amount IS NULL OR b.amount <> u.s`,
	"withdrawals more or less than were booked": `SELECT ABS(
		(SELECT COUNT(*) FROM txn WHERE kind = 'withdraw') - (SELECT COUNT(*) FROM withdrawal))`,
	"amounts withdrawn more or less than booked": `SELECT ABS(
		(SELECT COALESCE(SUM(e.amount), 0) FROM entry e JOIN txn ON txn.id = e.txn_id
			WHERE kind = 'withdraw' AND account_id LIKE 'clearing:%' AND e.amount > 0) -
		(SELECT COALESCE(SUM(amount), 0) FROM withdrawal))`,
	"returns more or less than failed": `SELECT ABS(
		(SELECT COUNT(*) FROM txn WHERE kind = 'return') -
		(SELECT COUNT(*) FROM withdrawal WHERE state IN ('refused', 'returned')))`,
	"amounts that have left more or less than paid": `SELECT ABS(
		(SELECT COALESCE(SUM(e.amount), 0) FROM entry e JOIN txn ON txn.id = e.txn_id
			WHERE kind = 'paid' AND account_id LIKE 'world:%') -
		(SELECT COALESCE(SUM(amount), 0) FROM withdrawal WHERE state = 'paid'))`,
	"money on its way more or less than open withdrawals": `SELECT ABS(
		(SELECT COALESCE(SUM(amount), 0) FROM balance WHERE account_id LIKE 'clearing:%') -
		(SELECT COALESCE(SUM(amount), 0) FROM withdrawal
			WHERE state IN ('requested', 'held', 'sent', 'action_required')))`,
	"dead letters": "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0",
}

// checkSound runs them all.
func (a *arena) checkSound(t *testing.T) {
	t.Helper()
	for what, query := range soundBooks {
		testenv.Equal(t, a.count(t, query), 0, "count of %s", what)
	}
}

// awaitQuiet waits until no work of the campaign is left and its figures agree.
func (a *arena) awaitQuiet(t *testing.T, c client.Campaign) {
	t.Helper()
	var rec client.Reconciliation
	var stats client.Stats
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("campaign %s: %+v, %+v, %v", c.ID, rec, stats, err)
		}
	}()
	// JetStream gives a batch whose worker was killed to another after 30 seconds.
	testenv.Eventually(t, 90*time.Second, "nothing of the campaign is under way", func() bool {
		if a.waiting(t, c) > 0 { // the cheap question first
			return false
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if rec, err = a.op().Reconciliation(ctx, c.ID); err != nil || !rec.Balanced || rec.Unsettled != 0 {
			return false
		}
		stats, err = a.op().Stats(ctx, c.ID)
		return err == nil && stats.Paid == stats.Won
	})
	if rec.Difference != 0 || rec.Dead != 0 || len(rec.Findings) > 0 {
		t.Errorf("the books of %s: %+v", c.ID, rec)
	}
}

// win is one packet of a player.
type win struct {
	user, drop string
	amount     rain.Money
}

// inRedis reads the decisions of Redis, by packet: it is the arbiter, so these wins must have been paid. The amounts
// follow from the campaign's secret seed.
func (a *arena) inRedis(t *testing.T, c client.Campaign) map[int]win {
	t.Helper()
	amounts := a.amounts(t, c)
	wins := map[int]win{}
	for shard := range c.Shards {
		records := testenv.Got(a.rdb.HGetAll(within(t, 10*time.Second), a.s.key(c.ID, shard, "wins")).Result()).Must(t)
		for field, record := range records {
			user, drop, one := strings.Cut(field, "\n")
			if !one {
				continue // how many the player has
			}
			number, _, _ := strings.Cut(record, " ")
			packet, err := strconv.Atoi(number)
			if other, given := wins[packet]; given || err != nil {
				t.Errorf("packet %s of %s is given twice, or makes no sense: %s, and %+v", number, c.ID, record, other)
				continue
			}
			wins[packet] = win{user, drop, amounts.Of(packet)}
		}
	}
	return wins
}

// amounts are the amounts of a campaign's packets.
func (a *arena) amounts(t *testing.T, c client.Campaign) *rain.Amounts {
	t.Helper()
	var text string
	row := a.db.QueryRowContext(within(t, 10*time.Second), "SELECT split_seed FROM campaign WHERE id = ?", c.ID)
	testenv.Must(t, row.Scan(&text))
	seed, err := rain.ParseSeed(text)
	testenv.Must(t, err)
	amounts, err := rain.NewAmounts(&rain.Campaign{ID: c.ID, Spec: c.CampaignTerms, SplitSeed: seed})
	testenv.Must(t, err)
	return amounts
}

// inLedger reads the payouts, by packet.
func (a *arena) inLedger(t *testing.T, c client.Campaign) map[int]win {
	t.Helper()
	rows, err := a.db.QueryContext(within(t, 20*time.Second),
		"SELECT packet, user_id, drop_id, amount FROM payout WHERE campaign_id = ?", c.ID)
	testenv.Must(t, err)
	defer func() { _ = rows.Close() }()
	wins := map[int]win{}
	for rows.Next() {
		var packet int
		var w win
		testenv.Must(t, rows.Scan(&packet, &w.user, &w.drop, &w.amount))
		wins[packet] = w
	}
	testenv.Must(t, rows.Err())
	return wins
}

// checkCampaign compares reports, decisions and payouts, win by win, after all work is done.
func (a *arena) checkCampaign(t *testing.T, c client.Campaign, reported map[string]toldWin) {
	t.Helper()
	a.awaitQuiet(t, c)
	decided, paid := a.inRedis(t, c), a.inLedger(t, c)
	var sum rain.Money
	for packet, w := range paid {
		sum += w.amount
		testenv.Equal(t, decided[packet], w, "packet %d, decided and paid", packet)
	}
	for packet, w := range decided {
		testenv.Equal(t, paid[packet], w, "packet %d, paid and decided", packet)
	}
	for claim, w := range reported {
		_, packet, err := rain.ParseClaimID(claim)
		if got := paid[packet]; err != nil || got.user != w.user || got.amount != w.amount {
			t.Errorf("%s was reported to have won %d with claim %s (%v); paid is %+v", w.user, w.amount, claim,
				err, got)
		}
	}
	back := rain.Money(a.count(t, "SELECT SUM(amount) FROM reclaim WHERE campaign_id = ?", c.ID))
	escrow := rain.Money(a.count(t, "SELECT SUM(amount) FROM balance WHERE account_id = ?", "escrow:"+c.ID))
	testenv.Equal(t, escrow, c.Budget-sum-back,
		"of %d in %s, %d is paid, %d is back, in the escrow", c.Budget, c.ID, sum, back)
}
