package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

//go:embed migrations
var migrations embed.FS

// Migrate creates the tables or brings them up to date. Several nodes may call it at once: one migrates, the others
// wait. A migration that was interrupted is repeated from its beginning. If all migrations are done, the database's
// user needs no right to change tables. Otherwise a user without that right gets ErrMayNotMigrate.
func (db *DB) Migrate(ctx context.Context) error {
	err := db.migrate(ctx)
	if IsDenied(err) {
		err = fmt.Errorf("%w: %w", ErrMayNotMigrate, err)
	}
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// ErrMayNotMigrate is returned to a user who may not migrate the tables.
var ErrMayNotMigrate = errors.New("the tables belong to another version, and this user may not change them; run " +
	"redrain migrate with the --mysql of one who may")

// Migration is one step of the tables to this version.
type Migration struct {
	Name    string `json:"name"`
	Done    bool   `json:"done"`
	IsNewer bool   `json:"newer,omitempty"` // this version does not know it
}

// Migrations lists all migrations in their order, those of a newer version last. It changes nothing.
func (db *DB) Migrations(ctx context.Context) (all []Migration, err error) {
	store, err := database.NewStore(db.gooseDialect(), goose.DefaultTablename)
	if err != nil {
		return nil, err
	}
	done := map[int64]bool{}
	known, err := store.ListMigrations(ctx, db.reader)
	if err != nil && !isNoTable(err) {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	for _, m := range known {
		done[m.Version] = done[m.Version] || m.IsApplied
	}
	provider, err := db.provider(db.reader)
	if err != nil {
		return nil, err
	}
	for _, source := range provider.ListSources() {
		all = append(all, Migration{Name: path.Base(source.Path), Done: done[source.Version]})
		delete(done, source.Version)
	}
	delete(done, 0) // goose's first row
	for _, version := range slices.Sorted(maps.Keys(done)) {
		if done[version] {
			all = append(all, Migration{fmt.Sprintf("%05d of a newer version", version), true, true})
		}
	}
	return all, nil
}

func (db *DB) migrate(ctx context.Context) error {
	if db.dialect == SQLite {
		return db.up(ctx, db.writer)
	}
	pool := db.migrator()
	defer func() { _ = pool.Close() }()
	// The lock belongs to a connection. Goose could take it too, but reads its table of versions before it does.
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	if err := lock(ctx, conn); err != nil {
		return err
	}
	err = makeVersions(ctx, conn)
	if err == nil {
		err = db.up(ctx, pool)
	}
	return errors.Join(err, unlock(context.WithoutCancel(ctx), conn))
}

// leastPacket is the least max_allowed_packet. The longest statement inserts the rows of a batch of payouts.
const leastPacket = 4 << 20

// CheckServer returns an error for settings of a MySQL or MariaDB server with which Migrate refuses to work.
func (db *DB) CheckServer(ctx context.Context) error { return checkServer(ctx, db.reader) }

// checkServer refuses settings of the server with which statements fail for ever.
func checkServer(ctx context.Context, conn interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) error {
	var hasLog bool
	var format string
	var packet int64
	err := conn.QueryRowContext(ctx, "SELECT @@log_bin, @@binlog_format, @@max_allowed_packet").Scan(&hasLog, &format,
		&packet)
	const noVariable = 1193
	switch e, _ := errors.AsType[*mysql.MySQLError](err); {
	case e != nil && e.Number == noVariable: // a newer server may have dropped one of them
		return nil
	case err != nil:
		return err
	case hasLog && format == "STATEMENT":
		return errors.New("the server has binlog_format STATEMENT, with which it refuses to write at the isolation " +
			"level READ COMMITTED; set binlog_format to ROW or MIXED")
	case packet < leastPacket:
		return fmt.Errorf("the server has max_allowed_packet %d, which is too small for a batch of payouts; set it to "+
			"%d or more", packet, leastPacket)
	}
	return nil
}

// makeVersions makes goose's table with its first row, if they are missing. Goose does both in one transaction, but
// MySQL commits at each CREATE TABLE. If the row fails, goose hides the cause and does not accept the table afterwards.
func makeVersions(ctx context.Context, conn *sql.Conn) error {
	store, err := database.NewStore(database.DialectMySQL, goose.DefaultTablename)
	if err != nil {
		return err
	}
	known, err := store.ListMigrations(ctx, conn)
	if isNoTable(err) {
		err = store.CreateVersionTable(ctx, conn)
	}
	if err != nil || len(known) > 0 {
		return err
	}
	return store.Insert(ctx, conn, database.InsertRequest{Version: 0})
}

func (db *DB) gooseDialect() goose.Dialect {
	if db.dialect == SQLite {
		return goose.DialectSQLite3
	}
	return goose.DialectMySQL
}

func (db *DB) provider(pool *sql.DB) (*goose.Provider, error) {
	folder := map[Dialect]string{MySQL: "migrations/mysql", SQLite: "migrations/sqlite"}[db.dialect]
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(db.gooseDialect(), pool, files, goose.WithDisableGlobalRegistry(true))
}

func (db *DB) up(ctx context.Context, pool *sql.DB) error {
	provider, err := db.provider(pool)
	if err == nil {
		_, err = provider.Up(ctx)
	}
	return err
}

// lockName names the lock between nodes. Names are shared by all databases of a server.
const lockName = "CONCAT('redrain.migrate.', MD5(DATABASE()))"

// lock takes a named lock of the server. The server frees it when the connection ends, so a node that dies while it
// migrates blocks no other node. It asks once a second, so that no time limit of the connection interrupts it.
func lock(ctx context.Context, conn *sql.Conn) error {
	for range 60 {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", 1)").Scan(&got); err != nil {
			return fmt.Errorf("wait for the migrating node: %w", err)
		}
		if got.Int64 == 1 {
			return nil
		}
	}
	return errors.New("another node has been migrating for a minute")
}

func unlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+lockName+")")
	return err
}
