package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/outcome"
)

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
			nodeRevisionPrefix+node, rev, "create", report.Keep.Milliseconds(), nodePrefix+node, text).Err()
	}
	return wrap(err, "store a report of campaign %s", campaign)
}

// Reports returns the newest report of each node.
func (n *Nodes) Reports(ctx context.Context, campaign string) (map[string]NodeReport, error) {
	fields, err := n.rdb.HGetAll(ctx, n.keys.nodes(campaign)).Result()
	if n.Checked(err) != nil {
		return nil, fmt.Errorf("read the reports of campaign %s: %w", campaign, err)
	}
	reports := make(map[string]NodeReport, len(fields)/2)
	for field, text := range fields {
		if node, ok := strings.CutPrefix(field, nodePrefix); ok {
			var report NodeReport
			if err := json.Unmarshal([]byte(text), &report); err != nil {
				return nil, fmt.Errorf("read the report of node %q of campaign %s: %w", node, campaign, err)
			}
			reports[node] = report
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
	return taken, wrap(n.Checked(err), "take the lease for the figures of campaign %s", campaign)
}
