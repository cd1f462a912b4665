package api

import (
	"net/http"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/timeout"
)

// feed is the route of the operators' feed. It listens before it reads the campaign, because a campaign without readers
// may be dropped from the cache.
func (a *API) feed(w http.ResponseWriter, r *http.Request, _ caller) error {
	campaign := r.URL.Query().Get("campaign")
	f := a.o.Events.listen(campaign)
	defer a.o.Events.leave(f)
	if campaign != "" {
		if _, err := a.o.Campaigns.Get(r.Context(), campaign); err != nil {
			return err
		}
	}
	err := errCut // after a panic: the header is sent
	a.o.Recoverer.Do("http", func() { err = a.o.Events.serve(w, r, f) })
	return err
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
		if err := write(w, event); err != nil {
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

// write sends one event, and waits for a slow reader for a limited time.
func write(w http.ResponseWriter, event []byte) error {
	if err := writeWithin(w, timeout.Progress); err != nil {
		return err
	}
	if _, err := w.Write(event); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
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
