package campaigns

import (
	"context"
	"errors"
	"maps"
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
