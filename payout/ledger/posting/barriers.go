package posting

import (
	"context"
	"fmt"
	"strconv"

	"redrain/internal/sqldb"
)

// barriers are the times in Unix ms up to which an entry of a shard that is not posted is void.
type barriers map[shardKey]int64

// readBarriers reads the barriers of campaigns' shards. A shard without one is missing in the answer.
func readBarriers(ctx context.Context, q sqldb.Querier, campaigns []string) (barriers, error) {
	all := barriers{}
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var key shardKey
		var ms int64
		err := scan(&key.campaign, &key.shard, &ms)
		all[key] = ms
		return err
	}, "SELECT campaign_id, shard, barrier_ms FROM shard_epoch WHERE barrier_ms > 0 AND campaign_id IN", campaigns)
	if err != nil {
		return nil, fmt.Errorf("reading barriers: %w", err)
	}
	return all, nil
}

// void says why an entry that the ledger does not have must not be posted any more; "" where it may be.
func (all barriers) void(at position) string {
	barrier := all[shardKey{at.ref.Campaign, at.ref.Shard}]
	if at.ms > barrier || (at.ms == barrier && at.seq > 0) || barrier == 0 {
		return ""
	}
	return "void: redis lost the shard, and this was not in the ledger when it was rebuilt; entries up to " +
		barrierID(barrier) + " are of its life before"
}

// barrierID is a barrier as the id of an outbox entry.
func barrierID(ms int64) string { return strconv.FormatInt(ms, 10) + "-0" }
