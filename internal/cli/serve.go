package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"redrain/server"
)

// groups order the flags of `redrain serve --help`.
var groups = []kong.Group{
	{Key: "backends", Title: "Back ends", Description: "What is left out is done by a stand-in inside this process."},
	{Key: "access", Title: "Who may do what"},
	{Key: "limits", Title: "Limits"},
	{Key: "money", Title: "Payments outside", Description: "The same on every node with the role settle."},
	{Key: "process", Title: "This process"},
	{Key: "remote", Title: "The server to speak to"},
	{Key: "load", Title: "The load"},
	{Key: "benchrain", Title: "A campaign and a rain of bench's own",
		Description: "With the operator's --token and no --campaign."},
}

// serveCmd runs the server. Its flags are the fields of server.Config.
type serveCmd struct {
	Redis     string `group:"backends" placeholder:"ADDR" help:"Redis: one address, several with commas for a Cluster, or a redis:// or rediss:// URL."`
	NATS      string `group:"backends" name:"nats" placeholder:"URL" help:"NATS with JetStream, such as nats://host:4222; several with commas."`
	MySQL     string `group:"backends" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, such as user:password@tcp(host:3306)/redrain. The database exists; redrain makes its tables."`
	DataDir   string `group:"backends" placeholder:"DIR" help:"Keep on disk what the stand-ins store, so that it survives the process."`
	Namespace string `group:"backends" default:"${namespace}" help:"Prefix of keys and subjects, so that several redrains can share their back ends."`

	OperatorToken  string   `group:"access" placeholder:"TOKEN" help:"Operators' bearer token. Required with real back ends."`
	ViewerToken    string   `group:"access" placeholder:"TOKEN" help:"Bearer token of those who may only read."`
	JWTSecret      string   `group:"access" name:"jwt-secret" placeholder:"SECRET" help:"Secret of players' HS256 tokens."`
	JWKSURL        string   `group:"access" name:"jwks-url" placeholder:"URL" help:"Public keys of players' RS256, ES256 and EdDSA tokens."`
	Guests         *bool    `group:"access" negatable:"" help:"Let anyone play under a generated name. On by default only with the stand-ins."`
	AllowedOrigins []string `group:"access" placeholder:"ORIGIN" help:"Web origins that may open a socket besides the server's own; * for all."`

	TapRate        int     `group:"limits" default:"${tap_rate}" help:"Taps per second and player; 0 for no limit."`
	HelloRate      float64 `group:"limits" default:"${hello_rate}" help:"Players coming in per second and address; 0 for no limit."`
	GuestRate      float64 `group:"limits" default:"${guest_rate}" help:"New guests per second and address; 0 for no limit."`
	MaxConnections int     `group:"limits" default:"${max_connections}" help:"Sockets of this process."`
	PayoutAttempts int     `group:"limits" default:"${payout_attempts}" help:"Tries of a withdrawal that is not answered clearly, or of a win that the ledger refuses, before it becomes a dead letter for an operator to retry."`

	Provider        string        `group:"money" default:"${provider}" help:"What pays withdrawals: wallet (the ledger's entry is the payment) or http (signed requests to --provider-url)."`
	ProviderURL     string        `group:"money" name:"provider-url" placeholder:"URL" help:"Where --provider http asks for payments; https, but on this machine."`
	ProviderSecret  string        `group:"money" placeholder:"SECRET" help:"Secret that signs these requests: whsec_ and 24 to 64 random bytes in base64."`
	ProviderTimeout time.Duration `group:"money" default:"${provider_timeout}" help:"How long one try may take."`

	Listen       string        `group:"process" default:"${listen}" help:"Address of HTTP and WebSocket."`
	Roles        []string      `group:"process" default:"${roles}" help:"What this process does: any of gateway, relay, settle and operator."`
	Confirm      string        `group:"process" placeholder:"MODE" help:"What must have a win before its player is told: redis; replica, those of Redis that could become master as well; or stream, JetStream as well. By default stream with --data-dir, else redis."`
	Demo         bool          `group:"process" default:"${demo}" negatable:"" help:"A demo campaign with rains, where all back ends are stand-ins."`
	DrainTimeout time.Duration `group:"process" default:"${drain_timeout}" help:"How long a shutdown may take."`
	BackendWait  time.Duration `group:"process" default:"${backend_wait}" help:"How long to wait for a back end at start."`
	LogLevel     slog.Level    `group:"process" default:"info" help:"Least level of what is logged: debug, info, warn or error."`
	LogFormat    string        `group:"process" placeholder:"FORMAT" help:"Form of the log on standard error: text or json. By default text on a terminal, else json."`

	ReconcileEvery time.Duration `group:"process" default:"${reconcile_every}" help:"How often one of the nodes proves that every cent is accounted for: the sums each time, every row each tenth time, and the rows of live campaigns in between; 0 for never."`
}

func (s *serveCmd) config() server.Config {
	return server.Config{
		Listen: s.Listen, Redis: s.Redis, NATS: s.NATS, MySQL: s.MySQL, DataDir: s.DataDir, Roles: s.Roles,
		OperatorToken: s.OperatorToken, ViewerToken: s.ViewerToken, JWTSecret: s.JWTSecret, JWKSURL: s.JWKSURL,
		Guests: s.Guests, Confirm: s.Confirm, TapRate: s.TapRate, HelloRate: s.HelloRate, GuestRate: s.GuestRate,
		MaxConnections: s.MaxConnections, AllowedOrigins: s.AllowedOrigins, PayoutAttempts: s.PayoutAttempts,
		Provider: s.Provider, ProviderURL: s.ProviderURL, ProviderSecret: s.ProviderSecret,
		ProviderTimeout: s.ProviderTimeout, Demo: s.Demo, ReconcileEvery: s.ReconcileEvery,
		DrainTimeout: s.DrainTimeout, BackendWait: s.BackendWait, Namespace: s.Namespace,
	}
}

func (s *serveCmd) check() []string {
	var faults []string
	cfg := s.config()
	for _, err := range cfg.Validate() {
		faults = append(faults, err.Error())
	}
	if !validLogFormat(s.LogFormat) {
		faults = append(faults, fmt.Sprintf("--log-format: %q is not text or json", s.LogFormat))
	}
	return faults
}

// errAtOnce ends serve after a second signal.
var errAtOnce = errors.New("stopped at once by a second signal, without draining")

// Run serves until a signal comes, then drains. A second signal returns without waiting; the process is expected to
// exit then.
func (s *serveCmd) Run(app *App) error {
	log := app.newLogger(s.LogFormat, s.LogLevel)
	server.LogLibraries(log)
	collectEarly(s.Roles)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan error, 1)
	go func() { done <- serve(ctx, app, s.config(), log) }()
	select {
	case err := <-done:
		return err
	case sig := <-signals:
		log.Info("asked to stop; once more stops at once", "signal", sig.String())
		cancel()
	}
	select {
	case err := <-done:
		return err
	case <-signals:
		return errAtOnce
	}
}

func serve(ctx context.Context, app *App, cfg server.Config, log *slog.Logger) error {
	srv, err := app.NewServer(ctx, cfg, log, app.Stdout)
	if err == nil {
		err = srv.Run(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it was asked to stop before it had started
	}
	return err
}
