package health

import (
	"context"
	"errors"
	"fmt"

	"redrain/grab/store"
)

// Redis returns the check that probe proves: the write of a win on each master.
func Redis(probe func(ctx context.Context) error) Check {
	return Check{
		Backend: "redis", Proves: "it takes the write of a win",
		Advice: "Redis must be a master with free memory, and its user needs the rights in docs/rights.redis.conf",
		Do: func(ctx context.Context) error {
			err := probe(ctx)
			if errors.Is(err, store.ErrSomeMasters) {
				err = fmt.Errorf("%w: %w", ErrPartly, err)
			}
			return err
		},
	}
}

// Ledger returns the check that probe proves: a write to the ledger.
func Ledger(probe func(ctx context.Context) error) Check {
	return Check{
		Backend: "mysql", Proves: "it takes a write",
		Advice: "the database must be writable, and its user needs the rights in docs/rights.sql",
		Do:     probe,
	}
}

// NATS returns the check that probes prove: the use of the payout stream.
func NATS(probes ...func(ctx context.Context) error) Check {
	return Check{
		Backend: "nats", Proves: "the payout stream takes messages",
		Advice: "JetStream must be on with free space (a server whose disk was full needs a restart), and its user " +
			"needs the rights in docs/rights.nats.conf",
		Do: func(ctx context.Context) error {
			for _, probe := range probes {
				if err := probe(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
