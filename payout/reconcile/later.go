package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Postings after a shard's snapshot are left out, because the snapshot still has their packets in stock. So a forged
// row could have a later time to be left out. These checks limit that. After the ledger, they read the shard's newest
// entry, and the ledger cannot have an entry that the shard has not written by then. A row with a time between the
// two is found by the next reconciliation.

// checkLater checks the rows that were left out as newer than the snapshots, and compares each shard's mark with its
// rows.
func (r *campaignCheck) checkLater(ctx context.Context, q sqldb.Querier) error {
	if r.amounts == nil {
		return nil
	}
	for n := range r.shards {
		mark, err := r.checkMark(ctx, q, n)
		if err != nil {
			return err
		}
		if r.scope.live == nil {
			continue
		}
		if err := r.unread(n, r.checkLaterOf(ctx, q, n, mark)); err != nil {
			return err
		}
	}
	return nil
}

// checkMark checks that a shard's mark is not older than its posted entries. The mark detects that Redis has gone
// back in time. A forged time in the future does not move it.
func (r *campaignCheck) checkMark(ctx context.Context, q sqldb.Querier, n int) (mark position, err error) {
	var paid, back position
	for _, read := range []struct {
		at    *position
		query string
	}{
		{&mark, "SELECT entry_ms, entry_seq FROM shard_mark WHERE campaign_id = ? AND shard = ?"},
		{&paid, "SELECT won_at, entry_seq FROM payout WHERE campaign_id = ? AND shard = ? AND won_at < settled_at " +
			"ORDER BY won_at DESC, entry_seq DESC LIMIT 1"},
		{&back, "SELECT closed_at, entry_seq FROM reclaim WHERE campaign_id = ? AND shard = ? AND " +
			"closed_at < reclaimed_at ORDER BY closed_at DESC, entry_seq DESC LIMIT 1"},
	} {
		if _, err := q.First(ctx, []any{&read.at.ms, &read.at.seq}, read.query, r.campaign.ID, n); err != nil {
			return mark, err
		}
	}
	if paid.after(mark) || back.after(mark) {
		r.found.add("a mark that was set back", "shard %d: the table shard_mark has %s as the newest entry that was "+
			"posted, but a payout of %s and a reclaim of %s were posted", n, mark, paid, back)
	}
	return mark, nil
}

// checkLaterOf reports payouts, reclaims and a mark of entries that a shard has never written.
func (r *campaignCheck) checkLaterOf(ctx context.Context, q sqldb.Querier, n int, mark position) error {
	b := r.shards[n]
	paid, err := sqldb.List(ctx, q, scanPayout, payoutSelect+"WHERE campaign_id = ? AND shard = ? AND (won_at > ? OR "+
		"(won_at = ? AND entry_seq > ?)) ORDER BY won_at DESC, entry_seq DESC LIMIT ?", r.campaign.ID, n, b.cut.ms,
		b.cut.ms, b.cut.seq, maxFindings+1)
	if err != nil || len(paid)+len(b.laterReclaims) == 0 && !b.later(mark) {
		return err
	}
	newest, err := r.newestNow(ctx, n)
	if err != nil {
		return err
	}
	name := func(what string, at position) {
		if at.after(newest) {
			r.found.add("an entry that no shard has written", "%s: it is of entry %s of shard %d, but the newest "+
				"that the shard has ever written is %s", what, at, n, newest)
		}
	}
	name("the table shard_mark", mark)
	for i := range paid {
		name(paid[i].name(), paid[i].at)
	}
	for _, row := range b.laterReclaims {
		name(fmt.Sprintf("the reclaim of %d packets, %d in all", row.packets, row.amount), row.at)
	}
	return nil
}

// newestNow reads the newest entry that a shard has ever written.
func (r *campaignCheck) newestNow(ctx context.Context, n int) (at position, err error) {
	entry, epoch, found, err := r.scope.live.Newest(ctx, r.campaign, n)
	switch {
	case err != nil:
	case !found || epoch != r.shards[n].snapshot.Epoch:
		err = errStale
	default:
		if at, err = positionOf(cmp.Or(entry, "0-0")); err != nil {
			err = fmt.Errorf("%w: %w", rain.ErrUnreadable, err)
		}
	}
	if err != nil {
		return at, fmt.Errorf("shard %d: %w: %w", n, ErrLiveState, err)
	}
	return at, nil
}
