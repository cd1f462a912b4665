package campaigns

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/rain"
)

// The demo campaign is so large that one person never empties it.
const (
	demoSponsor  = "demo"
	demoName     = "Demo"
	demoPackets  = 20_000
	demoBudget   = 1_000_000 // 10,000 yuan, on average half a yuan a packet
	demoWins     = 2_000
	demoDensity  = 10
	demoDecoys   = 10
	demoEvery    = time.Second
	demoIdleMS   = 60_000 // between rains without players
	demoPauseMS  = 12_000 // between rains with players, who read the result card, and the podium on the big screen
	demoMaxRains = 40     // then a new campaign starts, so that the lists of rains and of a player's wins stay short
)

// Demo runs rains on a demo campaign, for a newcomer who opens the page of the in-process default. All exported fields
// are required, and Run must be started.
type Demo struct {
	Node

	Service   *Service
	Campaigns interface { // to find an earlier demo campaign; [ledger.Campaigns]
		Live(ctx context.Context) ([]*rain.Campaign, error)
		Campaign(ctx context.Context, id string) (*rain.Campaign, error)
	}
	Deposit func(ctx context.Context, sponsor, reference string, amount rain.Money) (balance rain.Money, err error)
	Levels  func(ctx context.Context, c *rain.Campaign) (store.Levels, error)
	Members func(campaign string) int // connections in a campaign's room on this node

	current atomic.Pointer[string]
}

// Campaign returns the id of the demo campaign, or "" before it exists.
func (d *Demo) Campaign() string {
	if id := d.current.Load(); id != nil {
		return *id
	}
	return ""
}

// Run starts rains until ctx ends.
func (d *Demo) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "demo", Work: "the demo", Every: demoEvery, Do: d.step,
		Recoverer: d.Recoverer, Log: d.Log})
}

func (d *Demo) step(ctx context.Context) error {
	c := d.Known.Cached(d.Campaign())
	if c == nil || c.Status == rain.Closed {
		return d.begin(ctx)
	}
	now, last := d.Clock(), c.Current()
	if last != nil {
		quiet := int64(demoIdleMS)
		if d.Members(c.ID) > 0 {
			quiet = demoPauseMS
		}
		if now < last.EndsAt()+quiet || c.Status != rain.Open {
			return nil
		}
		if done, err := d.used(ctx, c); done || err != nil {
			return err
		}
	}
	spec := rain.DefaultRain()
	spec.DropsPerSecond, spec.DecoyPercent, spec.Pacing = demoDensity, demoDecoys, rain.PacingEven
	_, _, err := d.Service.StartRain(ctx, c.ID, spec, "")
	if errors.Is(err, rain.ErrRainRunning) {
		return nil // an operator was faster
	}
	return err
}

// used closes a campaign that is sold out or has too many rains; the next step creates another.
func (d *Demo) used(ctx context.Context, c *rain.Campaign) (bool, error) {
	levels, err := d.Levels(ctx, c)
	if err != nil || levels.Unknown > 0 || (levels.Stock > 0 && len(c.Rains) < demoMaxRains) {
		return false, err
	}
	_, err = d.Service.Close(ctx, c.ID)
	return true, err
}

// resume finds the demo campaign of this process, or of an earlier one on the same data.
func (d *Demo) resume(ctx context.Context) (found bool, err error) {
	live, err := d.Campaigns.Live(ctx)
	if err != nil {
		return false, err
	}
	var newest *rain.Campaign
	for _, c := range live {
		ours := c.Sponsor == demoSponsor && c.Name == demoName && c.Status != rain.Closed
		if ours && (newest == nil || c.CreatedAt > newest.CreatedAt) {
			newest = c
		}
	}
	if newest == nil {
		return false, nil
	}
	whole, err := d.Campaigns.Campaign(ctx, newest.ID)
	if err != nil {
		return false, err
	}
	d.Known.Put(whole)
	d.current.Store(&newest.ID)
	return true, nil
}

func (d *Demo) begin(ctx context.Context) error {
	if found, err := d.resume(ctx); found || err != nil {
		return err
	}
	if _, err := d.Deposit(ctx, demoSponsor, NewID("demo-", ""), demoBudget); err != nil {
		return err
	}
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Budget, spec.Packets, spec.WinsPerUser = demoName, demoSponsor, demoBudget,
		demoPackets, demoWins
	c, err := d.Service.Create(ctx, spec, "")
	if err != nil {
		return err
	}
	d.current.Store(&c.ID)
	return nil
}
