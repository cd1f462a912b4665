package server

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	probes = append(probes, func(ctx context.Context) error { return s.checkStream(ctx, publisher) })
	return health.NATS(probes...)
}

const (
	// streamSeen is the time for which the stream of an installation counts as seen by a node.
	streamSeen = 5 * time.Second
	// ledgerWithin bounds the comparison: a ledger that hangs must not make NATS look away.
	ledgerWithin = time.Second
)

// checkStream compares the payout stream with the one that the other nodes see. Two NATS servers under one ledger would
// hold two streams, and a rebuild of Redis would miss the wins of one. A stream that was lost is replaced when no node
// sees it any more. While the ledger does not answer, nothing is compared.
func (s *Server) checkStream(ctx context.Context, publisher *pipeline.Publisher) error {
	made, err := publisher.Made(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerWithin)
	defer cancel()
	lease := "stream " + s.cfg.Namespace // a node with another namespace does not play: see cluster.Installation
	seen, until, err := s.ledger.Leases.Holder(ctx, lease)
	if err != nil || seen == made && until-s.clock.Now() > streamSeen.Milliseconds()/2 {
		return nil // the ledger has a check of its own
	}
	t, err := s.ledger.Leases.Lease(ctx, lease, made, streamSeen)
	if err == nil && !t.Held() && seen != made {
		return fmt.Errorf("another stream: the one here was made at %s, and other nodes see one that was made at %s: "+
			"give all nodes the same --nats", made, seen)
	}
	return nil
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
		Alarm: func(code, message string, isNew bool) { s.bus.Condition(code, "", message, isNew) },
	})
}

// runNATS restarts the in-process NATS server when it cannot write.
func (s *Server) runNATS(ctx context.Context) error { return s.back.own.Run(ctx, s.recoverer, s.log) }
