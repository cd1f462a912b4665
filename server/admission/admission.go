package admission

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/rounds"
	"redrain/rain"
)

// keepEvery is how often a node says which seats are taken. It is far less than store.AdmissionTimes.Kept, so that a
// Redis that does not answer for a while frees nobody's seat.
const keepEvery = 10 * time.Second

// Seats are the rooms' seats over all nodes. [store.Admission] keeps them.
type Seats interface {
	Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
	Enter(ctx context.Context, c *rain.Campaign, user, node string) (store.Turn, error)
	Keep(ctx context.Context, campaign, node string, users []string) (unknown int, err error)
	Lost(ctx context.Context, campaign, node string, users []string) error
	Left(ctx context.Context, campaign, node string, users []string) error
	Counts(ctx context.Context, campaign string) (waiting, seated int64, err error)
}

// Known is the campaigns that this node knows. [cluster.Known] is that.
type Known interface {
	Live() []*rain.Campaign
}

// Options of a door. All are needed but those that say so.
type Options struct {
	Seats      Seats
	Known      Known
	Node       string
	Guard      *rounds.Guard // hears of a round that panics; nil: it is logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Door lets players into rooms. Its Run must be started.
type Door struct {
	o       Options
	metrics *metrics
	gone    chan struct{} // has one element while somebody has gone

	mu sync.Mutex
	// here are the connections of the players on this node, by campaign and player; departed those who have gone and of
	// whom Redis is to be told, true where they have said so.
	here     map[string]map[string]int
	departed map[string]map[string]bool
}

// New makes a door.
func New(o Options) *Door {
	return &Door{
		o: o, metrics: newMetrics(o.Registerer), gone: make(chan struct{}, 1),
		here: map[string]map[string]int{}, departed: map[string]map[string]bool{},
	}
}

// Ask lets a player in, or tells their place.
func (d *Door) Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if !c.Waits() {
		return store.Turn{Admitted: true}, nil
	}
	return d.counted(d.o.Seats.Ask(ctx, c, user))
}

// Enter is Ask for a player who is there. Leave must be called for one who is admitted, also where nobody ever has to
// wait.
func (d *Door) Enter(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if !c.Waits() {
		return store.Turn{Admitted: true}, nil
	}
	d.sit(c.ID, user)
	turn, err := d.counted(d.o.Seats.Enter(ctx, c, user, d.o.Node))
	if err != nil || !turn.Admitted {
		d.rise(c.ID, user)
	}
	return turn, err
}

// Leave ends a connection that Enter has admitted. left is true where the player has said that they go; the seat of
// another one is theirs for a while, in which they may come back.
func (d *Door) Leave(campaign, user string, left bool) {
	if d.rise(campaign, user) {
		d.depart(campaign, user, left)
	}
}

// Counts are how many wait for a campaign's room, and how many have a seat.
func (d *Door) Counts(ctx context.Context, c *rain.Campaign) (waiting, seated int64, err error) {
	if !c.Waits() {
		return 0, 0, nil
	}
	return d.o.Seats.Counts(ctx, c.ID)
}

func (d *Door) counted(turn store.Turn, err error) (store.Turn, error) {
	switch {
	case err != nil:
	case turn.New:
		d.metrics.admitted.Inc()
	case !turn.Admitted:
		d.metrics.told.Inc()
	}
	return turn, err
}

// sit counts a connection before Redis is asked for its seat, so that the seat is not given up in between.
func (d *Door) sit(campaign, user string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here[campaign] == nil {
		d.here[campaign] = map[string]int{}
	}
	d.here[campaign][user]++
	delete(d.departed[campaign], user)
}

// rise takes a connection away. gone is true where it was the player's last one.
func (d *Door) rise(campaign, user string) (gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	here := d.here[campaign]
	if here[user] == 0 {
		return false
	}
	if here[user]--; here[user] > 0 {
		return false
	}
	if delete(here, user); len(here) == 0 {
		delete(d.here, campaign)
	}
	return true
}

// depart notes that Redis is to be told of a player who has gone.
func (d *Door) depart(campaign, user string, left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.departed[campaign] == nil {
		d.departed[campaign] = map[string]bool{}
	}
	d.departed[campaign][user] = left
	select {
	case d.gone <- struct{}{}:
	default:
	}
}

// Run tells Redis who is here until ctx ends.
func (d *Door) Run(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil // who was here comes back to another node, and has the time for it
		case <-d.gone:
			d.o.Guard.Do("admission", func() { d.giveUp(ctx) })
		case <-tick.C:
			d.o.Guard.Do("admission", func() { d.giveUp(ctx); d.keep(ctx); d.count(ctx) })
		}
	}
}

// giveUp gives up the seats of those who have gone. What cannot be told now ends by itself.
func (d *Door) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keepEvery/2)
	defer cancel()
	d.mu.Lock()
	departed := d.departed
	d.departed = map[string]map[string]bool{}
	d.mu.Unlock()
	for campaign, users := range departed {
		var lost, left []string
		for user, said := range users {
			if said {
				left = append(left, user)
			} else {
				lost = append(lost, user)
			}
		}
		err := errors.Join(d.o.Seats.Lost(ctx, campaign, d.o.Node, lost), d.o.Seats.Left(ctx, campaign, d.o.Node, left))
		if err != nil {
			d.o.Log.Debug("seats of players who have gone end by themselves", "campaign", campaign, "err", err)
		}
	}
}

// keep tells Redis who is here.
func (d *Door) keep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keepEvery)
	defer cancel()
	for campaign, users := range d.seated() {
		unknown, err := d.o.Seats.Keep(ctx, campaign, d.o.Node, users)
		if err != nil {
			d.o.Log.Warn("the seats of this node's players are not kept for now; they go on playing", "campaign",
				campaign, "err", err)
		}
		if unknown > 0 {
			d.o.Log.Warn("redis had forgotten seats, and may have let in too many", "campaign", campaign, "seats",
				unknown)
		}
	}
}

// seated are the players who are here, by campaign.
func (d *Door) seated() map[string][]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string][]string, len(d.here))
	for campaign, here := range d.here {
		all[campaign] = slices.Collect(maps.Keys(here))
	}
	return all
}

// count reads how many wait, for the metrics.
func (d *Door) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keepEvery)
	defer cancel()
	var waiting, seated int64
	for _, c := range d.o.Known.Live() {
		w, s, err := d.Counts(ctx, c)
		if err != nil {
			d.o.Log.Debug("who waits cannot be counted", "campaign", c.ID, "err", err)
			return
		}
		waiting, seated = waiting+w, seated+s
	}
	d.metrics.waiting.Set(float64(waiting))
	d.metrics.seated.Set(float64(seated))
}
