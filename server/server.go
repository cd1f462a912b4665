package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/requestid"
	"redrain/payout/ledger"
	"redrain/payout/pipeline"
	"redrain/payout/reconcile"
	"redrain/rain"
	"redrain/room"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/config"
	"redrain/server/doctor"
	"redrain/server/gateway"
	"redrain/server/health"
	"redrain/server/live"
)

// New connects to the back ends, waiting for those that are not up yet, and listens. It writes the addresses to out,
// for an operator who starts the process by hand. Run releases everything that New has opened.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) (_ *Server, err error) {
	if faults := cfg.Validate(); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	s := &Server{cfg: cfg, log: log, out: out}
	if err := s.readSecrets(); err != nil {
		return nil, err
	}
	if err := s.readOperators(); err != nil {
		return nil, err
	}
	if s.verifyFiles, err = readVerifyFiles(cfg.VerifyFiles); err != nil {
		return nil, err
	}
	if s.back, err = connect(ctx, &s.cfg, s.newest, log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	if err := s.checkRedis(ctx); err != nil {
		return nil, err
	}
	if s.cfg.Redis == "" { // an in-process Redis starts without data
		if err := s.rebuilder.RebuildAll(ctx); err != nil {
			return nil, fmt.Errorf("restore the campaigns: %w", err)
		}
	}
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// checkRedis compares Redis with the one of the installation before anything is read from it. A node with another Redis
// starts, and does not play. An in-process Redis has no data, so it waits until no node sees the one of the last
// process.
func (s *Server) checkRedis(ctx context.Context) error {
	if s.cfg.Redis == "" {
		return await(ctx, s.cfg.BackendWait, s.log, "redis", s.installed.Look)
	}
	if err := s.installed.Look(ctx); err != nil {
		s.log.Warn("compare redis with the one of this installation; retrying while serving", "err", err)
	}
	return nil
}

// build builds and connects all actors. Only here grab and payout are connected.
func (s *Server) build(ctx context.Context) (err error) {
	s.node = "n" + strings.ToLower(rand.Text()[:12])
	s.log = requestid.Logger(s.log).With("node", s.node)
	s.metrics = prometheus.NewRegistry()
	s.metrics.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ReadBuild().register(s.metrics)
	s.clock = store.NewClock(s.back.redis, s.log)
	if s.cfg.MySQL != "" {
		s.clock.Ledger = s.back.sql.Time
	}
	if err := s.clock.Sync(ctx); err != nil {
		return fmt.Errorf("read the cluster's time: %w", err)
	}
	s.recoverer, err = loop.NewRecoverer(s.metrics, s.log, func(_, message string) {
		s.bus.Alarm("panic", "", message)
	})
	if err != nil {
		return err
	}
	s.clock.Recoverer = s.recoverer
	s.amounts = rain.NewAmountsCache()
	s.ledger = ledger.New(s.back.sql, s.clock.Now, s.amounts)
	s.ledger.Seals.Recoverer = s.recoverer
	if err := s.require(ctx, s.ledgerCheck()); err != nil {
		return err
	}
	if err := s.ledger.Seals.Load(ctx); err != nil {
		return err
	}
	s.redis = store.New(s.back.redis, store.Options{Namespace: s.cfg.Namespace, Clock: s.clock.Now, Log: s.log,
		Amounts: s.amounts, Ring: s.ledger.Seals.Ring()})
	if err := s.require(ctx, health.Redis(s.redis.Probe)); err != nil {
		return err
	}
	s.bus = cluster.NewBus(s.back.nats, cluster.BusOptions{
		Namespace: s.cfg.Namespace, Sealer: s.ledger.Seals.Ring(), RefreshSeals: s.ledger.Seals.Load,
		Forged: func(count int, reason string) { s.forgeries.Notices(count, reason) },
		Clock:  s.clock.Now, Registerer: s.metrics, Log: s.log,
	})
	s.clock.Alarm = func(message string, isNew bool) { s.bus.Condition("clock_step", "", message, isNew) }
	s.forgeries = campaigns.NewForgeries(s.bus.Alarm, s.recoverer)
	s.books = reconcile.New(s.back.sql, s.ledger.Campaigns, s.clock.Now, s.recoverer)
	s.known = cluster.NewKnown()

	js, err := jetstream.New(s.back.nats)
	if err != nil {
		return fmt.Errorf("open JetStream: %w", err)
	}
	publisher, err := pipeline.NewPublisher(js, s.cfg.Namespace, s.ledger.Seals.Ring(), s.log)
	if err != nil {
		return err
	}
	s.deciders = pipeline.NewDeciders(publisher, pipeline.DecidersOptions{
		Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
	if err := s.buildGrab(ctx, publisher); err != nil {
		return err
	}
	s.buildRelay(publisher)
	if err := s.buildSettler(ctx, js); err != nil {
		return err
	}
	if err := s.require(ctx, s.natsCheck(publisher)); err != nil {
		return err
	}
	if err := s.buildPayer(); err != nil {
		return err
	}
	s.players, err = auth.NewPlayers(auth.PlayersOptions{
		Secret: s.cfg.JWTSecret, NewSecret: s.newest.of("jwt-secret", s.cfg.JWTSecret), JWKSURL: s.cfg.JWKSURL,
		Audience: s.cfg.JWTAudience, Issuer: s.cfg.JWTIssuer, MaxLife: s.cfg.JWTMaxLife, Recoverer: s.recoverer,
		Log: s.log, Clock: func() time.Time { return time.UnixMilli(s.clock.Now()) },
	})
	if err != nil {
		return err
	}
	if err := s.buildOperators(); err != nil {
		return err
	}
	if err := s.buildLogins(); err != nil {
		return err
	}
	if err := s.buildRisk(); err != nil {
		return err
	}
	s.buildRooms()
	if err := s.buildAlarms(); err != nil {
		return err
	}
	s.buildCampaigns()
	s.buildMonitor()
	s.buildHTTP()
	if err := errors.Join(s.sanctions.Load(ctx), s.lists.Load(ctx), s.verdicts.Load(ctx)); err != nil {
		return err
	}
	return s.bus.Listen(s.recoverer, cluster.Listener{
		Changed:   s.registry.Announce,
		Settled:   s.settled,
		Won:       s.figures.Won,
		Figures:   s.figures.Heard,
		SoldOut:   s.atLane((*gate).SoldOut),
		Dry:       s.mover.Dry,
		Restocked: func(campaign string, shard int) { s.atGate(func(g *gate) { g.Restocked(shard) })(campaign) },
		Restored:  s.atGate((*gate).Restored),
		Alarm:     s.events.Alarm,
		Withdrawn: s.gateway.Withdrawn, Sanctioned: s.sanctions.Announced,
		Listed: s.lists.Announced, Judged: s.verdicts.Announced,
		Node: s.node, OnNodes: s.connections.Heard,
	})
}

// gate takes the taps on a campaign on this node.
type gate = grab.Gate[gateway.TapOrigin]

// atGate runs a function on a campaign's gate, if this node has the campaign.
func (s *Server) atGate(do func(*gate)) func(campaign string) {
	return func(campaign string) {
		if c := s.known.Cached(campaign); c != nil {
			do(s.gates.Gate(c))
		}
	}
}

// atLane is atGate for one lane of a campaign.
func (s *Server) atLane(do func(*gate, rain.Lane)) func(campaign string, lane rain.Lane) {
	return func(campaign string, lane rain.Lane) { s.atGate(func(g *gate) { do(g, lane) })(campaign) }
}

// buildGrab builds the path of a tap to Redis and back.
func (s *Server) buildGrab(ctx context.Context, publisher confirm.Publisher) error {
	mode, err := confirm.Parse(s.cfg.ConfirmMode())
	if err != nil {
		return err
	}
	s.schedule = live.NewSchedule(s.clock.Now, s.known, s.recoverer)
	s.lobby = room.NewLobby(room.Options{
		Log: s.log, Registerer: s.metrics, Recoverer: s.recoverer, OnOpen: s.schedule.Open, OnEmpty: s.schedule.Empty,
		Guest:      rain.IsGuest,
		ResultsMax: gateway.Replies(s.cfg.TapRate),
	})
	s.confirmer = confirm.New(s.redis, mode, publisher, s.log)
	s.installed = cluster.NewInstallation(cluster.InstallationOptions{
		Identity: store.NewIdentity(s.redis), Guard: s.back.guard, Leases: s.ledger.Leases, Namespace: s.cfg.Namespace,
		Alone: s.cfg.MySQL == "", Histories: mode == confirm.Stream, Alarm: s.bus.Condition, Clock: s.clock.Now,
		Recoverer: s.recoverer, Log: s.log,
	})
	s.confirmer.Heed(s.installed)
	s.outbox = confirm.NewOutbox(s.confirmer)
	o := grab.Options{
		TapRate: s.cfg.TapRate, Clock: s.clock.Now, Log: s.log, Registerer: s.metrics,
		OnWin: s.deciders.Publish, OnEmpty: s.bus.Dry, Amounts: s.amounts,
	}
	if mode == confirm.Stream {
		o.OnWin = nil // JetStream has the entry by then
	}
	s.gates = grab.NewGates(s.redis, s.confirmer, gateway.Results{Lobby: s.lobby}.Answer, o)
	if err := s.redis.Load(ctx); err != nil {
		return fmt.Errorf("load the scripts: %w", err)
	}
	if s.cfg.Redis != "" {
		for _, f := range doctor.Masters(ctx, s.redis, mode.String()) {
			if f.Level != health.OK {
				s.log.Warn("a setting of Redis endangers money", "check", f.Check, "warning", f.Text)
			}
		}
	}
	return nil
}
