package server

import (
	"context"
	"errors"
	"fmt"

	"redrain/grab/confirm"
	"redrain/payout/pipeline"
	"redrain/server/config"
	"redrain/server/health"
)

// require waits until a check proves that a back end works, for at most --backend-wait. From then on the monitor
// repeats the check.
func (s *Server) require(ctx context.Context, c health.Check) error {
	s.checks = append(s.checks, c)
	err := await(ctx, s.cfg.BackendWait, s.log, c.Backend, func(ctx context.Context) error {
		if err := c.Do(ctx); err != nil && !errors.Is(err, health.ErrPartly) {
			return c.Explain(err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.Backend, err)
	}
	return nil
}

func (s *Server) ledgerCheck() health.Check {
	return health.Ledger(func(ctx context.Context) error { return s.ledger.Leases.Probe(ctx, s.node) })
}

// natsCheck returns the check of the rights that this node's roles need.
func (s *Server) natsCheck(publisher *pipeline.Publisher) health.Check {
	var probes []func(context.Context) error
	if s.cfg.Has(config.RoleGateway) || s.cfg.Has(config.RoleRelay) {
		probes = append(probes, publisher.Probe)
	}
	if s.cfg.Has(config.RoleSettle) {
		probes = append(probes, s.settler.Check)
	}
	return health.NATS(append(probes, s.back.nats.FlushWithContext)...)
}

// essential returns the back ends without which newcomers cannot play on this node.
func (s *Server) essential() []string {
	switch {
	case !s.cfg.Has(config.RoleGateway):
		return nil
	case s.cfg.ConfirmMode() == confirm.Stream.String():
		return []string{"redis", "nats"}
	}
	return []string{"redis"}
}

// buildMonitor builds the monitor of the back ends.
func (s *Server) buildMonitor() {
	s.monitor = health.NewMonitor(health.Options{
		Checks: s.checks, Essential: s.essential(), Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
		Unpaid: health.NewUnpaid(health.UnpaidOptions{
			Live: s.known.Live, Outbox: s.outbox.OldestWin, Stream: s.settler.OldestUnsettled, Clock: s.clock.Now,
			Registerer: s.metrics,
		}),
		Alarm: s.bus.Condition,
	})
}

// runNATS restarts the in-process NATS server when it cannot write.
func (s *Server) runNATS(ctx context.Context) error { return s.back.own.Run(ctx, s.recoverer, s.log) }
