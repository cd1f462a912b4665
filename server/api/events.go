package api

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"redrain/client/openapi"
	"redrain/internal/loop"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/alarms"
	"redrain/server/cluster"
	"redrain/server/history"
	"redrain/server/live"
)

// Events is the operators' feed of Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// It has `stats` once a second for each running or watched campaign, `campaign` and `rain` after changes, and `alarm`.
// Each node creates it from its own data.
type Events struct {
	o EventsOptions

	mu    sync.Mutex
	feeds map[*feed]struct{}
	over  bool                      // no new feed begins
	told  map[string]live.RainState // by campaign: the last sent state of its rain
}

// EventsOptions are the options of Events. All are required unless stated otherwise.
type EventsOptions struct {
	Campaigns Known
	Stats     history.Stats
	Alarms    *alarms.Open
	Recoverer *loop.Recoverer // nil: panics are logged only
	Clock     rain.Clock
	Log       *slog.Logger
}

// NewEvents returns a feed without readers. Its Run must be started.
func NewEvents(o EventsOptions) *Events {
	return &Events{o: o, feeds: map[*feed]struct{}{}, told: map[string]live.RainState{}}
}

// feed is the queue of one reader.
type feed struct {
	campaign string // the only campaign; "" for all
	ch       chan []byte
}

// wants reports whether an event goes to this feed. Events without a campaign go to all.
func (f *feed) wants(campaign string) bool {
	return f.campaign == "" || campaign == "" || f.campaign == campaign
}

// feedBuffer is the number of events that a slow reader may be behind; a slower one misses some.
const feedBuffer = 256

// Changed sends a newer version of a campaign.
func (e *Events) Changed(c *rain.Campaign) {
	now := e.o.Clock()
	e.mu.Lock()
	_, known := e.told[c.ID]
	e.mu.Unlock()
	if c.Drained && !known {
		return // a read of a campaign that is over
	}
	e.send("campaign", c.ID, eventView(c, now))
	e.phase(c, now)
}

// eventView returns a campaign for the feed: without its amounts, which may be millions.
func eventView(c *rain.Campaign, now int64) openapi.Campaign {
	view := viewOf(c, now)
	view.Amounts = nil
	return view
}

// Alarm sends an alarm. A repeated condition is sent once.
func (e *Events) Alarm(n cluster.Alarm) {
	if e.o.Alarms.Raise(n) {
		e.send("alarm", n.Campaign, n)
	}
}

// phase sends a rain's phase if it has changed.
func (e *Events) phase(c *rain.Campaign, now int64) {
	is := live.RainStateOf(c, now)
	e.mu.Lock()
	was := e.told[c.ID]
	e.told[c.ID] = is
	if c.Drained {
		delete(e.told, c.ID)
	}
	e.mu.Unlock()
	if r := c.Current(); r != nil && is != was {
		e.send("rain", c.ID, wire.RainOf(r, now, c.Status == rain.Paused))
	}
}

// send sends an event to every feed that wants it.
func (e *Events) send(kind, campaign string, v any) {
	e.sayTo(kind, v, func(f *feed) bool { return f.wants(campaign) })
}

func (e *Events) sayTo(kind string, v any, which func(*feed) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var event []byte
	for f := range e.feeds {
		if !which(f) {
			continue
		}
		if event == nil {
			event = eventOf(kind, v)
		}
		select {
		case f.ch <- event:
		default:
		}
	}
}

// eventOf returns the text of an event.
func eventOf(kind string, v any) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, encode(v))
}

// Run sends the figures, and the phases that change with time, until ctx ends; then every feed ends.
func (e *Events) Run(ctx context.Context) error {
	defer e.HangUp()
	return loop.Run(ctx, loop.Spec{Part: "events", Every: live.ReportEvery, Recoverer: e.o.Recoverer, Log: e.o.Log,
		Do: loop.Plain(func(ctx context.Context) {
			now := e.o.Clock()
			for _, c := range e.o.Campaigns.Live() {
				e.phase(c, now)
			}
			e.sendStats(ctx, now)
		})})
}

// sendStats sends figures: of running campaigns to the feeds of all campaigns, and of watched campaigns to their own
// feeds.
func (e *Events) sendStats(ctx context.Context, now int64) {
	all, watched := e.wanted()
	for _, c := range e.o.Campaigns.Live() {
		moving := all && live.Running(c, now)
		if moving || watched[c.ID] {
			e.stats(ctx, c, moving)
		}
		delete(watched, c.ID)
	}
	for id := range watched { // watched campaigns that are over
		if c := e.o.Campaigns.Cached(id); c != nil {
			e.stats(ctx, c, false)
		}
	}
}

// stats sends a campaign's figures to its own feeds, and with toAll to those of all campaigns.
func (e *Events) stats(ctx context.Context, c *rain.Campaign, toAll bool) {
	ctx, cancel := context.WithTimeout(ctx, live.ReportEvery)
	defer cancel()
	s, err := e.o.Stats.Stats(ctx, c)
	if err != nil {
		e.o.Log.Debug("gather figures for the operators' feed", "campaign", c.ID, "err", err)
		return
	}
	view := struct {
		Campaign string `json:"campaign"`
		T        int64  `json:"t"`
		live.Stats
	}{c.ID, e.o.Clock(), s}
	e.sayTo("stats", view, func(f *feed) bool { return f.campaign == c.ID || toAll && f.campaign == "" })
}

// wanted reports whether there is a feed of all campaigns, and returns the campaigns with their own feeds.
func (e *Events) wanted() (all bool, watched map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	watched = map[string]bool{}
	for f := range e.feeds {
		if f.campaign == "" {
			all = true
		} else {
			watched[f.campaign] = true
		}
	}
	return all, watched
}

// Watched reports whether a campaign has its own feed.
func (e *Events) Watched(campaign string) bool {
	_, watched := e.wanted()
	return watched[campaign]
}

// listen begins a feed. After HangUp the feed is closed from the start, because otherwise the process would wait for
// it.
func (e *Events) listen(campaign string) *feed {
	f := &feed{campaign: campaign, ch: make(chan []byte, feedBuffer)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		close(f.ch)
		return f
	}
	e.feeds[f] = struct{}{}
	return f
}

// leave ends a feed; it is safe after HangUp.
func (e *Events) leave(f *feed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, there := e.feeds[f]; there {
		delete(e.feeds, f)
		close(f.ch)
	}
}

// HangUp ends every feed, including future ones.
func (e *Events) HangUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for f := range e.feeds {
		delete(e.feeds, f)
		close(f.ch)
	}
}
