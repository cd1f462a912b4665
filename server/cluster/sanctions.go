package cluster

import (
	"context"
	"log/slog"
	"time"

	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/ledger/sanction"
	"redrain/server/timeout"
)

// SanctionSource is where acts about players are kept for good. [ledger.Sanctions] is that.
type SanctionSource interface {
	Refresh(ctx context.Context, l *sanction.List) (fresh []sanction.Sanction, err error)
}

// Sanctions is who is banned, as this node knows it: read at start, again when another node tells of something new, and
// every few seconds, which heals a lost message.
type Sanctions struct {
	*sanction.List

	source SanctionSource
	tell   func(sanction.Sanction)
	guard  *rounds.Guard
	log    *slog.Logger
	wake   chan struct{} // holds one token while something was told
}

// NewSanctions makes a list of which nothing was read yet. tell is called with each act that is new, when the list has
// it. Load it before anybody is let in; its Run must be started.
func NewSanctions(source SanctionSource, tell func(sanction.Sanction), guard *rounds.Guard,
	log *slog.Logger) *Sanctions {
	return &Sanctions{List: sanction.NewList(), source: source, tell: tell, guard: guard, log: log,
		wake: make(chan struct{}, 1)}
}

// Load reads who is banned, and tells nobody: nobody was let in yet.
func (s *Sanctions) Load(ctx context.Context) error {
	_, err := s.source.Refresh(ctx, s.List)
	return err
}

// Refresh reads what is new, and tells it.
func (s *Sanctions) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	fresh, err := s.source.Refresh(ctx, s.List)
	for _, one := range fresh {
		s.tell(one)
	}
	return err
}

// Announced notes that another node has something new. It does not wait: Run reads it.
func (s *Sanctions) Announced() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run keeps the list fresh until ctx ends.
func (s *Sanctions) Run(ctx context.Context) error {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	database := outage.Outage{What: "reading who is banned; going on with who is known to be", Log: s.log}
	for {
		database.Ended(ctx, s.guard.Try("sanctions", func() error { return s.Refresh(ctx) }))
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-tick.C:
		}
	}
}
