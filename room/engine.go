package room

import "time"

// engine writes for all members of a lobby, and runs their timers.
type engine struct {
	o       Options
	metrics *metrics
	wheel   *wheel
	workers *workers
	news    *news
	started time.Time // origin of Member.lastPong
}

func newEngine(o Options) *engine {
	o = o.withDefaults()
	e := &engine{
		o: o, metrics: newMetrics(o.Registerer), wheel: newWheel(o.Recoverer), workers: newWorkers(o.Recoverer),
		started: time.Now(),
	}
	e.news = newNews(e.workers, e.wheel, e.started)
	return e
}
