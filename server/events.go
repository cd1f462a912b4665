package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
)

// events is the operators' feed, Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html):
// `stats` once a second for each running campaign, `campaign` and `rain` when one changes, `alarm`. Each node makes it from
// what it knows itself.
type events struct {
	registry *registry
	figures  *figures
	clock    rain.Clock
	log      *slog.Logger

	mu        sync.Mutex
	listeners map[chan []byte]struct{}
	told      map[string]told // campaign → what was said of its rain
}

// feedBuffer is how many events a slow reader may be behind; one that is slower misses some.
const feedBuffer = 256

// Changed says that a campaign has a newer version.
func (e *events) Changed(c *rain.Campaign) {
	now := e.clock()
	e.mu.Lock()
	_, known := e.told[c.ID]
	e.mu.Unlock()
	if c.Drained && !known {
		return // somebody has looked at what is over
	}
	view := viewOf(c, now)
	view.Amounts = nil // there may be millions of them
	e.say("campaign", view)
	e.phase(c, now)
}

// Alarm says that something needs a person.
func (e *events) Alarm(n alarmNotice) { e.say("alarm", n) }

// phase says a rain's phase where it has changed.
func (e *events) phase(c *rain.Campaign, now int64) {
	is := tellOf(c, now)
	e.mu.Lock()
	was := e.told[c.ID]
	e.told[c.ID] = is
	if c.Drained {
		delete(e.told, c.ID)
	}
	e.mu.Unlock()
	if r := c.Current(); r != nil && is != was {
		e.say("rain", wire.RainOf(r, now, c.Status == rain.Paused))
	}
}

func (e *events) say(kind string, v any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.listeners) == 0 {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic("server: an event that cannot be encoded: " + err.Error())
	}
	event := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data)
	for l := range e.listeners {
		select {
		case l <- event:
		default:
		}
	}
}

// Run says the figures and the phases that come with time, until ctx ends; then every feed ends.
func (e *events) Run(ctx context.Context) error {
	tick := time.NewTicker(figuresEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			e.hangUp()
			return nil
		case <-tick.C:
		}
		now := e.clock()
		for _, c := range e.registry.Live() {
			e.phase(c, now)
			if e.wanted() && running(c, now) {
				e.stats(ctx, c)
			}
		}
	}
}

// running is whether a campaign's figures may still move: from the countdown until a little after the rain's end.
func running(c *rain.Campaign, now int64) bool {
	const afterMS = 10_000
	r := c.Current()
	return r != nil && now < r.EndsAt()+afterMS
}

func (e *events) stats(ctx context.Context, c *rain.Campaign) {
	ctx, cancel := context.WithTimeout(ctx, figuresEvery)
	defer cancel()
	s, err := e.figures.Stats(ctx, c)
	if err != nil {
		e.log.Debug("no figures for the operators' feed", "campaign", c.ID, "err", err)
		return
	}
	e.say("stats", struct {
		Campaign string `json:"campaign"`
		T        int64  `json:"t"`
		Stats
	}{c.ID, e.clock(), s})
}

func (e *events) wanted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.listeners) > 0
}

func (e *events) listen() chan []byte {
	l := make(chan []byte, feedBuffer)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners[l] = struct{}{}
	return l
}

// leave ends a feed; it is safe for one that was hung up.
func (e *events) leave(l chan []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, there := e.listeners[l]; there {
		delete(e.listeners, l)
		close(l)
	}
}

func (e *events) hangUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		delete(e.listeners, l)
		close(l)
	}
}

// serve is the route of the feed.
func (e *events) serve(w http.ResponseWriter, r *http.Request, _ caller) error {
	const keepAlive = 15 * time.Second
	feed := http.NewResponseController(w)
	l := e.listen()
	defer e.leave(l)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write([]byte(": redrain\n\n")); err != nil {
		return nil
	}
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		if err := feed.Flush(); err != nil {
			return nil // the reader has gone
		}
		var event []byte
		select {
		case <-r.Context().Done():
			return nil
		case <-quiet.C:
			event = []byte(":\n\n")
		case e, open := <-l:
			if !open {
				return nil
			}
			event = e
		}
		if _, err := w.Write(event); err != nil {
			return nil
		}
	}
}
