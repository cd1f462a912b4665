package server

import (
	"net/http"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
)

// serve is the route of the feed.
func (e *events) serve(w http.ResponseWriter, r *http.Request, _ caller) error {
	const keepAlive = 15 * time.Second
	campaign := r.URL.Query().Get("campaign")
	if campaign != "" {
		if _, err := e.registry.Get(r.Context(), campaign); err != nil {
			return err
		}
	}
	conn := http.NewResponseController(w)
	f := e.listen(campaign)
	defer e.leave(f)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write(append([]byte(": redrain\n\n"), e.opening(campaign)...)); err != nil {
		return nil
	}
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		if err := conn.Flush(); err != nil {
			return nil // the reader has gone
		}
		var event []byte
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
		if _, err := w.Write(event); err != nil {
			return nil
		}
	}
}

// opening is what a feed of one campaign begins with: how it stands. The feed is listening already, so what changes meanwhile
// follows; it may say the same again.
func (e *events) opening(campaign string) []byte {
	c := e.registry.Cached(campaign)
	if c == nil {
		return nil
	}
	now := e.clock()
	opening := eventOf("campaign", eventView(c, now))
	if current := c.Current(); current != nil {
		opening = append(opening, eventOf("rain", wire.RainOf(current, now, c.Status == rain.Paused))...)
	}
	return opening
}
