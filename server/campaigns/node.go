package campaigns

import (
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/cluster"
)

// Node holds the parts of its node that every type of this package needs. All fields are required unless stated
// otherwise.
type Node struct {
	Name       string // holds the leases
	Leases     cluster.Leases
	Known      Known
	Bus        Bus
	Clock      rain.Clock
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// Known holds the campaigns that this node has. [cluster.Registry] implements it.
type Known interface {
	Put(c *rain.Campaign) (newest *rain.Campaign)
	Cached(id string) *rain.Campaign // nil if this node does not have it
	Live() []*rain.Campaign          // those that may still have data in Redis
}

// Bus notifies the other nodes. [cluster.Bus] implements it.
type Bus interface {
	Changed(c *rain.Campaign)             // a campaign has a newer version
	Restored(campaign string)             // Redis has a campaign's stock again after a loss
	Restocked(campaign string, shard int) // stock has come to a shard
	// SoldOut notifies that a lane has no stock left, nor in flight between its shards.
	SoldOut(campaign string, lane rain.Lane)
	Alarm(code, campaign, message string) // an event that needs a person
}

// lease returns a lease of this node for a part.
func (n *Node) lease(name, part string, ttl time.Duration) *cluster.Lease {
	return cluster.NewLease(cluster.LeaseOptions{Leases: n.Leases, Name: name, Part: part, Node: n.Name, TTL: ttl,
		Recoverer: n.Recoverer, Log: n.Log,
		Alarm: func(code, campaign, message string) { n.Bus.Alarm(code, campaign, message) }})
}

// dropDead removes the values of campaigns that are not live any more.
func dropDead[V any](kept map[string]V, live []*rain.Campaign) {
	isLive := make(map[string]bool, len(live))
	for _, c := range live {
		isLive[c.ID] = true
	}
	maps.DeleteFunc(kept, func(id string, _ V) bool { return !isLive[id] })
}
