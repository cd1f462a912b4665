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

// keepEvery is the interval at which a node reports taken slots. It is far less than store.AdmissionTimes.Kept, so that
// a short outage of Redis frees no slot.
const keepEvery = 10 * time.Second

// Seats are the rooms' slots over all nodes. [store.Admission] implements it.
type Seats interface {
	Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
	Enter(ctx context.Context, c *rain.Campaign, user, node string) (store.Turn, error)
	Keep(ctx context.Context, campaign, node string, users []string) (unknown int, err error)
	Lost(ctx context.Context, campaign, node string, users []string) error
	Left(ctx context.Context, campaign, node string, users []string) error
	Counts(ctx context.Context, campaign string) (waiting, seated int64, err error)
}

// Known holds the campaigns that this node has. cluster.Known implements it.
type Known interface {
	Live() []*rain.Campaign
}

// DoorOptions are the options of a Door. All are required unless stated otherwise.
type DoorOptions struct {
	Seats      Seats
	Known      Known
	Node       string
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Door admits players to rooms with a capacity. Its Run must be started.
type Door struct {
	o       DoorOptions
	metrics *doorMetrics
	players *presence.Tracker[string, string] // of this node, by campaign
}

// NewDoor returns a Door without players.
func NewDoor(o DoorOptions) *Door {
	d := &Door{o: o, metrics: newDoorMetrics(o.Registerer)}
	d.players = presence.NewTracker(presence.Options[string, string]{
		Part: "admission", Work: "keep the seats of this node's players; they go on playing",
		Flush: d.write, Every: keepEvery, Recoverer: o.Recoverer, Log: o.Log,
	})
	return d
}

// Ask returns whether a player is admitted, else the queue position.
func (d *Door) Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if !c.Waits() {
		return store.Turn{Admitted: true}, nil
	}
	return d.counted(d.o.Seats.Ask(ctx, c, user))
}

// Enter is Ask for a connected player. Leave must be called for each admitted connection, also of a campaign without a
// queue.
func (d *Door) Enter(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if !c.Waits() {
		return store.Turn{Admitted: true}, nil
	}
	d.players.Add(c.ID, user) // before the call of Redis, so that the slot is not freed in between
	turn, err := d.counted(d.o.Seats.Enter(ctx, c, user, d.o.Node))
	if err != nil || !turn.Admitted {
		d.players.Remove(c.ID, user)
	}
	return turn, err
}

// Leave ends a connection that Enter has admitted. left means that the player has left for good. Otherwise the slot is
// kept for a while for their return.
func (d *Door) Leave(campaign, user string, left bool) {
	state := presence.Lost
	if left {
		state = presence.Left
	}
	d.players.Leave(campaign, user, state)
}

// Counts returns the number of players who wait for a campaign's room, and of those with a slot.
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

// Run keeps the slots of this node's players until ctx ends. After that they have time to reconnect to another node.
func (d *Door) Run(ctx context.Context) error {
	return d.players.Run(ctx, loop.Spec{Part: "admission", Every: keepEvery, Within: keepEvery, Do: d.count,
		Work: "count players who wait", Recoverer: d.o.Recoverer, Log: d.o.Log})
}

// write renews and frees slots.
func (d *Door) write(ctx context.Context, changes []presence.Change[string, string]) error {
	by := map[string]map[presence.State][]string{}
	for _, change := range changes {
		if by[change.Group] == nil {
			by[change.Group] = map[presence.State][]string{}
		}
		by[change.Group][change.State] = append(by[change.Group][change.State], change.Member)
	}
	var failed error
	for campaign, users := range by {
		unknown, err := d.o.Seats.Keep(ctx, campaign, d.o.Node, users[presence.Here])
		if unknown > 0 {
			d.o.Log.Warn("redis had lost seats, and may have admitted too many players", "campaign", campaign, "seats",
				unknown)
		}
		failed = errors.Join(failed, err, d.o.Seats.Lost(ctx, campaign, d.o.Node, users[presence.Lost]),
			d.o.Seats.Left(ctx, campaign, d.o.Node, users[presence.Left]))
	}
	return failed
}

// count reads the numbers of waiting players for the metrics.
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

// doorMetrics holds the metrics of a Door.
type doorMetrics struct {
	waiting, seated prometheus.Gauge
	admitted, told  prometheus.Counter
}

func newDoorMetrics(reg prometheus.Registerer) *doorMetrics {
	f := promauto.With(reg)
	return &doorMetrics{
		waiting: f.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_waiting",
			Help: "Players in the waiting rooms of all campaigns, over all nodes: each node reports the same.",
		}),
		seated: f.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_seated",
			Help: "Players with a seat in rooms with a capacity, over all nodes: each node reports the same.",
		}),
		admitted: f.NewCounter(prometheus.CounterOpts{
			Name: "redrain_admitted_total",
			Help: "Players that this node has admitted to rooms with a capacity.",
		}),
		told: f.NewCounter(prometheus.CounterOpts{
			Name: "redrain_waiting_answers_total",
			Help: "Queue positions that this node has sent to waiting players.",
		}),
	}
}
