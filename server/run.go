package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"redrain/server/config"
)

// Run serves until ctx ends or an actor fails, and then shuts down in order: producers of work stop before its
// consumers. It returns nil after an orderly end.
//
//	not ready any more → go on for --drain-delay → stop the rains → let taps in flight be answered → no new sockets,
//	goodbye and close the sockets → finish the HTTP requests → stop the upkeep, and finish the moves of stock in
//	hand → publish what was won, and stop the relay → finish the settlement batch in hand → close --admin-listen,
//	and the clients
//
// HTTP goes on while the sockets drain, so that a load balancer's check gets "draining".
func (s *Server) Run(ctx context.Context) error {
	defer s.release()
	failed := make(chan error, 1)
	last, base, money := newGroup(failed), newGroup(failed), newGroup(failed)
	upkeep, front := newGroup(failed), newGroup(failed)
	of := s.actors()
	last.start(of.last)
	base.start(of.base)
	money.start(of.money)
	upkeep.start(of.upkeep)
	front.start(of.front)
	s.announce()

	err := s.untilEnd(ctx, failed)
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
	last.stop()
	s.log.Info("stopped")
	return err
}

// untilEnd waits until the shutdown begins. If the node was asked to stop, it is --drain-delay later. It returns the
// error of a failed actor.
func (s *Server) untilEnd(ctx context.Context, failed <-chan error) (err error) {
	select {
	case <-ctx.Done():
		s.ready.Draining.Store(true)
		s.log.Info("shutting down", "after", s.cfg.DrainWait().String(), "within", s.cfg.DrainTimeout.String())
		select {
		case <-time.After(s.cfg.DrainWait()):
			return nil
		case err = <-failed:
		}
	case err = <-failed:
		s.ready.Draining.Store(true)
	}
	s.log.Error("shutting down because a component has failed", "err", err)
	return err
}

// actors are the actors of a process, in the groups that start and stop together.
type actors struct{ last, base, money, upkeep, front []actor }

// actors returns the actors of this process's roles.
func (s *Server) actors() actors {
	all := actors{
		base: []actor{
			{"clock", s.clock.Run}, {"seals", s.ledger.Seals.Run}, {"forgeries", s.forgeries.Run}, {"bus", s.bus.Run},
			{"installation", s.installed.Run},
			{"health", s.monitor.Run}, {"nats", s.back.watchNATS},
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
	isOperator := s.cfg.Has(config.RoleOperator)
	for _, some := range []struct {
		has    bool
		group  *[]actor
		actors []actor
	}{
		{s.names != nil, &all.upkeep, []actor{{"names", s.names.Run}}},
		{s.issuer != nil, &all.upkeep, []actor{{"issuer", s.issuer.Run}}},
		{s.playerIssuer != nil, &all.upkeep, []actor{{"player issuer", s.playerIssuer.Run}}},
		{s.tickets != nil, &all.upkeep, []actor{{"wechat ticket", s.tickets.Run}}},
		{s.back.own != nil, &all.base, []actor{{"nats server", s.runNATS}}},
		{s.admin != nil, &all.last, []actor{{"admin", s.admin.run}}},
		{s.cfg.Has(config.RoleSettle), &all.base, []actor{
			{"settlement", s.settler.Run}, {"withdrawals", s.payer.Run}, {"provider", s.provider.run},
		}},
		{s.rollback != nil, &all.upkeep, []actor{{"rollback", s.rollback.Run}}},
		{s.cfg.Has(config.RoleGateway), &all.money, []actor{{"deciders", s.deciders.Run}}},
		{s.cfg.Has(config.RoleRelay), &all.money, []actor{{"relay", s.relay.Run}}},
		{isOperator, &all.upkeep, []actor{
			{"reconcile loop", s.loop.Run}, {"reclaimer", s.reclaimer.Run}, {"mover", s.mover.Run},
			{"watch", s.watch.Run}, {"odds", s.odds.Run}, {"history", s.recorder.Run},
		}},
		{isOperator && s.cfg.ReconcileEvery > 0, &all.upkeep, []actor{{"reconciliation", s.proofs.Run}}},
		{isOperator || s.cfg.AuditRootFile != "", &all.upkeep, []actor{{"audit roots", s.roots.Run}}},
		{isOperator && s.poster != nil, &all.base, []actor{{"alarms", s.poster.Run}}},
		{s.verdicts != nil, &all.upkeep, []actor{{"verdicts", s.verdicts.Run}}},
		{s.risk != nil, &all.upkeep, []actor{{"risk", s.risk.Run}}},
		{s.play != nil, &all.upkeep, []actor{{"demo payments", s.play.run}}},
		{s.demo != nil, &all.upkeep, []actor{{"demo", s.demo.Run}}},
	} {
		if some.has {
			*some.group = append(*some.group, some.actors...)
		}
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

// actor is a part of the process that runs until its context ends. It returns after all its goroutines.
type actor struct {
	name string
	run  func(context.Context) error
}

// group is a set of actors that start and stop together.
type group struct {
	ctx    context.Context //nolint:containedctx // the actors' life, which stop ends
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan<- error
}

// newGroup returns a group that sends to failed if an actor ends before stop. The channel needs a buffer of one.
func newGroup(failed chan<- error) *group {
	ctx, cancel := context.WithCancel(context.Background())
	return &group{ctx: ctx, cancel: cancel, failed: failed}
}

// errEnded means that an actor has ended before its group was stopped.
var errEnded = errors.New("component stopped unexpectedly")

// start adds actors.
func (g *group) start(actors []actor) {
	for _, a := range actors {
		g.wg.Go(func() {
			err := a.run(g.ctx)
			if err == nil && g.ctx.Err() != nil {
				return
			}
			if err == nil {
				err = errEnded
			}
			select {
			case g.failed <- fmt.Errorf("%s: %w", a.name, err):
			default: // another failure is already ending the process
			}
		})
	}
}

// stop ends the actors and waits for them.
func (g *group) stop() {
	g.cancel()
	g.wg.Wait()
}
