package cluster

import (
	"context"
	"log/slog"
	"time"

	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/ledger/verdict"
	"redrain/server/timeout"
)

// VerdictSource is where verdicts about players are kept for good. [ledger.Risk] is that.
type VerdictSource interface {
	Refresh(ctx context.Context, l *verdict.List) (fresh []verdict.Verdict, err error)
}

// Verdicts are the newest ones about players, as this node knows them: read at start, again when another node tells of
// something new, and every few seconds, which heals a lost message.
type Verdicts struct {
	*verdict.List

	source VerdictSource
	tell   func(verdict.Verdict)
	guard  *rounds.Guard
	log    *slog.Logger
	wake   chan struct{} // holds one token while something was told
}

// NewVerdicts makes a list of which nothing was read yet. tell is called with each verdict that is new, when the list
// has it. Load it before anybody is let in; its Run must be started.
func NewVerdicts(source VerdictSource, tell func(verdict.Verdict), guard *rounds.Guard, log *slog.Logger) *Verdicts {
	return &Verdicts{List: verdict.NewList(), source: source, tell: tell, guard: guard, log: log,
		wake: make(chan struct{}, 1)}
}

// Load reads what verdicts there are, and tells nobody: nobody was let in yet.
func (v *Verdicts) Load(ctx context.Context) error {
	_, err := v.source.Refresh(ctx, v.List)
	return err
}

// Denied tells whether the newest verdict about a player is that they may not take part. No Verdicts deny nobody.
func (v *Verdicts) Denied(user string) bool {
	if v == nil {
		return false
	}
	newest, found := v.Of(user)
	return found && newest.Act == verdict.Deny
}

// Announced notes that there is something new. It does not wait: Run reads it.
func (v *Verdicts) Announced() {
	if v == nil {
		return
	}
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Refresh reads what is new, and tells it.
func (v *Verdicts) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	fresh, err := v.source.Refresh(ctx, v.List)
	for _, one := range fresh {
		v.tell(one)
	}
	return err
}

// Run keeps the list fresh until ctx ends.
func (v *Verdicts) Run(ctx context.Context) error {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	database := outage.Outage{What: "reading the verdicts about players; going on with what is known", Log: v.log}
	for {
		database.Ended(ctx, v.guard.Try("verdicts", func() error { return v.Refresh(ctx) }))
		select {
		case <-ctx.Done():
			return nil
		case <-v.wake:
		case <-tick.C:
		}
	}
}
