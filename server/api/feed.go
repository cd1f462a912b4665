package api

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
)

// feed is the route of the operators' feed. It listens before it reads the campaign, because a campaign without readers
// may be dropped from the cache.
func (a *API) feed(q *request) (any, error) {
	campaign := q.query("campaign")
	f := a.o.Events.listen(campaign)
	defer a.o.Events.leave(f)
	if campaign != "" {
		if _, err := a.o.Campaigns.Get(q.Context(), campaign); err != nil {
			return nil, err
		}
	}
	err := errCut // after a panic: the header is sent
	a.o.Recoverer.Do("http", func() { err = a.o.Events.serve(q.w, q.Request, f) })
	return nil, err
}

// serve writes a feed until it ends or its reader is gone.
func (e *Events) serve(w http.ResponseWriter, r *http.Request, f *feed) error {
	const keepAlive = 15 * time.Second
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	event := []byte(": redrain\n\n")
	e.open(f)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		if _, err := send(w, event); err != nil {
			return nil // the reader is gone
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-quiet.C:
			event = []byte(":\n\n")
		case next, open := <-f.ch:
			if !open {
				return nil
			}
			event = next
		}
	}
}

// open sends the current state to a feed of one campaign. The feed is listening already, so it also gets changes of the
// meantime, perhaps twice.
func (e *Events) open(f *feed) {
	c := e.o.Campaigns.Cached(f.campaign)
	if c == nil {
		return // a feed of all; or the campaign is read again for its first figures
	}
	now := e.o.Clock()
	this := func(other *feed) bool { return other == f }
	e.sayTo("campaign", eventView(c, now), this)
	if r := c.Current(); r != nil {
		e.sayTo("rain", wire.RainOf(r, now, c.Status == rain.Paused), this)
	}
}

const (
	// alarmsKept is the time for which an alarm stays open without a repetition.
	alarmsKept = 24 * time.Hour
	// mostAlarms is the number of different open alarms; beyond it the oldest are dropped.
	mostAlarms = 200
)

// openAlarms holds the alarms that this node has received from any node.
type openAlarms struct {
	mu sync.Mutex
	by map[alarmKey]openAlarm
}

type openAlarm struct {
	openapi.OpenAlarm

	until int64 // Unix ms: it ends then, unless it is repeated
}

type alarmKey struct{ code, campaign string }

// raise opens an alarm, or repeats an open one. It reports whether this is news: a repeated condition is none.
func (o *openAlarms) raise(n cluster.Alarm, now int64) (isNews bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[alarmKey]openAlarm{}
	}
	key := alarmKey{n.Code, n.Campaign}
	v, open := o.by[key]
	if !open || v.until < now {
		v = openAlarm{OpenAlarm: openapi.OpenAlarm{Code: n.Code, Campaign: n.Campaign, Since: now}}
		open = false
	}
	isNews = !open || n.LastsMS == 0
	if isNews {
		v.Times++
	}
	v.Message, v.At, v.until = n.Message, now, now+cmp.Or(n.LastsMS, alarmsKept.Milliseconds())
	o.by[key] = v
	if len(o.by) > mostAlarms {
		oldest := key
		for k, one := range o.by {
			if one.At < o.by[oldest].At {
				oldest = k
			}
		}
		delete(o.by, oldest)
	}
	return isNews
}

// list returns the open alarms, the newest first.
func (o *openAlarms) list(now int64) []openapi.OpenAlarm {
	o.mu.Lock()
	defer o.mu.Unlock()
	open := []openapi.OpenAlarm{}
	for key, v := range o.by {
		if v.until < now {
			delete(o.by, key)
			continue
		}
		open = append(open, v.OpenAlarm)
	}
	slices.SortFunc(open, func(a, b openapi.OpenAlarm) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Campaign, b.Campaign))
	})
	return open
}

// listAlarms lists the alarms of the last day that this node has received, the newest first.
func (a *API) listAlarms(*request) (any, error) {
	return list[openapi.OpenAlarm]{Items: a.o.Events.alarms.list(a.o.Clock())}, nil
}
