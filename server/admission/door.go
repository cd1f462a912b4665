package admission

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/presence"
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

// DoorOptions are those of a Door. All are needed but those that say so.
type DoorOptions struct {
	Seats      Seats
	Known      Known
	Node       string
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Door lets players into rooms. Its Run must be started.
type Door struct {
	o       DoorOptions
	metrics *doorMetrics
	players *presence.Tracker[string, string] // of this node, by campaign
}

// NewDoor makes a Door.
func NewDoor(o DoorOptions) *Door {
	d := &Door{o: o, metrics: newDoorMetrics(o.Registerer)}
	d.players = presence.NewTracker(presence.Options[string, string]{
		Part: "admission", Work: "keeping the seats of this node's players; they go on playing",
		Flush: d.write, Every: keepEvery, Recoverer: o.Recoverer, Log: o.Log,
	})
	return d
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
	d.players.Add(c.ID, user) // before Redis is asked: the seat is not given up in between
	turn, err := d.counted(d.o.Seats.Enter(ctx, c, user, d.o.Node))
	if err != nil || !turn.Admitted {
		d.players.Remove(c.ID, user)
	}
	return turn, err
}

// Leave ends a connection that Enter has admitted. left is true if the player has said that they go. Otherwise the seat
// stays theirs for a while, in which they may come back.
func (d *Door) Leave(campaign, user string, left bool) {
	state := presence.Lost
	if left {
		state = presence.Left
	}
	d.players.Leave(campaign, user, state)
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

// Run keeps the seats of this node's players until ctx ends. They then have the time to come back to another node.
func (d *Door) Run(ctx context.Context) error {
	return d.players.Run(ctx, loop.Spec{Part: "admission", Every: keepEvery, Within: keepEvery, Do: d.count,
		Work: "counting players who wait", Recoverer: d.o.Recoverer, Log: d.o.Log})
}

// write keeps and gives up seats.
func (d *Door) write(ctx context.Context, changes []presence.Change[string, string]) error {
	type seats struct{ here, lost, left []string }
	by := map[string]*seats{}
	for _, change := range changes {
		s := by[change.Group]
		if s == nil {
			s = &seats{}
			by[change.Group] = s
		}
		users := map[presence.State]*[]string{
			presence.Here: &s.here, presence.Lost: &s.lost, presence.Left: &s.left,
		}[change.State]
		*users = append(*users, change.Member)
	}
	var failed error
	for campaign, s := range by {
		unknown, err := d.o.Seats.Keep(ctx, campaign, d.o.Node, s.here)
		if unknown > 0 {
			d.o.Log.Warn("redis had forgotten seats, and may have let in too many", "campaign", campaign, "seats",
				unknown)
		}
		failed = errors.Join(failed, err, d.o.Seats.Lost(ctx, campaign, d.o.Node, s.lost),
			d.o.Seats.Left(ctx, campaign, d.o.Node, s.left))
	}
	return failed
}

// count reads how many wait, for the metrics.
func (d *Door) count(ctx context.Context) error {
	var waiting, seated int64
	for _, c := range d.o.Known.Live() {
		w, s, err := d.Counts(ctx, c)
		if err != nil {
			return err
		}
		waiting, seated = waiting+w, seated+s
	}
	d.metrics.waiting.Set(float64(waiting))
	d.metrics.seated.Set(float64(seated))
	return nil
}

// doorMetrics is what a Door counts.
type doorMetrics struct {
	waiting, seated prometheus.Gauge
	admitted, told  prometheus.Counter
}

func newDoorMetrics(reg prometheus.Registerer) *doorMetrics {
	f := promauto.With(reg)
	return &doorMetrics{
		waiting: f.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_waiting",
			Help: "Players in the waiting rooms of all campaigns, over all nodes: each node says the same.",
		}),
		seated: f.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_seated",
			Help: "Players with a seat where others may have to wait, over all nodes: each node says the same.",
		}),
		admitted: f.NewCounter(prometheus.CounterOpts{
			Name: "redrain_admitted_total",
			Help: "Players that this node has let into a room where others may have to wait.",
		}),
		told: f.NewCounter(prometheus.CounterOpts{
			Name: "redrain_waiting_answers_total",
			Help: "Times that this node has told a player who waits their place.",
		}),
	}
}
