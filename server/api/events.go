package api

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"redrain/internal/loop"
	"redrain/internal/openapi"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/live"
)

// Events is the operators' feed, Server-Sent Events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): `stats` once a second for each campaign that is
// running or looked at, `campaign` and `rain` when one changes, `alarm`. Each node makes it from what it knows
// itself.
type Events struct {
	o EventsOptions

	alarms openAlarms

	mu    sync.Mutex
	feeds map[*feed]struct{}
	over  bool                      // no feed begins any more
	told  map[string]live.RainState // campaign → what was said of its rain
}

// EventsOptions of events. All are needed.
type EventsOptions struct {
	Campaigns Known
	Stats     Stats
	Recoverer *loop.Recoverer // nil: panics are logged only
	Clock     rain.Clock
	Log       *slog.Logger
}

// NewEvents makes the feed without readers. Its Run must be started.
func NewEvents(o EventsOptions) *Events {
	return &Events{o: o, feeds: map[*feed]struct{}{}, told: map[string]live.RainState{}}
}

// feed is one reader's.
type feed struct {
	campaign string // the only one that is wanted; "" for all
	ch       chan []byte
}

// wants tells whether an event of a campaign goes to this feed. What is of no campaign is for everybody.
func (f *feed) wants(campaign string) bool {
	return f.campaign == "" || campaign == "" || f.campaign == campaign
}

// feedBuffer is how many events a slow reader may be behind; one that is slower misses some.
const feedBuffer = 256

// Changed says that a campaign has a newer version.
func (e *Events) Changed(c *rain.Campaign) {
	now := e.o.Clock()
	e.mu.Lock()
	_, known := e.told[c.ID]
	e.mu.Unlock()
	if c.Drained && !known {
		return // somebody has looked at what is over
	}
	e.say("campaign", c.ID, eventView(c, now))
	e.phase(c, now)
}

// eventView is a campaign in the feed: without its amounts, of which there may be millions.
func eventView(c *rain.Campaign, now int64) openapi.Campaign {
	view := viewOf(c, now)
	view.Amounts = nil
	return view
}

// Alarm says that something needs a person.
func (e *Events) Alarm(n cluster.Alarm) {
	e.alarms.raise(n, e.o.Clock())
	e.say("alarm", n.Campaign, n)
}

// phase says a rain's phase where it has changed.
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
		e.say("rain", c.ID, wire.RainOf(r, now, c.Status == rain.Paused))
	}
}

// say tells every feed that wants to hear of the campaign.
func (e *Events) say(kind, campaign string, v any) {
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

// eventOf is an event as it is written.
func eventOf(kind string, v any) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, encode(v))
}

// Run says the figures and the phases that come with time, until ctx ends; then every feed ends.
func (e *Events) Run(ctx context.Context) error {
	defer e.HangUp()
	return loop.Run(ctx, loop.Spec{Part: "events", Every: live.ReportEvery, Recoverer: e.o.Recoverer, Log: e.o.Log,
		Do: loop.Plain(func(ctx context.Context) {
			now := e.o.Clock()
			for _, c := range e.o.Campaigns.Live() {
				e.phase(c, now)
			}
			e.sayStats(ctx, now)
		})})
}

// sayStats says the figures of each campaign that somebody looks at: with a feed of its own always, in the feed of
// all while it is running.
func (e *Events) sayStats(ctx context.Context, now int64) {
	all, watched := e.wanted()
	for _, c := range e.o.Campaigns.Live() {
		moving := all && live.Running(c, now)
		if moving || watched[c.ID] {
			e.stats(ctx, c, moving)
		}
		delete(watched, c.ID)
	}
	for id := range watched { // those that are over
		if c := e.o.Campaigns.Cached(id); c != nil {
			e.stats(ctx, c, false)
		}
	}
}

// stats says a campaign's figures to the feeds of its own, and to those of all campaigns where it is running.
func (e *Events) stats(ctx context.Context, c *rain.Campaign, toAll bool) {
	ctx, cancel := context.WithTimeout(ctx, live.ReportEvery)
	defer cancel()
	s, err := e.o.Stats.Stats(ctx, c)
	if err != nil {
		e.o.Log.Debug("no figures for the operators' feed", "campaign", c.ID, "err", err)
		return
	}
	view := struct {
		Campaign string `json:"campaign"`
		T        int64  `json:"t"`
		live.Stats
	}{c.ID, e.o.Clock(), s}
	e.sayTo("stats", view, func(f *feed) bool { return f.campaign == c.ID || toAll && f.campaign == "" })
}

// wanted is whether there is a feed of all campaigns, and which campaigns have feeds of their own.
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

// Watched tells whether a campaign has a feed of its own.
func (e *Events) Watched(campaign string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for f := range e.feeds {
		if f.campaign == campaign {
			return true
		}
	}
	return false
}

// listen begins a feed. When all have been hung up it has ended already: nobody would end it later, and the process
// would wait for it.
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

// leave ends a feed; it is safe for one that was hung up.
func (e *Events) leave(f *feed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, there := e.feeds[f]; there {
		delete(e.feeds, f)
		close(f.ch)
	}
}

// HangUp ends every feed, also those that are still to come.
func (e *Events) HangUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for f := range e.feeds {
		delete(e.feeds, f)
		close(f.ch)
	}
}
