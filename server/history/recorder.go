package history

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/live"
)

const (
	secondMS = 1_000
	lease    = 5 * time.Second
	renew    = lease / 4
	// atOnce is the number of campaigns whose figures are gathered at a time: each waits for Redis and the database.
	atOnce = 16
	// thinEvery is the interval at which old rows are thinned.
	thinEvery = time.Minute

	// leadMS is the time before a rain from which its seconds are written.
	leadMS = 30 * secondMS

	hourMS = 60 * 60 * secondMS
	dayMS  = 24 * hourMS
	// widest is the span of the oldest rows, and keptMS the age at which those are removed.
	widest, keptMS = 60 * secondMS, 400 * dayMS
)

// ages lists the ages from which rows are thinned, and their spans before and after.
var ages = []struct{ from, spanMS, widerMS int64 }{
	{hourMS, secondMS, 10 * secondMS},
	{dayMS, 10 * secondMS, widest},
}

// Stats gathers a campaign's figures over all nodes. [live.Figures] implements it.
type Stats interface {
	Stats(ctx context.Context, c *rain.Campaign) (live.Stats, error)
}

// RecorderOptions are the options of a Recorder. All are required unless stated otherwise.
type RecorderOptions struct {
	Table      *Table
	Stats      Stats
	Leases     cluster.Leases
	Live       func() []*rain.Campaign // the campaigns that may rain
	Alarm      func(code, campaign, message string)
	Node       string          // this node's name in the lease
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Clock      rain.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// Recorder writes a row a second for each raining campaign while this node has the lease.
type Recorder struct {
	o     RecorderOptions
	lease *cluster.Lease
	rows  prometheus.Counter
}

// NewRecorder returns a recorder. Its Run must be started.
func NewRecorder(o RecorderOptions) *Recorder {
	return &Recorder{o: o,
		lease: cluster.NewLease(cluster.LeaseOptions{Leases: o.Leases, Name: "history", Part: "history", Node: o.Node,
			TTL: lease, Recoverer: o.Recoverer, Alarm: o.Alarm, Log: o.Log}),
		rows: promauto.With(o.Registerer).NewCounter(prometheus.CounterOpts{
			Name: "redrain_history_rows_total", Help: "Seconds of campaigns' figures that were written for the charts.",
		})}
}

// Run records until ctx ends. A failure does not end it.
func (r *Recorder) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "history", Work: "take the lease of the history", Every: renew,
		Lease: r.lease, Do: r.record, Recoverer: r.o.Recoverer, Log: r.o.Log})
}

// record writes rows and thins old ones while this node has the lease.
func (r *Recorder) record(ctx context.Context) error {
	return loop.Run(ctx,
		loop.Spec{Part: "history", Work: "write figures; the charts have a gap", Every: live.ReportEvery,
			Do: r.second, Recoverer: r.o.Recoverer, Log: r.o.Log},
		loop.Spec{Part: "history", Work: "thin old figures", Every: thinEvery, Do: r.thin,
			Recoverer: r.o.Recoverer, Log: r.o.Log})
}

// second writes the rows of this second. If a campaign's figures cannot be read in time, it has a gap.
func (r *Recorder) second(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, live.ReportEvery)
	defer cancel()
	now := r.o.Clock()
	var mu sync.Mutex
	var failed error
	rows := map[string]Row{}
	var gathering errgroup.Group
	gathering.SetLimit(atOnce)
	for _, c := range r.o.Live() {
		if !live.Running(c, now) || c.Current().StartsAt-now > leadMS {
			continue
		}
		gathering.Go(func() error {
			var s live.Stats
			err := r.o.Recoverer.Try("history", func() (err error) {
				s, err = r.o.Stats.Stats(ctx, c)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, err)
				return nil
			}
			rows[c.ID] = rowOf(now, s)
			return nil
		})
	}
	_ = gathering.Wait() // each has logged its error
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), live.ReportEvery)
	defer cancel()
	if err := r.o.Table.Add(writing, rows); err != nil {
		return errors.Join(failed, err)
	}
	r.rows.Add(float64(len(rows)))
	return failed
}

// thin thins the old rows.
func (r *Recorder) thin(ctx context.Context) error {
	now := r.o.Clock()
	for _, age := range ages {
		err := r.until(ctx, func() (bool, error) {
			return r.o.Table.Thin(ctx, age.spanMS, age.widerMS, now-age.from)
		})
		if err != nil {
			return err
		}
	}
	return r.until(ctx, func() (bool, error) { return r.o.Table.Forget(ctx, now-keptMS) })
}

// until repeats a step while it reports more work.
func (r *Recorder) until(ctx context.Context, step func() (more bool, err error)) error {
	for ctx.Err() == nil {
		if more, err := step(); err != nil || !more {
			return err
		}
	}
	return nil
}
