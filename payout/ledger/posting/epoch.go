package posting

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
)

// A shard lives in Redis, and Redis may lose it. A rebuild begins a new epoch of the shard: packets that nobody is
// known to have won are on offer again. A barrier separates two epochs. It is the id of an outbox entry: every
// entry of the earlier epochs has an id up to it, every entry of the new epoch a higher one.
//
// An entry of an earlier epoch that the ledger did not have when the barrier was set is void: its packets may be on
// offer again, so it must never be paid. The order of a rebuild makes that safe (package server carries it out):
//
//	Redis is seen to have lost the shard → BeginRebuild → Redis takes up the restoration under this attempt →
//	CatchUp: all that the stream has of it is posted → Fence → what the ledger has is read (EachAssigned) →
//	Redis opens the shard
//
// One reading of the stream is enough, after Redis has taken the restoration up and before the fence. A player is
// told of a win that JetStream has acknowledged (with --confirm stream) only after Redis was seen to know the win
// still. A restoration that Redis takes up finds no shard and removes what is left of it. So a win that was told
// was acknowledged before that, and stands in the part of the stream that the rebuild reads. Reading the stream
// earlier is not enough: before Redis takes this restoration up, another rebuild may restore the shard, and Redis
// may lose it again. A win that is acknowledged later was told to nobody. With --confirm redis it may have been
// told: then it is lost with Redis, and an alarm says so.
//
// Two rebuilds of one shard may meet. The attempt orders them: Redis lets only the restoration that took it up last
// be finished, and takes up none once the shard is alive; and the ledger lets only the newest attempt fence, which
// it does after Redis has taken it up. So a shard is never alive with a lower barrier than the ledger's, which
// would void wins of the living: for a later fence there must be a later attempt, which Redis took up before this
// one was finished (then this one is refused there), or did not take up (then it never fences).

// barrierMarginMS is how far ahead of the cluster's clock a barrier is set, in milliseconds: the clocks of two
// Redis servers, the one that was lost and the one that answers now, differ by less.
const barrierMarginMS = 1_000

// farFutureMS is how far ahead of the clock an entry's time may be to count as one: no clock is that wrong, and a
// message that somebody has made up must not push a barrier to the end of time.
const farFutureMS = 24 * 3_600_000

// BeginRebuild counts an attempt to rebuild a shard that Redis has lost, and returns its number. From then on no
// earlier attempt can fence.
func (r *Rebuilds) BeginRebuild(ctx context.Context, campaign string, shard int) (attempt int64, err error) {
	err = r.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		columns := []string{"campaign_id", "shard", "attempt"}
		if err := tx.Insert(ctx, "shard_epoch", columns, [][]any{{campaign, shard, 1}},
			sqldb.Merge{Key: columns[:2], Add: columns[2:]}); err != nil {
			return err
		}
		_, err := tx.First(ctx, []any{&attempt}, "SELECT attempt FROM shard_epoch WHERE campaign_id = ? AND shard = ?",
			campaign, shard)
		return err
	})
	return attempt, sqldb.Wrap(err, "beginning to rebuild shard %d of campaign %s", shard, campaign)
}

// Barrier parts two epochs of a shard.
type Barrier struct {
	Entry string // the id of an outbox entry: all of the earlier epochs are at or below it
	Epoch int64  // the name of the epoch that begins, Unix ms
}

// Fence ends the shard's epoch: it sets the barrier, and returns it. When it has
// returned, whatever of the earlier epochs is not in the ledger never will be. It waits for postings of the campaign
// that are under way, so that who reads the ledger afterwards reads them too.
//
// It fails with ErrRebuildSuperseded where a later attempt has begun, and with ErrUnknownCampaign.
func (r *Rebuilds) Fence(ctx context.Context, campaign string, shard int, attempt int64) (barrier Barrier, err error) {
	// Before the lock: it may look through millions of rows. What is posted meanwhile is near the clock, and below
	// the margin.
	newest, err := r.newestKnown(ctx, campaign, shard)
	if err != nil {
		return Barrier{}, fmt.Errorf("the newest entry of shard %d of campaign %s: %w", shard, campaign, err)
	}
	err = r.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		escrow := booking.EscrowAccount(campaign)
		locked, err := booking.LockBalances(ctx, tx, []booking.Account{escrow})
		if err != nil {
			return err
		}
		if _, exists := locked[escrow]; !exists {
			return ErrUnknownCampaign
		}
		var begun, before int64
		_, err = tx.First(ctx, []any{&begun, &before},
			"SELECT attempt, barrier_ms FROM shard_epoch WHERE campaign_id = ? AND shard = ?"+tx.ForUpdate(), campaign,
			shard)
		if err != nil {
			return err
		}
		if begun != attempt {
			return ErrRebuildSuperseded
		}
		now := r.clock()
		ms := max(now, newest, before) + barrierMarginMS
		barrier = Barrier{barrierID(ms), ms}
		_, err = tx.Exec(ctx, "UPDATE shard_epoch SET barrier_ms = ?, fenced_at = ? WHERE campaign_id = ? AND "+
			"shard = ?",
			ms, now, campaign, shard)
		return err
	})
	if err != nil {
		return Barrier{}, fmt.Errorf("fencing shard %d of campaign %s: %w", shard, campaign, err)
	}
	return barrier, nil
}

// newestKnown is the time of the newest entry of a shard that the ledger knows, in Unix ms; 0 where it knows none.
func (r *Rebuilds) newestKnown(ctx context.Context, campaign string, shard int) (newest int64, err error) {
	limit := r.clock() + farFutureMS
	err = r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, query := range []string{
			"SELECT COALESCE(MAX(won_at), 0) FROM payout WHERE campaign_id = ? AND shard = ? AND won_at < ?",
			"SELECT COALESCE(MAX(closed_at), 0) FROM reclaim WHERE campaign_id = ? AND shard = ? AND closed_at < ?",
			"SELECT COALESCE(MAX(won_at), 0) FROM dead_letter WHERE campaign_id = ? AND shard = ? AND won_at < ?",
		} {
			var ms int64
			if _, err := tx.First(ctx, []any{&ms}, query, campaign, shard, limit); err != nil {
				return err
			}
			newest = max(newest, ms)
		}
		return nil
	})
	return newest, err
}
