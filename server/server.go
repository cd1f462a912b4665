package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/embedded"
	"redrain/internal/rounds"
	"redrain/payout/ledger"
	"redrain/payout/pipeline"
	"redrain/payout/reconcile"
	"redrain/rain"
	"redrain/room"
	"redrain/server/api"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/gateway"
	"redrain/server/live"
)

// New connects to the back ends, waiting for those that are not up yet, and listens. out gets what an operator who
// starts the process by hand needs to read. Close what New returned by Run.
func New(ctx context.Context, cfg Config, log *slog.Logger, out io.Writer) (_ *Server, err error) {
	if faults := cfg.Validate(); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	s := &Server{cfg: cfg, log: log, out: out}
	if s.back, err = connect(ctx, &s.cfg, log); err != nil {
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
	if s.cfg.Redis == "" { // it has just begun to exist, and knows nothing
		if err := s.rebuilder.RebuildAll(ctx); err != nil {
			return nil, fmt.Errorf("restoring the campaigns: %w", err)
		}
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen); err != nil {
		return nil, fmt.Errorf("listening: %w; choose another address with --listen", err)
	}
	return s, nil
}

// generateSecrets fills in what the in-process default need not be given. The secrets live as long as the rest of
// it: with a data directory they are kept there, so that players' tokens and the console's address are good after a
// restart.
func generateSecrets(cfg *Config, dir *embedded.Dir) (err error) {
	if !cfg.InProcess() {
		return nil
	}
	secret := func(_ string, generate func() string) (string, error) { return generate(), nil }
	if dir != nil {
		secret = dir.Secret
	}
	if cfg.OperatorToken == "" {
		if cfg.OperatorToken, err = secret("operator-token",
			func() string { return strings.ToLower(rand.Text()) }); err != nil {
			return err
		}
	}
	if cfg.JWTSecret == "" {
		cfg.JWTSecret, err = secret("jwt-secret", func() string { return rand.Text() + rand.Text() })
	}
	return err
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// build makes every actor and introduces them to each other. grab and payout meet here and nowhere else.
func (s *Server) build(ctx context.Context) error {
	reg := prometheus.NewRegistry()
	node := "n" + strings.ToLower(rand.Text()[:12])
	log := s.log.With("node", node)

	s.clock = store.NewClock(s.back.redis, log)
	if err := s.clock.Sync(ctx); err != nil {
		return fmt.Errorf("reading the cluster's time: %w", err)
	}
	now := rain.Clock(s.clock.Now)
	bus := cluster.NewBus(s.back.nats, s.cfg.Namespace, log)
	guard, err := rounds.NewGuard(reg, log, func(part, message string) { bus.Alarm("panic", "", message) })
	if err != nil {
		return err
	}
	s.guard = guard
	s.ledger = ledger.New(s.back.sql, now)
	s.books = reconcile.New(s.back.sql, s.ledger.Campaigns, now)
	s.known = cluster.NewKnown()

	js, err := jetstream.New(s.back.nats)
	if err != nil {
		return fmt.Errorf("opening JetStream: %w", err)
	}
	publisher, err := pipeline.NewPublisher(js, s.cfg.Namespace, log)
	if err != nil {
		return err
	}
	wakes := pipeline.NewWakes()
	if err := s.buildGrab(bus, publisher, wakes, now, reg, log); err != nil {
		return err
	}
	if err := s.grabber.Load(ctx); err != nil {
		return fmt.Errorf("loading the scripts: %w", err)
	}
	if s.cfg.Redis != "" {
		for _, warning := range append(s.grabber.Store.Warnings(ctx), s.grabber.Confirmer.Warnings(ctx)...) {
			log.Warn("the way Redis is set up endangers money", "warning", warning)
		}
	}
	s.relay = pipeline.NewRelay(publisher, wakes, s.grabber, s.known, pipeline.RelayOptions{
		Node: node, Guard: guard, Log: log, Registerer: reg,
	})
	if err := s.buildPayout(js, bus, now, reg, log); err != nil {
		return err
	}
	if err := s.buildPayer(bus, now, reg, log); err != nil {
		return err
	}
	s.players, err = auth.NewPlayers(auth.PlayersOptions{
		Secret: s.cfg.JWTSecret, JWKSURL: s.cfg.JWKSURL, Log: log,
		Clock: func() time.Time { return time.UnixMilli(now()) },
	})
	if err != nil {
		return err
	}
	s.buildRooms(now, reg, node, log)
	s.buildCampaigns(bus, now, node, log)
	s.buildHTTP(now, reg, log)
	return bus.Listen(s.guard, cluster.Listener{
		Changed: s.registry.Announce,
		Settled: func(campaign string, n cluster.Settled) {
			s.figures.Won(campaign, n.Claims)
			s.gateway.Settled(campaign, n)
		},
		SoldOut: func(campaign string, shard int) {
			if c := s.known.Cached(campaign); c != nil {
				s.grabber.Gate(c).SoldOut(shard)
			}
		},
		Restocked: func(campaign string) {
			if c := s.known.Cached(campaign); c != nil {
				s.grabber.Gate(c).Restocked()
			}
		},
		Alarm:     s.events.Alarm,
		Withdrawn: s.gateway.Withdrawn,
	})
}

// buildGrab makes the tap's way to Redis and back.
func (s *Server) buildGrab(bus *cluster.Bus, publisher confirm.Publisher, wakes *pipeline.Wakes, now rain.Clock,
	reg prometheus.Registerer, log *slog.Logger) error {
	mode, err := confirm.Parse(s.cfg.ConfirmMode())
	if err != nil {
		return err
	}
	s.schedule = live.NewSchedule(now, s.known, s.guard)
	s.lobby = room.NewLobby(room.Options{
		Log: log, Registerer: reg, Guard: s.guard, OnOpen: s.schedule.Open, OnEmpty: s.schedule.Empty,
	})
	redis := store.New(s.back.redis, store.Options{Namespace: s.cfg.Namespace, Clock: now, Log: log})
	answer := gateway.Results{Lobby: s.lobby}.Answer
	s.grabber = newGrabber(redis, confirm.New(redis, mode, publisher, log), answer, grab.Options{
		TapRate: s.cfg.TapRate, Clock: now, Log: log, Registerer: reg,
		OnWin:     wakes.Wake,
		OnSoldOut: bus.SoldOut,
	})
	return nil
}

// buildRooms makes what players see of this node, in the order in which the parts need each other.
func (s *Server) buildRooms(now rain.Clock, reg prometheus.Registerer, node string, log *slog.Logger) {
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	tally := live.NewCounts()
	s.figures = live.NewFigures(live.FiguresOptions{
		Node: node, Sums: s.grabber, Reports: s.grabber, Ranking: s.grabber, Paid: s.ledger.Campaigns, Dead: s.ledger.DeadLetters,
		Known: s.known, Lobby: s.lobby, Counts: tally,
		KeepFor: drainedKept, Guard: s.guard, Clock: now, Log: log,
	})
	s.events = api.NewEvents(
		api.EventsOptions{Campaigns: s.known, Stats: s.figures, Guard: s.guard, Clock: now, Log: log},
	)
	s.registry = cluster.NewRegistry(cluster.RegistryOptions{
		Source: s.ledger.Campaigns, Known: s.known, Guard: s.guard, Log: log,
		Changed:   []func(*rain.Campaign){s.campaignChanged, s.schedule.Changed, s.events.Changed},
		InUse:     func(campaign string) bool { return s.lobby.Room(campaign) != nil || s.events.Watched(campaign) },
		Forgotten: s.grabber.Drop,
	})
	s.gateway = gateway.New(gateway.Options{
		Players: s.players, Campaigns: s.registry, Wins: s.grabber, Claims: s.ledger.Claims, Limits: s.grabber,
		Gate:  func(c *rain.Campaign) gateway.Gate { return s.grabber.Gate(c) },
		Lobby: s.lobby, Counts: tally,
		TapRate: s.cfg.TapRate, HelloRate: s.cfg.HelloRate, MaxConnections: s.cfg.MaxConnections,
		AllowedOrigins: s.cfg.AllowedOrigins, Guard: s.guard, Clock: now, Log: log, Registerer: reg,
	})
}

// buildCampaigns makes the operators' commands and the loops that finish them.
func (s *Server) buildCampaigns(bus *cluster.Bus, now rain.Clock, node string, log *slog.Logger) {
	s.service = campaigns.NewService(campaigns.ServiceOptions{
		Ledger: s.ledger.Campaigns, Stock: s.grabber, Known: s.registry, Bus: bus, Clock: now, Log: log,
	})
	s.loop = campaigns.NewReconcileLoop(campaigns.ReconcileLoopOptions{
		Service: s.service, Ledger: s.ledger.Campaigns, Known: s.registry, Bus: bus, Guard: s.guard, Clock: now, Log: log,
	})
	s.reclaimer = campaigns.NewReclaimer(campaigns.ReclaimerOptions{
		Service: s.service, Ledger: s.ledger.Campaigns, Leases: s.ledger.Leases, Stock: s.grabber, Outbox: s.grabber, Known: s.registry, Bus: bus,
		Clock: now, Node: node, KeepFor: drainedKept, Guard: s.guard, Log: log,
	})
	s.rebuilder = campaigns.NewRebuilder(campaigns.RebuilderOptions{
		Service: s.service, Campaigns: s.ledger.Campaigns, Ledger: s.ledger.Rebuilds, Stream: s.settler, Restorer: s.grabber, Bus: bus, Log: log,
	})
	s.proofs = campaigns.NewProofs(campaigns.ProofsOptions{
		Books: s.books, Campaigns: s.ledger.Campaigns, Leases: s.ledger.Leases, Hot: s.grabber, Node: node,
		Every: s.cfg.ReconcileEvery, Alarm: bus.Alarm, Guard: s.guard, Log: log,
	})
	if s.cfg.Demo && s.cfg.InProcess() && s.cfg.Has(RoleOperator) {
		s.demo = campaigns.NewDemo(campaigns.DemoOptions{
			Service: s.service, Campaigns: s.ledger.Campaigns, Sponsors: s.ledger.Sponsors, Sums: s.grabber,
			Known: s.registry, Online: s.online, Guard: s.guard, Clock: now, Log: log,
		})
	}
}

func (s *Server) buildHTTP(now rain.Clock, reg *prometheus.Registry, log *slog.Logger) {
	o := api.Options{
		Commands: s.service, Rebuilder: s.rebuilder, Proofs: s.proofs, Wins: s.grabber,
		Answers: s.ledger.Answers, Audit: s.ledger.Audit, Claims: s.ledger.Claims, DeadLetters: s.ledger.DeadLetters,
		Failing: s.ledger.Poster, History: s.ledger.Campaigns, Sponsors: s.ledger.Sponsors,
		Withdrawals: s.ledger.Withdrawals,
		Outbox:      s.grabber, Limits: s.grabber, Campaigns: s.registry, Stats: s.figures, Events: s.events,
		Notifier: s.notifier, Players: s.players,
		Operators: auth.NewOperators(s.cfg.OperatorToken, s.cfg.ViewerToken), WakePayer: s.payer.Wake,
		JoinURL: s.lanURL, Version: ReadBuild().Version, InProcess: s.cfg.InProcess(), Guests: s.cfg.GuestsAllowed(),
		GuestRate: s.cfg.GuestRate, Guard: s.guard, Clock: now, Log: log,
	}
	if s.demo != nil {
		o.Demo = s.demo.Campaign
	}
	s.health = &health{checks: s.back.checks(), log: log}
	s.http = &http.Server{
		Handler:           s.handler(api.New(o), s.gateway, reg),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// online is how many players of a campaign are on this node.
func (s *Server) online(campaign string) int {
	if rm := s.lobby.Room(campaign); rm != nil {
		return rm.Online()
	}
	return 0
}

// campaignChanged brings the tap's way up to a campaign's version.
func (s *Server) campaignChanged(c *rain.Campaign) {
	if c.Drained {
		s.grabber.Drop(c.ID)
		return
	}
	s.grabber.Gate(c).Update(c)
}
