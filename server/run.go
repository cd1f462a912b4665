package server

import (
	"context"
	"time"

	"redrain/server/config"
)

// Run serves until ctx ends or an actor fails, and then shuts down in order: producers of work stop before its
// consumers. It returns nil after an orderly end.
//
//	not ready any more, no new sockets → stop the rains → let taps in flight be answered → goodbye and close the
//	sockets → finish the HTTP requests → stop the upkeep, and finish the moves of stock in hand → publish what
//	was won, and stop the relay → finish the settlement batch in hand → close the clients
//
// HTTP goes on while the sockets drain, so that a load balancer's check gets "draining".
func (s *Server) Run(ctx context.Context) error {
	defer s.release()
	failed := make(chan error, 1)
	base, money, upkeep, front := newGroup(failed), newGroup(failed), newGroup(failed), newGroup(failed)
	of := s.actors()
	base.start(of.base)
	money.start(of.money)
	upkeep.start(of.upkeep)
	front.start(of.front)
	s.announce()

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("shutting down", "within", s.cfg.DrainTimeout.String())
	case err = <-failed:
		s.log.Error("shutting down because a component has failed", "err", err)
	}
	s.health.draining.Store(true)
	deadline := time.Now().Add(s.cfg.DrainTimeout)
	s.deadline.Store(&deadline)
	limit, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	s.schedule.Stop()
	s.gates.Close()
	s.gateway.Drain(limit)
	front.stop()
	upkeep.stop()
	money.stop()
	base.stop()
	s.log.Info("stopped")
	return err
}

// actors are the actors of a process, in the groups that start and stop together.
type actors struct{ base, money, upkeep, front []actor }

// actors returns the actors of this process's roles.
func (s *Server) actors() actors {
	all := actors{
		base: []actor{
			{"clock", s.clock.Run}, {"seals", s.ledger.Seals.Run}, {"forgeries", s.forgeries.Run}, {"bus", s.bus.Run},
		},
		upkeep: []actor{
			{"keys", s.players.Run}, {"campaigns", s.registry.Run}, {"rooms", s.lobby.Run},
			{"figures", s.figures.Run}, {"events", s.events.Run},
			{"sanctions", s.sanctions.Run}, {"lists", s.lists.Run},
			{"admission", s.door.Run}, {"connections", s.connections.Run},
			{"addresses", s.addresses.Run},
		},
		front: []actor{{"http", s.serve}, {"sockets", s.sockets.Run}},
	}
	if s.names != nil {
		all.upkeep = append(all.upkeep, actor{"names", s.names.Run})
	}
	if s.issuer != nil {
		all.upkeep = append(all.upkeep, actor{"issuer", s.issuer.Run})
	}
	if s.admin != nil {
		all.base = append(all.base, actor{"admin", s.admin.run})
	}
	if s.cfg.Has(config.RoleSettle) {
		all.base = append(all.base, actor{"settlement", s.settler.Run}, actor{"withdrawals", s.payer.Run},
			actor{"provider", s.provider.run})
	}
	if s.rollback != nil {
		all.upkeep = append(all.upkeep, actor{"rollback", s.rollback.Run})
	}
	if s.cfg.Has(config.RoleGateway) {
		all.money = append(all.money, actor{"deciders", s.deciders.Run})
	}
	if s.cfg.Has(config.RoleRelay) {
		all.money = append(all.money, actor{"relay", s.relay.Run})
	}
	if s.cfg.Has(config.RoleOperator) {
		all.upkeep = append(all.upkeep, actor{"reconcile loop", s.loop.Run}, actor{"reclaimer", s.reclaimer.Run},
			actor{"mover", s.mover.Run}, actor{"watch", s.watch.Run}, actor{"odds", s.odds.Run},
			actor{"history", s.recorder.Run})
	}
	if s.cfg.Has(config.RoleOperator) && s.cfg.ReconcileEvery > 0 {
		all.upkeep = append(all.upkeep, actor{"reconciliation", s.proofs.Run})
	}
	if s.cfg.Has(config.RoleOperator) || s.cfg.AuditRootFile != "" {
		all.upkeep = append(all.upkeep, actor{"audit roots", s.roots.Run})
	}
	if s.verdicts != nil {
		all.upkeep = append(all.upkeep, actor{"verdicts", s.verdicts.Run})
	}
	if s.risk != nil {
		all.upkeep = append(all.upkeep, actor{"risk", s.risk.Run})
	}
	if s.demo != nil {
		all.upkeep = append(all.upkeep, actor{"demo", s.demo.Run})
	}
	return all
}

// serve serves HTTP until ctx ends, and then lets the requests in flight finish. The gateway drains the sockets.
func (s *Server) serve(ctx context.Context) error {
	return serveHTTP(ctx, s.http, s.listener, func() {
		s.events.HangUp()              // the event feeds have no end of their own
		deadline := *s.deadline.Load() // set before this group is stopped
		limit, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		if err := s.http.Shutdown(limit); err != nil {
			_ = s.http.Close()
		}
	})
}
