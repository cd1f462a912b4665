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
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
)

const (
	// ReportEvery is the time between two reports of a node, and between two figures that a room or an operator is
	// shown.
	ReportEvery = time.Second
	// staleReport is the age from which a node's report no longer counts as somebody being online, in milliseconds.
	staleReport = 5_000
	// shownWinners is how many of the newest winners a room is shown.
	shownWinners = 10
)

// Stats are a campaign's figures over all nodes, as operators get them.
type Stats struct {
	Online          int64      `json:"online"`
	Taps            int64      `json:"taps"`
	Won             int        `json:"won"`
	Stock           int        `json:"stock"`
	StockGuests     *int       `json:"stock_guests,omitempty"` // of the stock, where guests have a part of their own
	Paid            int64      `json:"paid"`
	AmountWon       rain.Money `json:"amount_won"`
	AmountPaid      rain.Money `json:"amount_paid"`
	AmountLeft      rain.Money `json:"amount_left"`
	AmountReclaimed rain.Money `json:"amount_reclaimed"` // what nobody won and is back at the sponsor
	UnknownShards   int        `json:"unknown_shards"`   // that Redis does not tell of: what they have is left
	GrabsPerSecond  float64    `json:"grabs_per_second"`
	Waiting         int64      `json:"waiting"` // players in the waiting room
	Seated          int64      `json:"seated"`  // players with a seat, where there is a waiting room

	// Outcomes are the taps by what came of them; they sum to Taps. Every outcome is there, also those that have
	// not come.
	Outcomes outcome.Counts `json:"outcomes"`
	// TapP50MS and TapP99MS are the times within which half and 99 of 100 taps were answered, in the last seconds,
	// from the socket to the result being handed to the socket; nil where nobody has tapped.
	TapP50MS *float64 `json:"tap_p50_ms"`
	TapP99MS *float64 `json:"tap_p99_ms"`
	Outbox   int64    `json:"outbox"` // wins that are neither in the ledger nor dead letters: on their way
	Dead     int64    `json:"dead"`   // dead letters that wait for a person
}

// Running is whether a campaign's figures may still move: from the countdown until a little after the rain's end.
func Running(c *rain.Campaign, now int64) bool {
	const afterMS = 10_000
	r := c.Current()
	return r != nil && now < r.EndsAt()+afterMS
}

// Figures reports what this node counts, and tells its rooms what all nodes count together, once a second.
type Figures struct {
	o FiguresOptions

	mu      sync.Mutex
	winners map[string][]cluster.Winner // newest first
	others  map[string]int64            // by campaign, when another node has last told its figures, Unix ms
}

// Sums are what Redis counts of a campaign; store.ErrNoState where it has lost it.
type Sums interface {
	Levels(ctx context.Context, c *rain.Campaign) (store.Levels, error)
}

// Reports are what the nodes have counted of a campaign, by their names. A report with a lower revision than the one
// that is there changes nothing.
type Reports interface {
	Report(ctx context.Context, campaign, node string, revision int64, r store.NodeReport) error
	Reports(ctx context.Context, campaign string) (map[string]store.NodeReport, error)
	// TakeTelling makes a node the one that adds up the reports for all.
	TakeTelling(ctx context.Context, campaign, node string, ttl time.Duration) (bool, error)
}

// Ranking tells who has won most of a campaign, the first first.
type Ranking interface {
	Top(ctx context.Context, c *rain.Campaign) ([]store.Ranked, error)
}

// Paid counts what has become money, and what went back to the sponsor. [ledger.Campaigns] does.
type Paid interface {
	Paid(ctx context.Context, campaign string) (packets int64, amount rain.Money, err error)
	GivenBack(ctx context.Context, campaign string) (packets int64, amount rain.Money, err error)
}

// Dead counts what waits for a person. [ledger.DeadLetters] does.
type Dead interface {
	Dead(ctx context.Context, campaign string) (letters, wins int64, err error)
}

// Door counts who waits for a campaign's room, and who has a seat in it. [admission.Door] does.
type Door interface {
	Counts(ctx context.Context, c *rain.Campaign) (waiting, seated int64, err error)
}

// Bus tells the other nodes. [cluster.Bus] does.
type Bus interface {
	Figures(campaign string, n cluster.Figures)
}

// FiguresOptions of figures. All are needed but those that say so.
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
	// InStock hears of each lane of a campaign that is seen to have stock; nil: nobody does.
	InStock   func(campaign string, lane rain.Lane)
	KeepFor   time.Duration   // how long a drained campaign stays in Redis
	Recoverer *loop.Recoverer // nil: panics are logged only
	Clock     rain.Clock
	Log       *slog.Logger
}

// NewFigures makes the figures of a node. Their Run must be started.
func NewFigures(o FiguresOptions) *Figures {
	if o.InStock == nil {
		o.InStock = func(string, rain.Lane) {}
	}
	return &Figures{o: o, winners: map[string][]cluster.Winner{}, others: map[string]int64{}}
}

// Won remembers winners, to be shown in their room.
func (f *Figures) Won(campaign string, n cluster.Won) {
	if f.o.Lobby.Room(campaign) == nil {
		return
	}
	f.called(users(n.Winners))
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

// Run reports and tells until ctx ends.
func (f *Figures) Run(ctx context.Context) error {
	err := loop.Run(ctx, loop.Spec{Part: "figures", Every: ReportEvery, Recoverer: f.o.Recoverer, Log: f.o.Log,
		Do: loop.Plain(func(ctx context.Context) {
			f.reportAll(ctx)
			for _, rm := range f.o.Lobby.Rooms() {
				f.tell(ctx, rm)
			}
		})})
	// The last second's taps, and that nobody is here any more. A Redis that hangs must not hold up the end.
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

// report writes this node's counts of a campaign. A campaign whose room has emptied is reported once more and then
// forgotten; its taps stay in the report.
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
		return // somebody looks at what is over; an earlier report of this node has its taps
	}
	report := store.NodeReport{
		T: now, Online: online, Guests: guests, Taps: taps,
		GrabsPerSecond: float64(taps-count.last) / ReportEvery.Seconds(),
		Outcomes:       outcomes, Latency: count.recent.turn(&count.took),
	}
	if c != nil && c.Drained {
		report.Keep = f.o.KeepFor // or it would stay for ever, after everything else of the campaign has gone
	}
	if err := f.o.Reports.Report(ctx, campaign, f.o.Node, now, report); err != nil {
		f.o.Log.Debug("this node's figures could not be reported", "campaign", campaign, "err", err)
		return
	}
	count.last = taps
	if (rm == nil || rm.Members() == 0) && (c == nil || c.Drained) {
		f.o.Counts.forget(campaign)
		f.forget(campaign)
	}
}

// sum adds up what a room is shown.
func (f *Figures) sum(ctx context.Context, campaign string) (cluster.Figures, bool) {
	c := f.o.Known.Cached(campaign)
	if c == nil {
		return cluster.Figures{}, false
	}
	// All at once: a master that does not answer takes the whole time, and the others' figures are there by then.
	var levels store.Levels
	var err error
	var reading sync.WaitGroup
	reading.Go(func() { levels, err = f.o.Sums.Levels(ctx, c) })
	nodes, failed := f.reported(ctx, c.ID)
	top, unranked := f.o.Ranking.Top(ctx, c)
	reading.Wait()
	if err != nil {
		f.o.Log.Debug("the room's figures could not be read", "campaign", c.ID, "err", err)
		return cluster.Figures{}, false
	}
	if failed != nil {
		f.o.Log.Debug("the nodes' figures could not be read", "campaign", c.ID, "err", failed)
		return cluster.Figures{}, false
	}
	if unranked != nil {
		f.o.Log.Debug("who has won most could not be read; the room is told the rest", "campaign", c.ID, "err",
			unranked)
	}
	waiting, _, uncounted := f.o.Door.Counts(ctx, c)
	if uncounted != nil {
		f.o.Log.Debug("who waits could not be counted; the room is told the rest", "campaign", c.ID, "err", uncounted)
	}
	newest, best := f.newest(c.ID), make([]cluster.Winner, len(top))
	for i, r := range top {
		best[i] = cluster.Winner{User: r.User, Amount: r.Amount}
	}
	faces, nameless := f.faces(ctx, newest, best)
	return cluster.Figures{Node: f.o.Node, InStock: inStock(levels), Room: wire.Room{
		T: f.o.Clock(), Online: nodes.online, Stock: levels.Stock, StockGuests: ofGuests(c, levels), Won: levels.Won,
		AmountWon: levels.AmountWon,
		Winners:   shown(newest, faces), Top: shown(best, faces), Waiting: waiting,
	}, Nameless: nameless}, true
}

// inStock are the lanes of which something is left; none where that is not known of every shard.
func inStock(levels store.Levels) (lanes []rain.Lane) {
	for lane, left := range levels.ByLane {
		if left > 0 && levels.Unknown == 0 {
			lanes = append(lanes, rain.Lane(lane))
		}
	}
	return lanes
}

// ofGuests is what of the stock is the guests'; nil where guests and players share it.
func ofGuests(c *rain.Campaign, levels store.Levels) *int {
	if c.Layout().Lanes() == 1 {
		return nil
	}
	return &levels.ByLane[rain.LaneGuests]
}

// nodesSum is what all nodes have reported of a campaign.
type nodesSum struct {
	online, taps int64
	perSecond    float64
	outcomes     outcome.Counts
	latency      latencyCounts
}

// reported adds up what all nodes have reported of a campaign. Of a node that has gone only the taps count.
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

// levels reads what a campaign has left. Before it is stocked, and a while after it is drained, Redis knows nothing of
// it: gone.
func (f *Figures) levels(ctx context.Context, c *rain.Campaign) (levels store.Levels, gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ReportEvery) // what is not read by then is unknown
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
	if err != nil {
		return Stats{}, err
	}
	nodes, err := f.reported(ctx, c.ID)
	if err != nil {
		return Stats{}, err
	}
	waiting, seated, err := f.o.Door.Counts(ctx, c)
	if err != nil {
		return Stats{}, err
	}
	paid, amount, err := f.o.Paid.Paid(ctx, c.ID)
	if err != nil {
		return Stats{}, err
	}
	_, back, err := f.o.Paid.GivenBack(ctx, c.ID)
	if err != nil {
		return Stats{}, err
	}
	dead, deadWins, err := f.o.Dead.Dead(ctx, c.ID)
	if err != nil {
		return Stats{}, err
	}
	if gone && c.Drained {
		// All that was won is in the ledger: it is paid, or a dead letter holds it in the escrow.
		levels.Won, levels.AmountWon = int(paid+deadWins), amount
		if deadWins > 0 {
			levels.AmountWon = c.Budget - back
		}
	}
	return Stats{
		Online: nodes.online, Taps: nodes.taps, GrabsPerSecond: nodes.perSecond, Outcomes: nodes.outcomes,
		TapP50MS: nodes.latency.percentile(0.5), TapP99MS: nodes.latency.percentile(0.99),
		Won: levels.Won, AmountWon: levels.AmountWon, Stock: levels.Stock, StockGuests: ofGuests(c, levels),
		AmountLeft: levels.AmountLeft, AmountReclaimed: back, Paid: paid, AmountPaid: amount,
		UnknownShards: levels.Unknown, Waiting: waiting, Seated: seated,
		// The ledger was asked after Redis and may be ahead of it; and of a campaign that is long over Redis knows
		// nothing any more.
		Outbox: max(0, int64(levels.Won)-paid-deadWins), Dead: dead,
	}, nil
}
