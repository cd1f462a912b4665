package reconcile

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// checkSettings looks for shards that somebody has closed, opened, or given other rules. The campaign is read once
// more, after the snapshots: a version that it has not reached by now cannot have been told to a shard.
func (r *campaignCheck) checkSettings(ctx context.Context, q sqldb.Querier) error {
	var revision int64
	var status string
	if _, err := q.First(ctx, []any{&revision, &status}, "SELECT revision, status FROM campaign WHERE id = ?",
		r.campaign.ID); err != nil {
		return err
	}
	for _, n := range r.sortedShards() {
		s := &r.shards[n].snapshot
		for _, what := range s.Altered {
			r.found.add("a state that was changed", shardName(n)+what, "shard %d: %s", n, what)
		}
		switch {
		case s.Closed && rain.Status(status) != rain.Closed:
			r.found.add("a state that was changed", shardName(n)+"closed",
				"shard %d: its state says that it is closed, but "+
					"the campaign is %s", n, status)
		case !s.Closed && s.Revision > revision:
			r.found.add("a state that was changed", shardName(n)+"revision",
				"shard %d: its state is of revision %d of the "+
					"campaign, which has come to revision %d", n, s.Revision, revision)
		}
	}
	return nil
}
