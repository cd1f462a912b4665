package campaigns

import (
	"context"
	"errors"
	"maps"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/cluster"
)

const (
	oddsEvery = 250 * time.Millisecond // interval of the rounds
	oddsLease = 5 * time.Second
	oddsRenew = oddsLease / 4
	// oddsWithin is the limit for one campaign: one whose Redis or database hangs must not delay the others.
	oddsWithin = time.Second
	// reportGoodMS is the age up to which a report's players count as present, in milliseconds.
	reportGoodMS = 5_000
)

// Odds sets the odds of rains with rain.OddsAuto, so that the stock ends with the rain. One node at a time does it, by
// a lease. The record in the database defines the odds. It is written early enough for every node to receive it before
// its beats begin, and never changed. Without new odds the last ones stay valid.
type Odds struct {
	o      OddsOptions
	lease  *cluster.Lease
	crowds map[string]*crowds // by rain; used by the rounds only
	set    prometheus.Counter
}

// OddsOptions are the options of Odds. All are required.
type OddsOptions struct {
	Node

	Service *Service
	Sums    *store.Sums
	Nodes   *store.Nodes // the nodes' counts of a campaign
}

// NewOdds returns Odds without rains. Its Run must be started.
func NewOdds(o OddsOptions) *Odds {
	return &Odds{o: o, crowds: map[string]*crowds{}, lease: o.lease("odds", "odds", oddsLease),
		set: promauto.With(o.Registerer).NewCounter(prometheus.CounterOpts{
			Name: "redrain_odds_set_total", Help: "Odds set for coming beats, in rains with the odds auto.",
		})}
}

// Run sets odds while this node has the lease, until ctx ends. A failure does not end it.
func (s *Odds) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "odds", Work: "take the lease of the odds", Every: oddsRenew, Lease: s.lease,
		Do: s.watch, Recoverer: s.o.Recoverer, Log: s.o.Log})
}

// watch handles the rains while this node has the lease.
func (s *Odds) watch(ctx context.Context) error {
	clear(s.crowds) // another node may have had the lease meanwhile
	return loop.Run(ctx, loop.Spec{Part: "odds", Work: "set odds; rains go on with the last ones", Every: oddsEvery,
		Do: s.round, Recoverer: s.o.Recoverer, Log: s.o.Log})
}

// round handles each rain with odds to set.
func (s *Odds) round(ctx context.Context) error {
	var failed error
	still := map[string]bool{}
	for _, c := range s.o.Known.Live() {
		r := c.Current()
		if r == nil || r.Odds != rain.OddsAuto || c.Status == rain.Closed || s.o.Clock() >= r.EndsAt() {
			continue
		}
		still[r.ID] = true
		failed = errors.Join(failed, s.look(ctx, c, r))
	}
	maps.DeleteFunc(s.crowds, func(id string, _ *crowds) bool { return !still[id] })
	return failed
}

// look sets the next odds of a rain if they are better than the current ones.
func (s *Odds) look(ctx context.Context, c *rain.Campaign, r *rain.Rain) error {
	ctx, cancel := context.WithTimeout(ctx, oddsWithin)
	defer cancel()
	levels, err := s.o.Sums.Levels(ctx, c)
	if err != nil {
		return err
	}
	if levels.Unknown > 0 {
		return nil // the stock is unknown: the current odds stay
	}
	online, guests, err := s.online(ctx, c.ID)
	if err != nil {
		return err
	}
	k := s.crowds[r.ID]
	if k == nil {
		k = newCrowds()
		s.crowds[r.ID] = k
	}
	next, ok := k.next(r, lanesOf(c.Layout(), levels, online, guests), s.o.Clock())
	if !ok {
		return nil
	}
	_, err = s.o.Service.update(ledger.WithoutAudit(ctx), c.ID, func(c *rain.Campaign) error {
		r, err := c.Rain(r.ID)
		if err != nil {
			return err
		}
		if r.SetOdds(next, s.o.Clock()) != nil {
			return ledger.ErrUnchanged // it is too late for these odds: the next round sets others
		}
		return nil
	})
	if err == nil {
		s.set.Inc()
		s.o.Log.Debug("odds are set", "campaign", c.ID, "rain", r.ID, "from_beat", next.Beat, "odds",
			next.Odds.String(), "guests_odds", next.Guests.String(),
			"left", levels.Stock, "online", online)
	}
	return err
}

// lanesOf returns each lane's stock, wins and players.
func lanesOf(l rain.Layout, levels store.Levels, online, guests int64) []lane {
	if l.Lanes() == 1 {
		return []lane{{left: levels.Stock, won: levels.Won, online: online}}
	}
	of := func(which rain.Lane, online int64) lane {
		return lane{left: levels.ByLane[which], won: levels.WonByLane[which], online: online}
	}
	return []lane{of(rain.LanePlayers, online-guests), of(rain.LaneGuests, guests)}
}

// online returns the number of playing connections of a campaign over all nodes, and of the guests' among them.
func (s *Odds) online(ctx context.Context, campaign string) (sum, guests int64, err error) {
	reports, err := s.o.Nodes.Reports(ctx, campaign)
	for _, one := range reports {
		if s.o.Clock()-one.T < reportGoodMS {
			sum += one.Online
			guests += min(one.Guests, one.Online)
		}
	}
	return sum, guests, err
}

const (
	// aimedAt is the fraction of a rain's beats after which the stock should be used up.
	aimedAt = 0.94
	// oddsHurry is the factor by which odds become better in the last oddsHurryFrom beats before that. By chance some
	// stock is left half of the time, and it must not stay.
	oddsHurry, oddsHurryFrom = 1.5, 3.0
	// oddsMemory is the weight of the earlier estimate when a new beat is observed.
	oddsMemory = 0.6
	// oddsJudged is the number of expected wins that must be reached before the draw rate is estimated. So one win that
	// is counted late, after beats of the least odds, is not taken for a million draws.
	oddsJudged = 0.5
	// oddsMost is the limit of the estimate of a player's draws in a beat. A player has one; a higher estimate comes
	// from chance, late wins, or players who are not counted yet.
	oddsMost = 2
	// oddsFirstMS is the time before the last possible moment at which the first odds are set, in milliseconds. It is
	// as late as is safe, because the players of a rain come in its countdown.
	oddsFirstMS = 800
	// oddsStep is the least relative change of odds that is recorded.
	oddsStep = 0.02
)

// crowd is the record of a rain's players in one lane.
type crowd struct {
	lane   rain.Lane
	counts bool    // at, won and online are known
	seen   bool    // packets were won in the rain, so draws is known
	draws  float64 // draws per player present and beat; 1 if each player taps in each beat
	at     int64   // the beat up to which wins are counted
	won    int     // packets won by then
	online int64   // players present then

	// Since the last estimate of draws: the expected wins if each player took each draw, and the actual wins.
	hoped, gone float64
}

// note records the packets won before a beat, and the players present. Wins and odds give the draw rate.
func (k *crowd) note(r *rain.Rain, beat int64, won int, online int64) {
	if !k.counts || beat <= 1 { // most wins of the first beat are not counted yet
		*k = crowd{lane: k.lane, counts: true, at: max(beat, 0), won: won, online: online}
		return
	}
	if beat <= k.at {
		return
	}
	for b := k.at; b < beat; b++ {
		k.hoped += float64(max(k.online, online, 1)) * float64(r.OddsOf(b, k.lane)) / float64(rain.OddsOne)
	}
	k.gone += float64(max(won-k.won, 0))
	k.at, k.won, k.online = beat, won, online
	if k.hoped < oddsJudged || !k.seen && k.gone == 0 {
		return
	}
	each := min(k.gone/k.hoped, oddsMost)
	if k.seen {
		each = oddsMemory*k.draws + (1-oddsMemory)*each
	}
	k.seen, k.draws, k.hoped, k.gone = true, each, 0, 0
}

// drawsOf returns the estimated draws of all players in a beat; at least one.
func (k *crowd) drawsOf(online int64) float64 {
	each := 1.0
	if k.seen {
		each = k.draws
	}
	return max(each*float64(max(online, 1)), 1)
}

// next returns the odds to set now so that the stock ends with the rain. ok is false if the current odds are good
// enough, or if no beat is left for which odds can be set.
func (k *crowd) next(r *rain.Rain, left int, online, now int64) (set rain.OddsFrom, ok bool) {
	from := max(0, r.Beat(r.FirstWave+(now+rain.OddsLeadMS-r.StartsAt+rain.WaveMS)/rain.WaveMS))
	for r.BeatAt(from) < now+rain.OddsLeadMS {
		from++
	}
	if last, set := r.LastOdds(); from >= r.Beats() || set && from <= last.Beat {
		return rain.OddsFrom{}, false
	}
	if r.StartsAt-now > rain.OddsLeadMS+oddsFirstMS {
		return rain.OddsFrom{}, false // more players come in the countdown
	}
	// The beats before that have their odds already.
	draws, stock := k.drawsOf(online), float64(left)
	for b := max(k.at, 0); b < from; b++ {
		stock -= draws * float64(r.OddsOf(b, k.lane)) / float64(rain.OddsOne)
	}
	beats := aimedAt*float64(r.Beats()) - float64(from)
	was, least := r.OddsOf(from, k.lane), 0.0
	if beats < oddsHurryFrom {
		// By expectation no stock is left, but some is: odds fall no more.
		beats, least = max(beats, 1)/oddsHurry, float64(was)/float64(rain.OddsOne)
	}
	chance := min(max(stock/(draws*beats), least), 1)
	odds := min(max(rain.Odds(math.Round(chance*float64(rain.OddsOne))), 1), rain.OddsOne)
	if math.Abs(float64(odds-was)) < oddsStep*float64(was) {
		return rain.OddsFrom{}, false
	}
	return rain.OddsFrom{Beat: from, Odds: odds}, true
}

// crowds holds a crowd for each lane.
type crowds [rain.LaneCount]crowd

func newCrowds() *crowds { return &crowds{{lane: rain.LanePlayers}, {lane: rain.LaneGuests}} }

// lane is the current state of a lane.
type lane struct {
	left, won int // packets
	online    int64
}

// next returns the odds to set now for all lanes of a rain. ok is false if none are to be set.
func (k *crowds) next(r *rain.Rain, lanes []lane, now int64) (set rain.OddsFrom, ok bool) {
	var odds [rain.LaneCount]rain.Odds
	for i, l := range lanes {
		k[i].note(r, r.BeatOf(now), l.won, l.online)
		if one, better := k[i].next(r, l.left, l.online, now); better {
			set.Beat, odds[i], ok = one.Beat, one.Odds, true
		}
	}
	if !ok {
		return set, false
	}
	for i := range lanes {
		if odds[i] == 0 { // the current ones are good enough
			odds[i] = r.OddsOf(set.Beat, k[i].lane)
		}
	}
	set.Odds, set.Guests = odds[rain.LanePlayers], odds[rain.LaneGuests]
	return set, true
}
