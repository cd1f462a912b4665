package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/server/config"
	"redrain/server/timeout"
)

// backends are Redis, NATS and SQL: external ones, or in-process ones. The clients are the same for both.
type backends struct {
	newest secrets
	redis  redis.UniversalClient
	guard  *store.Guard
	nats   *nats.Conn
	sql    *sqldb.DB
	dir    *embedded.Dir        // the data directory of the in-process back ends; nil: none
	own    *embedded.NATSServer // nil with --nats

	closers []func()
}

// SetUpLibraries makes libraries log to log instead of standard error, and HTTP clients notice dead connections. It
// changes the complete process, so the program calls it before New.
func SetUpLibraries(log *slog.Logger) {
	store.LogClient(log)
	// Over HTTP/2 a connection whose other end has vanished would fail all requests for a quarter of an hour.
	//nolint:forcetypeassert // the standard library's
	http.DefaultTransport.(*http.Transport).HTTP2 = &http.HTTP2Config{
		SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second,
	}
}

// errBackend means that a back end did not work in time at start.
var errBackend = errors.New("does not work")

// openDir locks the data directory for this process, if one is configured.
func (b *backends) openDir(cfg *config.Config) (err error) {
	if cfg.DataDir == "" {
		return nil
	}
	if b.dir, err = embedded.OpenDir(cfg.DataDir); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	b.onClose(func() { _ = b.dir.Close() })
	return nil
}

// connect connects to every back end, and waits for those that are not up yet. It generates the secrets that the
// in-process default does not require.
func connect(ctx context.Context, cfg *config.Config, newest secrets, log *slog.Logger) (_ *backends, err error) {
	b := &backends{newest: newest}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := b.openDir(cfg); err != nil {
		return nil, err
	}
	if err := generateSecrets(cfg, b.dir); err != nil {
		return nil, fmt.Errorf("--data-dir: %w", err)
	}
	for _, step := range []struct {
		name    string
		connect func(context.Context, *config.Config, *slog.Logger) error
	}{{"redis", b.connectRedis}, {"nats", b.connectNATS}, {"--data-dir", b.checkDir}, {"mysql", b.connectSQL}} {
		if err := step.connect(ctx, cfg, log); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b, nil
}

// generateSecrets generates the missing secrets of the in-process default. If there is a data directory, they are
// stored there. Then players' tokens and the console's address stay valid after a restart.
func generateSecrets(cfg *config.Config, dir *embedded.Dir) (err error) {
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

func (b *backends) connectRedis(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	addr := cfg.Redis
	if addr == "" {
		own, err := embedded.Redis()
		if err != nil {
			return err
		}
		b.onClose(own.Close)
		addr = own.Addr()
	}
	return await(ctx, cfg.BackendWait, log, "redis", func(ctx context.Context) (err error) {
		if b.redis == nil {
			rdb, err := store.ConnectAs(ctx, addr, b.newest.of("redis", addr))
			if err != nil {
				return err
			}
			b.redis, b.guard = rdb, store.NewGuard(rdb)
			b.onClose(func() { _ = rdb.Close() })
		}
		return b.redis.Ping(ctx).Err()
	})
}

func (b *backends) connectNATS(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	options, err := natsOptions(cfg, log)
	if err != nil {
		return err
	}
	addrs := cfg.NATS
	if b.newest["nats"] != nil {
		var login nats.Option
		addrs, login = natsLogin(cfg.NATS, b.newest["nats"])
		options = append(options, login)
	}
	dial := func() (*nats.Conn, error) { return nats.Connect(addrs, options...) }
	if cfg.NATS == "" {
		store := ""
		if b.dir != nil {
			store = b.dir.NATS()
		}
		own, err := embedded.NATS(store)
		if err != nil {
			return err
		}
		b.own = own
		b.onClose(func() {
			if err := own.Close(); err != nil {
				log.Warn("the in-process NATS server left something behind", "err", err)
			}
		})
		dial = func() (*nats.Conn, error) { return own.Connect(options...) }
	}
	err = await(ctx, cfg.BackendWait, log, "nats", func(context.Context) (err error) {
		b.nats, err = dial()
		return err
	})
	if err == nil {
		b.onClose(b.nats.Close)
	}
	return err
}

// checkDir checks the data directory for lost parts, before the back ends create missing ones. The stream is created
// after the ledger, so a directory with a stream has had a ledger.
func (b *backends) checkDir(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if b.dir == nil || cfg.NATS != "" || cfg.MySQL != "" {
		return nil
	}
	js, err := jetstream.New(b.nats)
	if err != nil {
		return err
	}
	names := js.StreamNames(ctx)
	streams := 0
	for range names.Name() {
		streams++
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("the streams in %s: %w", b.dir.NATS(), err)
	}
	_, err = os.Stat(b.dir.Ledger())
	switch none := errors.Is(err, os.ErrNotExist); {
	case none && streams > 0:
		return fmt.Errorf("%s is gone, and with it all balances; restore it from a backup, or choose an empty "+
			"directory", b.dir.Ledger())
	case err == nil && streams == 0:
		log.Warn("the data directory has a ledger and no stream; reported wins that had not reached the ledger "+
			"are lost", "missing", b.dir.NATS())
	case !none:
		return err
	}
	return nil
}

func (b *backends) connectSQL(ctx context.Context, cfg *config.Config, log *slog.Logger) (err error) {
	switch {
	case cfg.MySQL != "":
		b.sql, err = sqldb.OpenMySQLAs(cfg.MySQL, b.newest.of("mysql", cfg.MySQL))
	case b.dir != nil:
		b.sql, err = sqldb.OpenSQLite(b.dir.Ledger())
	default:
		b.sql, err = sqldb.OpenSQLite("")
	}
	if err != nil {
		return err
	}
	b.onClose(func() { _ = b.sql.Close() })
	if err := await(ctx, cfg.BackendWait, log, "mysql", b.sql.Ping); err != nil {
		return err
	}
	return b.sql.Migrate(ctx)
}

func (b *backends) onClose(f func()) { b.closers = append(b.closers, f) }

// close closes in the reverse order of opening: clients before their servers.
func (b *backends) close() {
	for _, v := range slices.Backward(b.closers) {
		v()
	}
	b.closers = nil
}

// await retries until a back end works, for at most patience. It does not retry if the address is at fault.
func await(asked context.Context, patience time.Duration, log *slog.Logger, name string,
	try func(context.Context) error) error {
	const every = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(asked, patience)
	defer cancel()
	var reason error
	for {
		one, done := context.WithTimeout(ctx, timeout.Backend)
		err := try(one)
		done()
		if _, isFinal := errors.AsType[store.AddressError](err); err == nil || isFinal {
			return err
		}
		if reason == nil {
			log.Info("waiting for a back end", "backend", name, "for", patience.String(), "err", err)
		}
		if reason == nil || !errors.Is(err, context.DeadlineExceeded) { // the last try may be cut short
			reason = err
		}
		select {
		case <-ctx.Done():
			if asked.Err() != nil {
				return asked.Err() // the caller does not wait any more; the back end may be fine
			}
			return fmt.Errorf("%w within %s: %w", errBackend, patience, reason)
		case <-time.After(every):
		}
	}
}

// MigrateOptions are the options of Migrate and Migrations.
type MigrateOptions struct {
	MySQL string        // a go-sql-driver DSN
	Wait  time.Duration // longest wait for the database
	Log   *slog.Logger
}

// Migrate migrates a database's tables to this version. Every process does so at its start; Migrate is a separate step,
// perhaps as another database user. It returns the migrations with their state before it.
func Migrate(ctx context.Context, o MigrateOptions) ([]sqldb.Migration, error) {
	return o.open(ctx, func(db *sqldb.DB) error { return db.Migrate(ctx) })
}

// Migrations lists the migrations of a database's tables, and changes nothing.
func Migrations(ctx context.Context, o MigrateOptions) ([]sqldb.Migration, error) {
	return o.open(ctx, func(*sqldb.DB) error { return nil })
}

// open connects to the database, and lists its migrations before it calls then.
func (o MigrateOptions) open(ctx context.Context, then func(*sqldb.DB) error) (all []sqldb.Migration, err error) {
	db, err := sqldb.OpenMySQL(o.MySQL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	if err := await(ctx, o.Wait, o.Log, "mysql", db.Ping); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	if all, err = db.Migrations(ctx); err != nil {
		return nil, err
	}
	return all, then(db)
}
