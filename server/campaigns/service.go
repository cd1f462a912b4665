package campaigns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/timeout"
)

// Service executes operators' commands. Each is a transition of package rain: committed to the database, then applied
// to Redis, then reported to the other nodes. The reconcile loop repeats a step that fails after the commit.
type Service struct{ o ServiceOptions }

// ServiceLedger stores campaigns. [ledger.Campaigns] implements it.
type ServiceLedger interface {
	// CreateCampaign returns ledger.ErrCampaignExists if its id is taken.
	CreateCampaign(ctx context.Context, c *rain.Campaign) error
	Campaign(ctx context.Context, id string) (*rain.Campaign, error)
	Update(ctx context.Context, id string, change func(*rain.Campaign) error) (*rain.Campaign, error)
	Abandon(ctx context.Context, id string) (*rain.Campaign, error)
	Cleared(ctx context.Context, campaign string) (bool, error) // only dead letters keep money
}

// Stock changes a campaign in Redis. Each call can be repeated, and an older version changes nothing.
type Stock interface {
	Open(ctx context.Context, c *rain.Campaign, until int64) error
	Apply(ctx context.Context, c *rain.Campaign) error
	CloseCampaign(ctx context.Context, c *rain.Campaign) error
}

// ServiceOptions are the options of a Service. All are required.
type ServiceOptions struct {
	Node

	Ledger ServiceLedger
	Stock  Stock
}

// NewService returns the campaign service.
func NewService(o ServiceOptions) *Service { return &Service{o} }

// ErrApply means that a command is committed but not yet applied to Redis.
var ErrApply = errors.New("the command is recorded and takes effect as soon as Redis answers")

// ErrUnstocked means that a campaign could not be stocked, and was abandoned.
var ErrUnstocked = errors.New("the campaign could not be stocked; its budget is back at the sponsor")

// Create funds a campaign from its sponsor, stocks every packet and opens it. idemKey may be empty.
func (s *Service) Create(ctx context.Context, spec rain.Spec, idemKey string) (*rain.Campaign, error) {
	c, err := s.fund(ctx, spec, idemKey)
	if err != nil {
		return nil, err
	}
	if c.Status != rain.Loading {
		return s.o.Known.Put(c), nil
	}
	stocked, err := s.Stock(ledger.WithoutAudit(ctx), c.ID) // the audit record is that of the funding
	if err != nil && idemKey == "" && s.giveBack(ctx, c.ID) {
		return nil, fmt.Errorf("%w: %w", ErrUnstocked, err)
	}
	return stocked, err
}

// fund creates the campaign of a request, or finds the one of an earlier, interrupted try.
func (s *Service) fund(ctx context.Context, spec rain.Spec, idemKey string) (*rain.Campaign, error) {
	now := s.o.Clock()
	c := &rain.Campaign{
		Spec: spec, Status: rain.Loading, CreatedAt: now, ExpiresAt: now + spec.ExpiresInMS, Revision: 1,
		SplitSeed: NewSeed(),
	}
	for c.ID = range ids("c", idemKey) {
		err := s.o.Ledger.CreateCampaign(ctx, c)
		if !errors.Is(err, ledger.ErrCampaignExists) || idemKey == "" {
			return c, err
		}
		found, err := s.o.Ledger.Campaign(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		if same, err := madeBy(now-found.CreatedAt, reflect.DeepEqual(found.Spec, spec)); same || err != nil {
			return found, err
		}
	}
	return nil, nil // not reached: the sequence is infinite
}

// giveBack returns the money of a campaign that could not be stocked, and reports whether it did. No client has the id
// of that campaign. With an idempotency key the campaign stays: a repeated request, or the reconcile loop, completes
// it.
func (s *Service) giveBack(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Backend)
	defer cancel()
	_, err := s.abandon(ctx, id)
	if err != nil {
		s.o.Log.WarnContext(ctx, "a campaign could not be stocked nor given up; the reconcile loop goes on with it",
			"campaign", id, "err", err)
	}
	return err == nil
}

// stockWithinMS is the limit of a stocking, in milliseconds.
const stockWithinMS = 10_000

// Stock loads a funded campaign's packets into Redis and opens it. It can be repeated at any time. It begins with the
// ledger's current state, and its calls expire after some seconds. They must not reach a Redis that has lost the
// campaign after its rains.
func (s *Service) Stock(ctx context.Context, id string) (*rain.Campaign, error) {
	until := s.o.Clock() + stockWithinMS
	c, err := s.o.Ledger.Campaign(ctx, id) // a shard is stocked once
	if err != nil || c.Status != rain.Loading {
		return c, err
	}
	if err := s.o.Stock.Open(ctx, c, until); err != nil {
		return nil, fmt.Errorf("%w: stock campaign %s: %w", ErrApply, c.ID, err)
	}
	return s.update(ctx, c.ID, func(c *rain.Campaign) error { c.Stocked(); return nil })
}

// Pause makes the campaign's taps be refused.
func (s *Service) Pause(ctx context.Context, id string) (*rain.Campaign, error) {
	return s.update(ctx, id, (*rain.Campaign).Pause)
}

// Resume undoes Pause.
func (s *Service) Resume(ctx context.Context, id string) (*rain.Campaign, error) {
	return s.update(ctx, id, (*rain.Campaign).Resume)
}

// Close ends the campaign and its rain, and starts to return the rest to the sponsor. A campaign that is still loading
// is abandoned.
func (s *Service) Close(ctx context.Context, id string) (*rain.Campaign, error) {
	c, err := s.update(ctx, id, func(c *rain.Campaign) error { return c.Close(s.o.Clock()) })
	if errors.Is(err, rain.ErrNotStocked) {
		return s.abandon(ctx, id)
	}
	return c, err
}

// abandon closes a campaign that is not stocked. The reconcile loop removes its data in Redis.
func (s *Service) abandon(ctx context.Context, id string) (*rain.Campaign, error) {
	c, err := s.o.Ledger.Abandon(ctx, id)
	if err != nil {
		return nil, err
	}
	c = s.o.Known.Put(c)
	s.o.Bus.Changed(c)
	s.o.Log.WarnContext(ctx, "a campaign was not stocked and is given up; its budget is back at the sponsor",
		"campaign", id)
	return c, nil
}

// StartRain schedules a rain. idemKey may be empty.
func (s *Service) StartRain(ctx context.Context, id string, spec rain.RainSpec,
	idemKey string) (*rain.Campaign, *rain.Rain, error) {
	var rainID string
	seed := NewSeed()
	c, err := s.update(ctx, id, func(c *rain.Campaign) error {
		now := s.o.Clock()
		for rainID = range ids("r", idemKey) {
			found, unknown := c.Rain(rainID)
			if unknown != nil {
				break
			}
			if same, err := madeBy(now-found.EndsAt(), found.Matches(spec)); err != nil {
				return err
			} else if same {
				return ledger.ErrUnchanged // an earlier try of the same request has done this
			}
		}
		_, err := c.AddRain(rainID, spec, seed, now)
		return err
	})
	return withRain(c, rainID, err)
}

// StopRain ends a rain now.
func (s *Service) StopRain(ctx context.Context, id, rainID string) (*rain.Campaign, *rain.Rain, error) {
	c, err := s.update(ctx, id, func(c *rain.Campaign) error {
		_, err := c.StopRain(rainID, s.o.Clock())
		return err
	})
	return withRain(c, rainID, err)
}

func withRain(c *rain.Campaign, rainID string, err error) (*rain.Campaign, *rain.Rain, error) {
	if c == nil {
		return nil, nil, err
	}
	r, unknown := c.Rain(rainID)
	return c, r, cmp.Or(err, unknown)
}

// update commits a transition and applies it. With ErrApply the campaign is returned too: the command stands.
func (s *Service) update(ctx context.Context, id string, change func(*rain.Campaign) error) (*rain.Campaign, error) {
	c, err := s.o.Ledger.Update(ctx, id, change)
	if err != nil {
		return nil, err
	}
	err = s.Enforce(ctx, c)
	c = s.o.Known.Put(c)
	s.o.Bus.Changed(c)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrApply, err)
	}
	return c, nil
}

// Enforce applies a campaign's version to Redis. It is idempotent, and an older version changes nothing.
func (s *Service) Enforce(ctx context.Context, c *rain.Campaign) error {
	switch c.Status {
	case rain.Loading:
		return nil
	case rain.Closed:
		return s.o.Stock.CloseCampaign(ctx, c)
	default:
		return s.o.Stock.Apply(ctx, c)
	}
}

const (
	// reclaimedWithin is the longest wait of an operator who closes a campaign. The ledger usually has all in some
	// hundredths of a second; an outage or thousands of wins take longer.
	reclaimedWithin = 2 * time.Second
	// The pauses between reads of the ledger, doubled each time.
	firstLook, lastLook = 5 * time.Millisecond, 100 * time.Millisecond
)

// CloseAndReclaim is Close, and waits until the rest is in the sponsor's account, or for reclaimedWithin.
func (s *Service) CloseAndReclaim(ctx context.Context, id string) (*rain.Campaign, error) {
	c, err := s.Close(ctx, id)
	if err != nil {
		return c, err
	}
	wait, cancel := context.WithTimeout(ctx, reclaimedWithin)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		// An error ends the wait, and not the command: it stands.
		if cleared, err := s.o.Ledger.Cleared(wait, c.ID); cleared || err != nil {
			return c, nil
		}
		select {
		case <-wait.Done():
			return c, nil
		case <-time.After(pause):
		}
	}
}
