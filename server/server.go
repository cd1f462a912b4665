package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/internal/auth"
	"redrain/internal/embedded"
	"redrain/payout"
	"redrain/rain"
	"redrain/room"
)

// Server is one redrain process.
type Server struct {
	cfg      Config
	log      *slog.Logger
	out      io.Writer
	back     *backends
	listener net.Listener
	http     *http.Server
	health   *health
	deadline atomic.Pointer[time.Time] // of the shutdown, once it has begun

	clock     *grab.Clock
	grabber   *grab.Grabber
	ledger    *payout.Ledger
	relay     *payout.Relay
	settler   *payout.Settler
	payer     *payout.Payer
	registry  *registry
	keeper    *keeper
	rebuilder *rebuilder
	reclaimer *reclaimer
	lobby     *room.Lobby
	rainmaker *rainmaker
	gateway   *gateway
	figures   *figures
	events    *events
	books     *reconciler
	demo      *demo // nil without one
	players   *auth.Players
}

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

	s.clock = grab.NewClock(s.back.redis, log)
	if err := s.clock.Sync(ctx); err != nil {
		return fmt.Errorf("reading the cluster's time: %w", err)
	}
	now := rain.Clock(s.clock.Now)
	ctl := &control{nc: s.back.nats, ns: s.cfg.Namespace, log: log}
	s.ledger = payout.NewLedger(s.back.sql, now)
	s.registry = newRegistry(s.ledger, log)

	confirm, err := grab.ParseConfirm(s.cfg.ConfirmMode())
	if err != nil {
		return err
	}
	s.grabber = grab.New(s.back.redis, grab.Options{
		Namespace: s.cfg.Namespace, TapRate: s.cfg.TapRate, Clock: now, Log: log, Registerer: reg,
		Confirm:   confirm,
		Publish:   func(ctx context.Context, e rain.Entry) error { return s.relay.Publish(ctx, e) },
		OnWin:     func(campaign string, shard int) { s.relay.Wake(campaign, shard) },
		OnSoldOut: ctl.SoldOut,
	})
	if err := s.grabber.Load(ctx); err != nil {
		return fmt.Errorf("loading the scripts: %w", err)
	}
	if s.cfg.Redis != "" {
		for _, advice := range s.grabber.Advice(ctx) {
			log.Warn("the way Redis is set up endangers money", "advice", advice)
		}
	}
	if err := s.buildPayout(ctl, now, reg, node, log); err != nil {
		return err
	}
	if err := s.buildPayer(ctl, now, reg, log); err != nil {
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
	off := &office{ledger: s.ledger, grabber: s.grabber, registry: s.registry, control: ctl, clock: now, log: log}
	s.keeper = &keeper{office: off, ledger: s.ledger, registry: s.registry, control: ctl, clock: now, log: log}
	s.reclaimer = &reclaimer{
		office: off, ledger: s.ledger, grabber: s.grabber, registry: s.registry, control: ctl, clock: now, holder: node,
		log: log,
	}
	s.rebuilder = &rebuilder{office: off, ledger: s.ledger, settler: s.settler, grabber: s.grabber, control: ctl,
		lives: s.ledger, log: log}
	s.books = newReconciler(&reconciler{
		ledger: s.ledger, hot: s.grabber, node: node, every: s.cfg.ReconcileEvery, alarm: ctl.Alarm, log: log,
	})
	s.events = &events{
		registry: s.registry, figures: s.figures, clock: now, log: log,
		feeds: map[*feed]struct{}{}, told: map[string]told{},
	}
	if s.cfg.Demo && s.cfg.InProcess() && s.cfg.Has(RoleOperator) {
		s.demo = &demo{office: off, ledger: s.ledger, registry: s.registry, lobby: s.lobby, figures: s.figures,
			clock: now, log: log}
	}
	s.health = &health{checks: s.back.checks(), log: log}
	s.http = &http.Server{
		Handler: s.handler(&api{
			cfg: &s.cfg, office: off, ledger: s.ledger, grabber: s.grabber, registry: s.registry, figures: s.figures,
			events: s.events, books: s.books,
			players: s.players, rebuilder: s.rebuilder, operators: auth.NewOperators(s.cfg.OperatorToken,
				s.cfg.ViewerToken), demo: s.demo, previews: newPreviews(), clock: now, log: log,
			wakePayer: s.payer.Wake, lan: s.lanURL,
		}, reg),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.registry.changed = append(s.registry.changed, s.campaignChanged, s.rainmaker.Changed, s.events.Changed)
	tell := &teller{lobby: s.lobby, arrivals: s.gateway.arrivals, figures: s.figures, registry: s.registry,
		grabber: s.grabber}
	return ctl.Listen(listener{
		changed: s.heardChange,
		settled: tell.Settled,
		soldOut: func(campaign string, shard int) {
			if c := s.registry.Cached(campaign); c != nil {
				s.grabber.Gate(c).SoldOut(shard)
			}
		},
		restocked: func(campaign string) {
			if c := s.registry.Cached(campaign); c != nil {
				s.grabber.Gate(c).Restocked()
			}
		},
		alarm:     s.events.Alarm,
		withdrawn: tell.Withdrawn,
	})
}

func (s *Server) buildPayout(ctl *control, now rain.Clock, reg prometheus.Registerer, node string,
	log *slog.Logger) error {
	js, err := jetstream.New(s.back.nats)
	if err != nil {
		return fmt.Errorf("opening JetStream: %w", err)
	}
	if err := s.ledger.Register(reg); err != nil {
		return err
	}
	s.relay, err = payout.NewRelay(js, s.grabber, s.registry, payout.RelayOptions{
		Namespace: s.cfg.Namespace, Node: node, Log: log, Registerer: reg,
	})
	if err != nil {
		return err
	}
	tell := &notifier{grabber: s.grabber, control: ctl, log: log}
	s.settler, err = payout.NewSettler(js, s.ledger, s.grabber, tell, payout.SettlerOptions{
		Namespace: s.cfg.Namespace, Clock: now, Log: log, Registerer: reg, Attempts: s.cfg.PayoutAttempts,
		OnCut: func(cuts []payout.ReclaimCut) {
			for _, c := range cuts {
				ctl.Alarm("reclaim_cut", c.Ref.Campaign, c.Reason)
			}
		},
		OnAdvisory: func(a payout.Advisory) {
			ctl.Alarm(string(a.Kind), "", fmt.Sprintf("JetStream does not deliver message %d of stream %s any more, after %d deliveries: %s",
				a.StreamSeq, a.Stream, a.Deliveries, cmp.Or(a.Reason, "no reason was given")))
		},
		OnDead: func(letters []payout.DeadLetter) {
			for _, d := range letters {
				ctl.Alarm("dead_letter", d.Campaign, "a payout waits for a person: "+d.Reason)
			}
		},
		OnVoid: func(letters []payout.DeadLetter) { alarmVoid(ctl, letters) },
	})
	return err
}

func (s *Server) buildRooms(now rain.Clock, reg prometheus.Registerer, node string, log *slog.Logger) {
	tally := newCounts()
	s.lobby = room.NewLobby(room.Options{
		Log: log, Registerer: reg,
		OnOpen:  func(campaign string) { s.rainmaker.Open(campaign) },
		OnEmpty: func(campaign string) { s.rainmaker.Empty(campaign) },
	})
	s.registry.forgotten = s.grabber.Drop
	s.registry.inUse = func(campaign string) bool { return s.lobby.Room(campaign) != nil || s.events.watched(campaign) }
	s.rainmaker = newRainmaker(now, s.registry, s.lobby)
	s.gateway = newGateway(&gateway{
		cfg: &s.cfg, players: s.players, registry: s.registry, grabber: s.grabber, ledger: s.ledger, lobby: s.lobby,
		counts: tally, metrics: newMetrics(reg), clock: now, log: log,
	})
	s.figures = newFigures(&figures{
		node: node, grabber: s.grabber, ledger: s.ledger, registry: s.registry, lobby: s.lobby, counts: tally,
		clock: now, log: log,
	})
}

// campaignChanged brings the tap's way up to a campaign's version.
func (s *Server) campaignChanged(c *rain.Campaign) {
	if c.Drained {
		s.grabber.Drop(c.ID)
		return
	}
	s.grabber.Gate(c).Update(c)
}

// heardChange follows what another node, or this one, has said of a campaign.
func (s *Server) heardChange(campaign string, revision int64) {
	if c := s.registry.Cached(campaign); c != nil && c.Revision >= revision {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), backendTimeout)
	defer cancel()
	if _, err := s.registry.Reload(ctx, campaign); err != nil {
		s.log.Warn("a changed campaign cannot be read; the next refresh will", "campaign", campaign, "err", err)
	}
}
