package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"redrain/grab"
	"redrain/internal/wire"
	"redrain/payout"
	"redrain/rain"
	"redrain/room"
)

const (
	figuresEvery = time.Second
	// staleReport is the age from which a node's report no longer counts as somebody being online, in milliseconds.
	staleReport = 5_000
	// shownWinners is how many of the newest winners a room is shown.
	shownWinners = 10
)

// Stats are a campaign's figures over all nodes, as operators get them.
type Stats struct {
	Online         int64      `json:"online"`
	Taps           int64      `json:"taps"`
	Won            int        `json:"won"`
	Stock          int        `json:"stock"`
	Paid           int64      `json:"paid"`
	AmountWon      rain.Money `json:"amount_won"`
	AmountPaid     rain.Money `json:"amount_paid"`
	AmountLeft     rain.Money `json:"amount_left"`
	GrabsPerSecond float64    `json:"grabs_per_second"`
}

// figures reports what this node counts, and tells its rooms what all nodes count together, once a second.
type figures struct {
	node     string
	grabber  *grab.Grabber
	ledger   *payout.Ledger
	registry *registry
	lobby    *room.Lobby
	counts   *counts
	clock    rain.Clock
	log      *slog.Logger

	mu      sync.Mutex
	winners map[string][]wire.Winner // newest first
}

// newFigures completes figures whose dependencies are given.
func newFigures(f *figures) *figures {
	f.winners = map[string][]wire.Winner{}
	return f
}

// Won remembers winners, to be shown in their room.
func (f *figures) Won(campaign string, claims []settledNoticeClaim) {
	if f.lobby.Room(campaign) == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	shown := f.winners[campaign]
	for _, c := range claims {
		shown = append([]wire.Winner{{User: wire.Mask(c.User), Amount: c.Amount}}, shown...)
	}
	f.winners[campaign] = shown[:min(len(shown), shownWinners)]
}

func (f *figures) newest(campaign string) []wire.Winner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]wire.Winner{}, f.winners[campaign]...)
}

func (f *figures) forget(campaign string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.winners, campaign)
}

// Run reports and tells until ctx ends.
func (f *figures) Run(ctx context.Context) error {
	tick := time.NewTicker(figuresEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			// The last second's taps, and that nobody is here any more. A Redis that hangs must not hold up the end.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), figuresEvery)
			f.reportAll(last)
			cancel()
			return nil
		case <-tick.C:
		}
		f.reportAll(ctx)
		for _, rm := range f.lobby.Rooms() {
			f.tell(ctx, rm)
		}
	}
}

func (f *figures) reportAll(ctx context.Context) {
	for id, count := range f.counts.campaigns() {
		if ctx.Err() != nil {
			return
		}
		f.report(ctx, id, count)
	}
}

// report writes this node's counts of a campaign. A campaign whose room has emptied is reported once more and then
// forgotten; its taps stay in the report.
func (f *figures) report(ctx context.Context, campaign string, count *campaignCount) {
	ctx, cancel := context.WithTimeout(ctx, figuresEvery)
	defer cancel()
	var online int64
	if rm := f.lobby.Room(campaign); rm != nil {
		online = int64(rm.Online())
	}
	c := f.registry.Cached(campaign)
	now, taps := f.clock(), count.taps.Load()
	if c != nil && c.Drained && taps == 0 {
		return // somebody looks at what is over; an earlier report of this node has its taps
	}
	report := grab.NodeReport{T: now, Online: online, Taps: taps, GrabsPerSecond: float64(taps-count.last) / figuresEvery.Seconds()}
	if c != nil && c.Drained {
		report.Keep = drainedKept // or it would stay for ever, after everything else of the campaign has gone
	}
	err := f.grabber.Report(ctx, campaign, f.node, now, report)
	if err != nil {
		f.log.Debug("this node's figures could not be reported", "campaign", campaign, "err", err)
		return
	}
	count.last = taps
	if online == 0 && (c == nil || c.Drained) {
		f.counts.forget(campaign)
		f.forget(campaign)
	}
}

func (f *figures) tell(ctx context.Context, rm *room.Room) {
	ctx, cancel := context.WithTimeout(ctx, figuresEvery)
	defer cancel()
	c := f.registry.Cached(rm.Campaign())
	if c == nil {
		return
	}
	levels, err := f.grabber.Levels(ctx, c)
	if err != nil {
		f.log.Debug("the room's figures could not be read", "campaign", c.ID, "err", err)
		return
	}
	online, _, _, err := f.reported(ctx, c.ID)
	if err != nil {
		f.log.Debug("the nodes' figures could not be read", "campaign", c.ID, "err", err)
		return
	}
	rm.Broadcast(room.Rain, wire.Encode(wire.Room{
		Type: wire.TypeRoom, T: f.clock(), Online: online, Stock: levels.Stock, Won: levels.Won, AmountWon: levels.AmountWon,
		Winners: f.newest(c.ID),
	}))
}

// reported adds up what all nodes have reported of a campaign.
func (f *figures) reported(ctx context.Context, campaign string) (online, taps int64, perSecond float64, err error) {
	reports, err := f.grabber.Reports(ctx, campaign)
	if err != nil {
		return 0, 0, 0, err
	}
	now := f.clock()
	for _, r := range reports {
		taps += r.Taps
		if now-r.T <= staleReport {
			online += r.Online
			perSecond += r.GrabsPerSecond
		}
	}
	return online, taps, perSecond, nil
}

// Stats gathers a campaign's figures from Redis and the ledger.
func (f *figures) Stats(ctx context.Context, c *rain.Campaign) (Stats, error) {
	levels, err := f.grabber.Levels(ctx, c)
	if err != nil && (!errors.Is(err, grab.ErrNoState) || (c.Status != rain.Loading && !c.Drained)) {
		return Stats{}, err
	}
	online, taps, perSecond, err := f.reported(ctx, c.ID)
	if err != nil {
		return Stats{}, err
	}
	paid, amount, err := f.ledger.Paid(ctx, c.ID)
	if err != nil {
		return Stats{}, err
	}
	return Stats{
		Online: online, Taps: taps, GrabsPerSecond: perSecond,
		Won: levels.Won, AmountWon: levels.AmountWon, Stock: levels.Stock, AmountLeft: levels.AmountLeft,
		Paid: paid, AmountPaid: amount,
	}, nil
}
