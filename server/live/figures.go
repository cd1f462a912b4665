package live

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
)

const (
	// ReportEvery is the interval of a node's reports, and of the figures that a room or an operator gets.
	ReportEvery = time.Second
	// staleReport is the age from which the players of a node's report no longer count as online, in milliseconds.
	staleReport = 5_000
	// shownWinners is the number of the newest winners that a room is shown.
	shownWinners = 10
)

// Stats are a campaign's figures over all nodes, as operators get them.
type Stats struct {
	Online          int64      `json:"online"`
	Taps            int64      `json:"taps"`
	Won             int        `json:"won"`
	Stock           int        `json:"stock"`
	StockGuests     *int       `json:"stock_guests,omitempty"` // of the stock, if guests have a separate part
	Paid            int64      `json:"paid"`
	AmountWon       rain.Money `json:"amount_won"`
	AmountPaid      rain.Money `json:"amount_paid"`
	AmountLeft      rain.Money `json:"amount_left"`
	AmountReclaimed rain.Money `json:"amount_reclaimed"` // returned to the sponsor
	UnknownShards   int        `json:"unknown_shards"`   // shards that Redis does not answer for
	GrabsPerSecond  float64    `json:"grabs_per_second"`
	Waiting         int64      `json:"waiting"` // players in the waiting room
	Seated          int64      `json:"seated"`  // players with a slot, if there is a waiting room

	// Outcomes are the taps by outcome; they add up to Taps. Every outcome is present, also with 0 taps.
	Outcomes outcome.Counts `json:"outcomes"`
	// TapP50MS and TapP99MS are the times within which half and 99 of 100 taps of the last seconds were answered. A
	// time runs from the socket until the result is passed to it. They are nil without taps.
	TapP50MS *float64 `json:"tap_p50_ms"`
	TapP99MS *float64 `json:"tap_p99_ms"`
	Outbox   int64    `json:"outbox"` // wins in flight: neither in the ledger nor dead letters
	Dead     int64    `json:"dead"`   // dead letters that wait for a person
}

// Running reports whether a campaign's figures may still change: from the countdown until a little after the rain's
// end.
func Running(c *rain.Campaign, now int64) bool {
	const afterMS = 10_000
	r := c.Current()
	return r != nil && now < r.EndsAt()+afterMS
}

// Figures reports this node's counts, and sends its rooms the sums of all nodes, once a second.
type Figures struct {
	o FiguresOptions

	mu      sync.Mutex
	winners map[string][]cluster.Winner // newest first
	others  map[string]int64            // by campaign: time of the last figures from another node, Unix ms
}

// Sums reads Redis's counts of a campaign; store.ErrNoState if Redis has lost it.
type Sums interface {
	Levels(ctx context.Context, c *rain.Campaign) (store.Levels, error)
}

// Reports stores the nodes' counts of a campaign by the nodes' names. A report with a lower revision than the stored
// one changes nothing.
type Reports interface {
	Report(ctx context.Context, campaign, node string, revision int64, r store.NodeReport) error
	Reports(ctx context.Context, campaign string) (map[string]store.NodeReport, error)
	// TakeTelling tries to make a node the one that adds up the reports for all.
	TakeTelling(ctx context.Context, campaign, node string, ttl time.Duration) (bool, error)
}

// Ranking reads the players who have won most of a campaign, the highest first.
type Ranking interface {
	Top(ctx context.Context, c *rain.Campaign) ([]store.Ranked, error)
}

// Paid counts paid and reclaimed packets. ledger.Campaigns implements it.
type Paid interface {
	Totals(ctx context.Context, campaign string) (posting.Totals, error)
}

// Dead counts dead letters. ledger.DeadLetters implements it.
type Dead interface {
	Dead(ctx context.Context, campaign string) (letters, wins int64, err error)
}

// Door counts the players who wait for a campaign's room, and those with a slot. admission.Door implements it.
type Door interface {
	Counts(ctx context.Context, c *rain.Campaign) (waiting, seated int64, err error)
}

// Bus sends figures to the other nodes. [cluster.Bus] implements it.
type Bus interface {
	Figures(campaign string, n cluster.Figures)
}

// FiguresOptions are the options of Figures. All are required unless stated otherwise.
type FiguresOptions struct {
	Node    string // this node's name in the reports
	Sums    Sums
	Reports Reports
	Ranking Ranking
	Paid    Paid
	Dead    Dead
	Known   Known
	Door    Door
	Lobby   *room.Lobby
	Counts  *Counts
	Bus     Bus
	Names   Names // nil: players are shown under masked ids only
	// InStock is called with each lane of a campaign that has stock. May be nil.
	InStock   func(campaign string, lane rain.Lane)
	KeepFor   time.Duration   // time for which a drained campaign stays in Redis
	Recoverer *loop.Recoverer // nil: panics are logged only
	Clock     rain.Clock
	Log       *slog.Logger
}

// NewFigures returns the figures of a node. Their Run must be started.
func NewFigures(o FiguresOptions) *Figures {
	if o.InStock == nil {
		o.InStock = func(string, rain.Lane) {}
	}
	return &Figures{o: o, winners: map[string][]cluster.Winner{}, others: map[string]int64{}}
}

// Won stores winners to be shown in their room.
func (f *Figures) Won(campaign string, n cluster.Won) {
	if f.o.Lobby.Room(campaign) == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	shown := f.winners[campaign]
	for _, w := range n.Winners {
		shown = append([]cluster.Winner{w}, shown...)
	}
	f.winners[campaign] = shown[:min(len(shown), shownWinners)]
}

func (f *Figures) newest(campaign string) []cluster.Winner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.winners[campaign])
}

func (f *Figures) forget(campaign string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.winners, campaign)
	delete(f.others, campaign)
}

// Run reports counts and sends figures until ctx ends.
func (f *Figures) Run(ctx context.Context) error {
	err := loop.Run(ctx, loop.Spec{Part: "figures", Every: ReportEvery, Recoverer: f.o.Recoverer, Log: f.o.Log,
		Do: loop.Plain(func(ctx context.Context) {
			f.reportAll(ctx)
			for _, rm := range f.o.Lobby.Rooms() {
				f.publish(ctx, rm)
			}
		})})
	// Report the last second's taps, and no players. A Redis that hangs must not delay the shutdown.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReportEvery)
	defer cancel()
	f.o.Recoverer.Do("figures", func() { f.reportAll(last) })
	return err
}

func (f *Figures) reportAll(ctx context.Context) {
	for id, count := range f.o.Counts.campaigns() {
		if ctx.Err() != nil {
			return
		}
		f.report(ctx, id, count)
	}
}

// report writes this node's counts of a campaign. When the room is empty, and the campaign is drained or unknown, it
// reports once more and drops the counts; the report keeps the taps.
func (f *Figures) report(ctx context.Context, campaign string, count *CampaignCount) {
	ctx, cancel := context.WithTimeout(ctx, ReportEvery)
	defer cancel()
	var online, guests int64
	rm := f.o.Lobby.Room(campaign)
	if rm != nil {
		online, guests = int64(rm.Online()), int64(rm.Guests())
	}
	c := f.o.Known.Cached(campaign)
	now := f.o.Clock()
	outcomes, taps := count.taps()
	if c != nil && c.Drained && taps == 0 {
		return // the room of a finished campaign; an earlier report of this node has its taps
	}
	report := store.NodeReport{
		T: now, Online: online, Guests: guests, Taps: taps,
		GrabsPerSecond: float64(taps-count.last) / ReportEvery.Seconds(),
		Outcomes:       outcomes, Latency: count.recent.turn(&count.took),
	}
	if c != nil && c.Drained {
		report.Keep = f.o.KeepFor // or it would stay for ever, after the campaign's other keys
	}
	if err := f.o.Reports.Report(ctx, campaign, f.o.Node, now, report); err != nil {
		f.o.Log.Debug("report this node's figures", "campaign", campaign, "err", err)
		return
	}
	count.last = taps
	if (rm == nil || rm.Members() == 0) && (c == nil || c.Drained) {
		f.o.Counts.forget(campaign)
		f.forget(campaign)
	}
}

// sum adds up a room's figures.
func (f *Figures) sum(ctx context.Context, campaign string) (cluster.Figures, bool) {
	c := f.o.Known.Cached(campaign)
	if c == nil {
		return cluster.Figures{}, false
	}
	// All at once: a master that does not answer uses up the time limit, and the other figures have arrived by then.
	var levels store.Levels
	var err error
	var reading sync.WaitGroup
	reading.Go(func() { levels, err = f.o.Sums.Levels(ctx, c) })
	nodes, failed := f.reported(ctx, c.ID)
	top, unranked := f.o.Ranking.Top(ctx, c)
	reading.Wait()
	if err != nil {
		f.o.Log.Debug("read the room's figures", "campaign", c.ID, "err", err)
		return cluster.Figures{}, false
	}
	if failed != nil {
		f.o.Log.Debug("read the nodes' figures", "campaign", c.ID, "err", failed)
		return cluster.Figures{}, false
	}
	if unranked != nil {
		f.o.Log.Debug("read the ranking; the room gets the other figures", "campaign", c.ID, "err",
			unranked)
	}
	waiting, _, uncounted := f.o.Door.Counts(ctx, c)
	if uncounted != nil {
		f.o.Log.Debug("count the waiting players; the room gets the other figures", "campaign", c.ID, "err", uncounted)
	}
	newest, best := f.newest(c.ID), make([]cluster.Winner, len(top))
	for i, r := range top {
		best[i] = cluster.Winner{User: r.User, Amount: r.Amount}
	}
	profiles, nameless := f.profiles(ctx, newest, best)
	return cluster.Figures{Node: f.o.Node, InStock: inStock(levels), Room: wire.Room{
		T: f.o.Clock(), Online: nodes.online, Stock: levels.Stock, StockGuests: ofGuests(c, levels), Won: levels.Won,
		AmountWon: levels.AmountWon,
		Winners:   shown(newest, profiles), Top: shown(best, profiles), Waiting: waiting,
	}, Nameless: nameless}, true
}

// inStock returns the lanes with stock; none if a shard is unknown.
func inStock(levels store.Levels) (lanes []rain.Lane) {
	for lane, left := range levels.ByLane {
		if left > 0 && levels.Unknown == 0 {
			lanes = append(lanes, rain.Lane(lane))
		}
	}
	return lanes
}

// ofGuests returns the guests' part of the stock; nil if guests and players share it.
func ofGuests(c *rain.Campaign, levels store.Levels) *int {
	if c.Layout().Lanes() == 1 {
		return nil
	}
	return &levels.ByLane[rain.LaneGuests]
}

// nodesSum is the sum of all nodes' reports of a campaign.
type nodesSum struct {
	online, taps int64
	perSecond    float64
	outcomes     outcome.Counts
	latency      latencyCounts
}

// reported adds up the nodes' reports of a campaign. Of a node that has stopped only the taps count.
func (f *Figures) reported(ctx context.Context, campaign string) (nodesSum, error) {
	sum := nodesSum{outcomes: make(outcome.Counts, outcome.Count)}
	for _, o := range outcome.Decided() {
		sum.outcomes[o] = 0
	}
	reports, err := f.o.Reports.Reports(ctx, campaign)
	if err != nil {
		return sum, err
	}
	now := f.o.Clock()
	for _, r := range reports {
		sum.taps += r.Taps
		for o, n := range r.Outcomes {
			sum.outcomes[o] += n
		}
		if now-r.T > staleReport {
			continue
		}
		sum.online += r.Online
		sum.perSecond += r.GrabsPerSecond
		for bucket, n := range r.Latency {
			sum.latency[min(max(bucket, 0), latencyBuckets-1)] += n
		}
	}
	return sum, nil
}

// levels reads a campaign's stock. It returns gone before the stocking, and some time after the draining: Redis has no
// data then.
func (f *Figures) levels(ctx context.Context, c *rain.Campaign) (levels store.Levels, gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ReportEvery) // shards not read by then are unknown
	defer cancel()
	levels, err = f.o.Sums.Levels(ctx, c)
	if c.Status != rain.Loading && !c.Drained {
		return levels, false, err
	}
	if levels.Unknown > 0 || errors.Is(err, store.ErrNoState) {
		return store.Levels{}, true, nil
	}
	return levels, false, err
}

// Stats gathers a campaign's figures from Redis and the ledger.
func (f *Figures) Stats(ctx context.Context, c *rain.Campaign) (Stats, error) {
	levels, gone, err := f.levels(ctx, c)
	nodes, failed := f.reported(ctx, c.ID)
	waiting, seated, uncounted := f.o.Door.Counts(ctx, c)
	if err := errors.Join(err, failed, uncounted); err != nil {
		return Stats{}, err
	}
	totals, err := f.o.Paid.Totals(ctx, c.ID)
	dead, deadWins, uncounted := f.o.Dead.Dead(ctx, c.ID)
	if err := errors.Join(err, uncounted); err != nil {
		return Stats{}, err
	}
	if gone && c.Drained {
		// All wins are in the ledger: paid, or in the escrow for a dead letter.
		levels.Won, levels.AmountWon = int(totals.Paid+deadWins), totals.AmountPaid
		if deadWins > 0 {
			levels.AmountWon = c.Budget - totals.AmountReclaimed
		}
	}
	return Stats{
		Online: nodes.online, Taps: nodes.taps, GrabsPerSecond: nodes.perSecond, Outcomes: nodes.outcomes,
		TapP50MS: nodes.latency.percentile(0.5), TapP99MS: nodes.latency.percentile(0.99),
		Won: levels.Won, AmountWon: levels.AmountWon, Stock: levels.Stock, StockGuests: ofGuests(c, levels),
		AmountLeft: levels.AmountLeft, AmountReclaimed: totals.AmountReclaimed, Paid: totals.Paid,
		AmountPaid:    totals.AmountPaid,
		UnknownShards: levels.Unknown, Waiting: waiting, Seated: seated,
		// The ledger was read after Redis and may be ahead of it. Redis has no data of a campaign that is long over.
		Outbox: max(0, int64(levels.Won)-totals.Paid-deadWins), Dead: dead,
	}, nil
}
