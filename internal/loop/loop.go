package loop

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// Lease is the right of one node at a time to do some work. [cluster.Lease] implements it.
type Lease interface {
	// Under calls do if this node holds the lease or gets it. The context of do ends if the lease is lost.
	Under(ctx context.Context, do func(context.Context) error) error
	// Release lets another node take the lease at once; ctx may have ended.
	Release(ctx context.Context)
}

// Spec describes a loop. Part and Do are required. Without Every and Wake, rounds follow each other without a pause.
type Spec struct {
	Part  string        // names the loop in metrics, alarms and the log
	Work  string        // the work in words, for the log of an outage; "": failed rounds are counted only
	Every time.Duration // between the starts of two rounds; 0: no ticker
	Wake  Wake          // starts a round at once; may be nil
	// Lease is held during a round. After a round longer than Every the loop waits for Every, so that another node can
	// take the lease. nil: each node runs the loop.
	Lease Lease
	// Within limits a round, 0: no limit.
	Within time.Duration
	// Retry is the pause after a failed round, before Do is called again. It doubles with each failure, up to
	// RetryMost, which defaults to Every, or 5 s without Every. Meanwhile neither Every nor Wake starts a round. 0: the
	// next round follows as after a success; a loop without a pause has pauses of 100 ms to 5 s.
	Retry, RetryMost time.Duration
	// Do is one round. The first round starts at once.
	Do func(ctx context.Context) error
	// Woken is the round after a wake. Defaults to Do.
	Woken     func(ctx context.Context) error
	Recoverer *Recoverer   // nil: panics are logged only
	Log       *slog.Logger // nil: slog.Default
}

// Plain returns a round that calls a function without errors.
func Plain(do func(ctx context.Context)) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		do(ctx)
		return nil
	}
}

// Run runs loops until ctx ends. It returns nil when all have ended.
func Run(ctx context.Context, specs ...Spec) error {
	var all sync.WaitGroup
	for i := range specs {
		all.Go(func() { specs[i].run(ctx) })
	}
	all.Wait()
	return nil
}

func (s *Spec) run(ctx context.Context) {
	if s.Lease != nil {
		defer s.Lease.Release(ctx)
	}
	isContinuous := s.Every == 0 && s.Wake == nil
	if isContinuous && s.Retry == 0 {
		s.Retry = 100 * time.Millisecond
	}
	retryMost := cmp.Or(s.RetryMost, s.Every, 5*time.Second)
	failures := FailureLog{Work: s.Work, Log: s.Log}
	ticker := time.NewTicker(cmp.Or(s.Every, time.Hour))
	defer ticker.Stop()
	do, failed := s.Do, 0
	for ctx.Err() == nil {
		began := time.Now()
		err := s.round(ctx, do)
		if s.Work != "" {
			failures.Record(ctx, err)
		}
		do = s.Do
		if err != nil && s.Retry > 0 {
			Sleep(ctx, Backoff(s.Retry, retryMost, failed))
			failed++
			continue
		}
		if failed > 0 || s.Lease != nil && time.Since(began) > s.Every {
			failed = 0
			ticker.Reset(cmp.Or(s.Every, time.Hour))
		}
		if isContinuous {
			continue
		}
		tick := ticker.C
		if s.Every == 0 {
			tick = nil
		}
		select {
		case <-ctx.Done():
		case <-tick:
		case <-s.Wake:
			if s.Woken != nil {
				do = s.Woken
			}
		}
	}
}

func (s *Spec) round(ctx context.Context, do func(context.Context) error) error {
	err := s.Recoverer.Try(s.Part, func() error {
		if s.Lease != nil {
			return s.Lease.Under(ctx, func(ctx context.Context) error { return s.limited(ctx, do) })
		}
		return s.limited(ctx, do)
	})
	if err != nil && ctx.Err() == nil {
		s.Recoverer.countFailure(s.Part)
	}
	return err
}

func (s *Spec) limited(ctx context.Context, do func(context.Context) error) error {
	if s.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Within)
		defer cancel()
	}
	return do(ctx)
}

// Wake requests a round of a loop.
type Wake chan struct{}

// NewWake returns a Wake.
func NewWake() Wake { return make(Wake, 1) }

// Signal requests a round. It does not block, and many signals before the round count as one.
func (w Wake) Signal() {
	select {
	case w <- struct{}{}:
	default:
	}
}
