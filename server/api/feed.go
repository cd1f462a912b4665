package api

import (
	"net/http"
	"time"

	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/rain"
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

// listAlarms lists the alarms of the last day that this node has received, the newest first.
func (a *API) listAlarms(*request) (any, error) {
	return list[openapi.OpenAlarm]{Items: a.o.Events.o.Alarms.List()}, nil
}
