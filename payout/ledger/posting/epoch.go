package posting

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
)

// Redis may lose a shard. A rebuild begins a new epoch of the shard: packets without a known winner are in stock
// again. A barrier separates two epochs. It is the id of an outbox entry. All entries of the earlier epochs have ids
// up to it, and all of the new epoch higher ones.
//
// An entry of an earlier epoch that the ledger did not have at the barrier is void. Its packets may be in stock again,
// so it must never be paid. The order of a rebuild makes that safe (server/campaigns runs it):
//
//	Redis has lost the shard → BeginRebuild → the entries left in its outbox are posted →
//	Redis begins a restoration → CatchUp: all of the shard's messages in the stream are posted →
//	Fence → the ledger is read (EachAssigned) → Redis opens the shard
//
// The stream is read once, after Redis has begun the restoration and before the fence. With --confirm stream, a
// player gets a win that JetStream has acknowledged only after a check that Redis still has the win. A restoration
// finds no shard and removes its remains. So every win that a player got was acknowledged before, and the rebuild
// reads its message. An earlier reading is not enough: another rebuild may restore the shard before this one begins,
// and Redis may lose it again. A win that is acknowledged later reaches no player. With --confirm redis it may have
// reached one: then it is lost with Redis, and an alarm reports it.
//
// With --confirm stream the stream is read before the outbox. The rebuild's claim in the stream, which must still be
// the newest at the fence, excludes wins that were confirmed in between (grab/confirm/epochs.go).
//
// Two rebuilds of one shard may meet. Only the newest attempt fences, and only after Redis has begun its restoration.
// Redis opens only its newest restoration, and begins none once the shard is open. So both barriers agree. A lower
// barrier in an open shard would void its wins. A later fence needs a later attempt. If Redis has begun the
// restoration of that attempt, it refuses this one. Otherwise that attempt never fences.

// barrierMarginMS is the distance of a barrier from the cluster's clock, in milliseconds. The clocks of two Redis
// servers, the lost and the present one, differ by less.
const barrierMarginMS = 1_000

// farFutureMS is the limit for times ahead of the clock. No clock is that wrong, and a forged message must not move a
// barrier to the far future.
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
	return attempt, sqldb.Wrap(err, "begin to rebuild shard %d of campaign %s", shard, campaign)
}

// Barrier separates two epochs of a shard.
type Barrier struct {
	Entry string // the id of an outbox entry: all of the earlier epochs are at or below it
	Epoch int64  // the name of the epoch that begins, Unix ms
}

// Fence ends the shard's epoch: it sets the barrier and returns it. After it, no entry of the earlier epochs can get
// into the ledger. It waits for postings of the campaign in flight, so a later read of the ledger includes them.
//
// It fails with ErrRebuildSuperseded if a later attempt has begun, and with ErrUnknownCampaign.
func (r *Rebuilds) Fence(ctx context.Context, campaign string, shard int, attempt int64) (barrier Barrier, err error) {
	// Before the lock: it may read millions of rows. Entries that are posted meanwhile are near the clock, and below
	// the margin.
	newest, err := r.newestKnown(ctx, campaign, shard)
	if err != nil {
		return Barrier{}, fmt.Errorf("find the newest entry of shard %d of campaign %s: %w", shard, campaign, err)
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
		return Barrier{}, fmt.Errorf("fence shard %d of campaign %s: %w", shard, campaign, err)
	}
	return barrier, nil
}

// newestKnown returns the time of a shard's newest entry in the ledger, Unix ms, or 0.
func (r *Rebuilds) newestKnown(ctx context.Context, campaign string, shard int) (newest int64, err error) {
	limit := r.clock() + farFutureMS
	err = r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		of := []any{campaign, shard, limit}
		_, err := tx.First(ctx, []any{&newest}, "SELECT COALESCE(MAX(at), 0) FROM ("+
			"SELECT MAX(won_at) at FROM payout WHERE campaign_id = ? AND shard = ? AND won_at < ? UNION ALL "+
			"SELECT MAX(closed_at) FROM reclaim WHERE campaign_id = ? AND shard = ? AND closed_at < ? UNION ALL "+
			"SELECT MAX(won_at) FROM dead_letter WHERE campaign_id = ? AND shard = ? AND won_at < ?) newest",
			slices.Concat(of, of, of)...)
		return err
	})
	return newest, err
}

// bounds decide which entries are void or reclaimed. They must not change during a posting.
type bounds struct {
	barriers map[shardKey]int64 // per shard: unposted entries up to this time, Unix ms, are void; 0 = none
	reclaims map[string]int64   // number of reclaims of a campaign
}

// readBounds reads the bounds of campaigns.
func readBounds(ctx context.Context, q sqldb.Querier, campaigns []string) (bounds, error) {
	all := bounds{barriers: map[shardKey]int64{}, reclaims: map[string]int64{}}
	if len(campaigns) == 0 {
		return all, nil
	}
	of := "campaign_id IN " + sqldb.Marks(len(campaigns))
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var key shardKey
		var ms, reclaims int64
		if err := scan(&key.campaign, &key.shard, &ms, &reclaims); err != nil {
			return err
		}
		if reclaims > 0 {
			all.reclaims[key.campaign] = reclaims
		} else {
			all.barriers[key] = ms
		}
		return nil
	}, "SELECT campaign_id, shard, barrier_ms, 0 FROM shard_epoch WHERE barrier_ms > 0 AND "+of+" UNION ALL "+
		"SELECT campaign_id, 0, 0, COUNT(*) FROM reclaim WHERE "+of+" GROUP BY campaign_id",
		append(sqldb.Args(campaigns), sqldb.Args(campaigns)...)...)
	return all, sqldb.Wrap(err, "read barriers and reclaims")
}

// void returns the reason why an unposted entry must never be posted, or "".
func (all bounds) void(at entryAt) string {
	barrier := all.barriers[shardKey{at.ref.Campaign, at.ref.Shard}]
	if at.ms > barrier || (at.ms == barrier && at.seq > 0) || barrier == 0 {
		return ""
	}
	return "void: redis lost the shard, and this was not in the ledger when it was rebuilt; entries up to " +
		barrierID(barrier) + " are of its life before"
}

// barrierID returns the id of the last outbox entry up to a barrier.
func barrierID(ms int64) string { return strconv.FormatInt(ms, 10) + "-0" }
