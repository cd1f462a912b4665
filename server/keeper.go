package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"redrain/grab"
	"redrain/internal/outage"
	"redrain/payout"
	"redrain/rain"
)

const (
	keepEvery = time.Second
	// stockingPatience is how long a campaign may be loading before the keeper of some node takes it up: longer than
	// the largest campaign takes, and loading twice at once does no harm.
	stockingPatience = 60_000 // milliseconds
)

// keeper finishes what a command or a crash has left half done: it stocks, applies, closes and expires campaigns. Each
// step is idempotent, so the keepers of all nodes may do the same at once.
type keeper struct {
	office   *office
	ledger   *payout.Ledger
	grabber  *grab.Grabber
	registry *registry
	clock    rain.Clock
	log      *slog.Logger

	applied map[string]int64 // campaign → revision that this keeper has seen in force
}

// Run looks after the campaigns once a second until ctx ends.
func (k *keeper) Run(ctx context.Context) error {
	k.applied = map[string]int64{}
	upkeep := outage.Outage{What: "the upkeep of the campaigns", Log: k.log}
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		live := k.registry.Live()
		var failed error
		for _, c := range live {
			if err := k.keep(ctx, c); err != nil {
				failed = fmt.Errorf("campaign %s, %s: %w", c.ID, c.Status, err)
			}
		}
		switch {
		case failed == nil:
			upkeep.Works()
		case ctx.Err() == nil:
			upkeep.Failed(failed)
		}
		k.forget(live)
	}
}

func (k *keeper) keep(ctx context.Context, c *rain.Campaign) error {
	now := k.clock()
	switch {
	case c.Status == rain.Loading:
		if now-c.CreatedAt < stockingPatience {
			return nil
		}
		_, err := k.office.Stock(ctx, c)
		return err
	case c.Status == rain.Closed:
		return k.drain(ctx, c)
	case now >= c.ExpiresAt:
		k.log.Info("the campaign has expired; closing it", "campaign", c.ID)
		_, err := k.office.Close(ctx, c.ID)
		return err
	case k.applied[c.ID] < c.Revision:
		if err := k.office.Enforce(ctx, c); err != nil {
			return err
		}
		k.applied[c.ID] = c.Revision
	}
	return nil
}

// drain closes the shards, and marks the campaign as drained when nothing of it waits in Redis any more.
func (k *keeper) drain(ctx context.Context, c *rain.Campaign) error {
	if err := k.grabber.CloseCampaign(ctx, c); err != nil {
		return err
	}
	waiting, err := k.grabber.Pending(ctx, c)
	if err != nil || waiting > 0 {
		return err
	}
	drained, err := k.ledger.Update(ctx, c.ID, func(c *rain.Campaign) error { c.Drained = true; return nil })
	if err != nil {
		return err
	}
	k.registry.Put(drained)
	k.log.Info("the campaign is closed and everything of it is in the ledger", "campaign", c.ID)
	return nil
}

func (k *keeper) forget(live []*rain.Campaign) {
	still := make(map[string]bool, len(live))
	for _, c := range live {
		still[c.ID] = true
	}
	for id := range k.applied {
		if !still[id] {
			delete(k.applied, id)
		}
	}
}
