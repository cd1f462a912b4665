package grab

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// forgetReportAfter is the age from which a report that has counted no taps is forgotten, in milliseconds: its node
// is gone, and took nothing with it that a sum needs.
const forgetReportAfter = 3_600_000

// NodeReport is what one node has counted of a campaign since it started.
type NodeReport struct {
	T              int64   `json:"t"`                // when it was made
	Online         int64   `json:"online"`           // connections in the campaign's room
	Taps           int64   `json:"taps"`             // taps answered with a result
	GrabsPerSecond float64 `json:"grabs_per_second"` // of late

	Outcomes map[Outcome]int64 `json:"outcomes,omitempty"` // the taps, by what came of them
	// Latency is how many taps of late took how long, by the number of a bucket. Which time a bucket is, who
	// reports says; nodes of one version say the same, so that their buckets add up.
	Latency map[int]int64 `json:"latency,omitempty"`

	// how long the campaign's reports are kept from now on; 0 for as long as its other keys
	Keep time.Duration `json:"-"`
}

// Report keeps a node's report, unless a report of it with the same revision or a later one is kept already.
func (g *Grabber) Report(ctx context.Context, campaign, node string, rev int64, r NodeReport) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = g.run(ctx, g.scripts.newer, []string{g.keys.nodes(campaign)},
			nodeRevisionField(node), rev, "create", r.Keep.Milliseconds(), nodeField(node), text).Err()
	}
	if err != nil {
		return fmt.Errorf("reporting to campaign %s: %w", campaign, err)
	}
	return nil
}

// Reports is the newest report of each node. Reports that are old and have counted no taps are forgotten on the way.
func (g *Grabber) Reports(ctx context.Context, campaign string) (map[string]NodeReport, error) {
	key := g.keys.nodes(campaign)
	fields, err := g.rdb.HGetAll(ctx, key).Result()
	if g.seen(err) != nil {
		return nil, fmt.Errorf("reading the reports of campaign %s: %w", campaign, err)
	}
	reports := make(map[string]NodeReport, len(fields)/2)
	var stale []string
	now := g.o.Clock()
	for field, text := range fields {
		node, ok := nodeOfField(field)
		if !ok {
			continue
		}
		var r NodeReport
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, fmt.Errorf("reading the report of node %q of campaign %s: %w", node, campaign, err)
		}
		if r.Taps == 0 && now-r.T > forgetReportAfter {
			stale = append(stale, nodeField(node), nodeRevisionField(node))
			continue
		}
		reports[node] = r
	}
	if len(stale) > 0 {
		if err := g.seen(g.rdb.HDel(ctx, key, stale...).Err()); err != nil {
			g.o.Log.Debug("old reports could not be removed; the next reader does it", "campaign", campaign, "err", err)
		}
	}
	return reports, nil
}
