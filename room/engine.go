package room

import "time"

// engine is what writes for all members of a lobby, and keeps their time.
type engine struct {
	o       Options
	metrics *metrics
	wheel   *wheel
	workers *workers
	news    *news
	started time.Time // what Member.heard counts from
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
