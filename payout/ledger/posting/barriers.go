package posting

import (
	"context"
	"strconv"

	"redrain/internal/sqldb"
)

// bounds decide which entries are void or already returned. They must not change during a posting.
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
func (all bounds) void(at position) string {
	barrier := all.barriers[shardKey{at.ref.Campaign, at.ref.Shard}]
	if at.ms > barrier || (at.ms == barrier && at.seq > 0) || barrier == 0 {
		return ""
	}
	return "void: redis lost the shard, and this was not in the ledger when it was rebuilt; entries up to " +
		barrierID(barrier) + " are of its life before"
}

// barrierID returns the id of the last outbox entry up to a barrier.
func barrierID(ms int64) string { return strconv.FormatInt(ms, 10) + "-0" }
