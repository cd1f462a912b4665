package reconcile

import (
	"context"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
)

// datedSlack is how much the clocks of nodes may differ, amply.
const datedSlack = time.Minute

// triedStates are the states in which a withdrawal is tried again and again.
var triedStates = []string{string(ledger.WithdrawalRequested), string(ledger.WithdrawalSent),
	string(ledger.WithdrawalAction)}

// dateds are the other rows that a date in the future makes wrong: of each table what to say of one, how far ahead the
// date may lie, in which unit, and the query, which is given the latest date and a limit and answers key and date.
var dateds = []struct {
	kind, says string
	most, unit time.Duration
	query      string
}{
	{"a turn dated into the future", "the next turn of the receiver %q comes in %d s, and none is more than %d s away",
		ledger.LongestTurn, time.Microsecond, "SELECT receiver, next_turn FROM provider_pace WHERE " +
			"next_turn > ? ORDER BY receiver LIMIT ?"},
	{"a try dated into the future", "the try of withdrawal %s ends in %d s, and none lasts more than %d s",
		ledger.LongestWait, time.Millisecond, "SELECT withdrawal_id, ends_at FROM provider_try WHERE " +
			"ends_at > ? ORDER BY withdrawal_id LIMIT ?"},
	// Of a campaign that is drained nobody asks when it was proved.
	{"a proof dated into the future", "campaign %s was proved in %d s from now, and by no clock in more than %d s", 0,
		time.Millisecond, "SELECT campaign_id, proved_at FROM proof WHERE kind = '' AND campaign_id IN (SELECT id " +
			"FROM campaign WHERE drained < 1 OR drained > 1) AND proved_at > ? ORDER BY campaign_id LIMIT ?"},
	{"a proof of everything dated into the future", "everything (%s) was proved in %d s from now, and by no clock in " +
		"more than %d s", 0, time.Millisecond, "SELECT kind, proved_at FROM proof WHERE " +
		"campaign_id = '' AND proved_at > ? ORDER BY kind LIMIT ?"},
}

// checkDated looks for what was dated into the future, by hand or by a wrong clock: leases that end, withdrawals that
// are due, turns and tries of receivers, which would keep everybody from what they are about, and proofs, which would
// look fresh when they are old. Whoever does that work next does it all the same, which mends the row: one that is
// found is also one that nobody has asked for.
func (s *Reconciler) checkDated(ctx context.Context, found *findings) error {
	now := s.clock()
	if err := s.checkLeases(ctx, now, found); err != nil {
		return err
	}
	for _, state := range triedStates {
		err := s.db.Each(ctx, func(scan sqldb.Scan) error {
			var id, user string
			var due int64
			err := scan(&id, &user, &due)
			found.add("a withdrawal dated into the future", id, "withdrawal %s of player %s is %s and due in %d s, "+
				"and none is put off by more than %d s: it was dated by hand or by a wrong clock", id, user, state,
				(due-now)/1000, int64(ledger.LongestWait.Seconds()))
			return err
		}, "SELECT id, user_id, next_at FROM withdrawal WHERE state = ? AND dead = 0 AND next_at > ? "+
			"ORDER BY next_at LIMIT ?", state, now+(ledger.LongestWait+datedSlack).Milliseconds(), maxFindings+1)
		if err != nil {
			return err
		}
	}
	return s.checkDateds(ctx, now, found)
}

// checkDateds looks at the dates of dateds.
func (s *Reconciler) checkDateds(ctx context.Context, now int64, found *findings) error {
	for _, d := range dateds {
		slack := d.most + datedSlack
		perSecond := int64(time.Second / d.unit)
		at := now * perSecond / 1000
		err := s.db.Each(ctx, func(scan sqldb.Scan) error {
			var key string
			var date int64
			err := scan(&key, &date)
			found.add(d.kind, key, d.says+": it was dated by hand or by a wrong clock", key, (date-at)/perSecond,
				int64(slack.Seconds()))
			return err
		}, d.query, at+int64(slack/d.unit), maxFindings+1)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLeases looks for leases that end later than any is taken for.
func (s *Reconciler) checkLeases(ctx context.Context, now int64, found *findings) error {
	latest := now + (ledger.LongestLease + datedSlack).Milliseconds()
	for after := ""; ; {
		names, err := sqldb.List(ctx, s.db, func(scan sqldb.Scan) (name string, err error) {
			var holder string
			var ends int64
			err = scan(&name, &holder, &ends)
			if err == nil && ends > latest {
				found.add("a lease dated into the future", name, "the lease %q of %q ends in %d s, and none is taken "+
					"for more than %d s: it was dated by hand or by a wrong clock", name, holder, (ends-now)/1000,
					int64(ledger.LongestLease.Seconds()))
			}
			return name, err
		}, "SELECT name, holder, expires_at FROM lease WHERE name > ? ORDER BY name LIMIT ?", after, sqldb.Chunk)
		if err != nil {
			return err
		}
		if len(names) < sqldb.Chunk {
			return nil
		}
		after = names[len(names)-1]
	}
}
