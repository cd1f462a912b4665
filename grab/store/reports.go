package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/outcome"
)

// forgetReportAfter is the age from which a report without taps is removed, in milliseconds: its node is gone, and no
// sum needs it.
const forgetReportAfter = 3_600_000

// NodeReport holds a node's counts of a campaign since the node started.
type NodeReport struct {
	T              int64   `json:"t"`                // time of the report
	Online         int64   `json:"online"`           // playing connections in the campaign's room
	Guests         int64   `json:"guests,omitempty"` // of them, those of guests
	Taps           int64   `json:"taps"`             // taps answered with a result
	GrabsPerSecond float64 `json:"grabs_per_second"` // recent rate

	Outcomes outcome.Counts `json:"outcomes,omitempty"` // the taps by outcome
	// Latency counts recent taps by the number of a latency bucket. The reporter defines the time of a bucket. Nodes
	// of one version agree on it, so that their buckets add up.
	Latency map[int]int64 `json:"latency,omitempty"`

	// time for which the campaign's reports are kept from now on; 0: as long as its other keys
	Keep time.Duration `json:"-"`
}

// Nodes stores the counts of the nodes, for each campaign.
type Nodes struct{ *client }

// NewNodes returns a Nodes.
func NewNodes(s *Store) *Nodes { return &Nodes{s.client} }

// Report stores a node's report, unless a report of it with the same revision or a later one is stored already.
func (n *Nodes) Report(ctx context.Context, campaign, node string, rev int64, report NodeReport) error {
	text, err := json.Marshal(report)
	if err == nil {
		err = n.run(ctx, "newer", []string{n.keys.nodes(campaign)},
			nodeRevisionField(node), rev, "create", report.Keep.Milliseconds(), nodeField(node), text).Err()
	}
	if err != nil {
		return fmt.Errorf("store a report of campaign %s: %w", campaign, err)
	}
	return nil
}

// Reports returns the newest report of each node. It removes old reports without taps.
func (n *Nodes) Reports(ctx context.Context, campaign string) (map[string]NodeReport, error) {
	key := n.keys.nodes(campaign)
	fields, err := n.rdb.HGetAll(ctx, key).Result()
	if n.checked(err) != nil {
		return nil, fmt.Errorf("read the reports of campaign %s: %w", campaign, err)
	}
	reports := make(map[string]NodeReport, len(fields)/2)
	var stale []string
	now := n.clock()
	for field, text := range fields {
		node, ok := nodeOfField(field)
		if !ok {
			continue
		}
		var report NodeReport
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			return nil, fmt.Errorf("read the report of node %q of campaign %s: %w", node, campaign, err)
		}
		if report.Taps == 0 && now-report.T > forgetReportAfter {
			stale = append(stale, nodeField(node), nodeRevisionField(node))
			continue
		}
		reports[node] = report
	}
	if len(stale) > 0 {
		if err := n.checked(n.rdb.HDel(ctx, key, stale...).Err()); err != nil {
			n.log.Debug("remove old reports; the next reader tries again", "campaign", campaign, "err", err)
		}
	}
	return reports, nil
}

// TakeTelling makes a node the one that adds up a campaign's reports for all, for ttl, or renews that. It returns
// false if another node is that. It saves work and guards nothing: two nodes may do it.
func (n *Nodes) TakeTelling(ctx context.Context, campaign, node string, ttl time.Duration) (bool, error) {
	key := n.keys.teller(campaign)
	taken, err := n.rdb.SetNX(ctx, key, node, ttl).Result()
	if err == nil && !taken {
		var who string
		if who, err = n.rdb.Get(ctx, key).Result(); err == nil && who == node {
			taken, err = true, n.rdb.PExpire(ctx, key, ttl).Err()
		}
		if errors.Is(err, redis.Nil) {
			err = nil // it has just ended; the next round takes it
		}
	}
	if n.checked(err) != nil {
		return false, fmt.Errorf("take the lease for the figures of campaign %s: %w", campaign, err)
	}
	return taken, nil
}
