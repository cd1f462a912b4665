package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The connection pool of one process. A node posts with a handful of workers and answers lists; more connections would
// only wait for each other's row locks.
const (
	mysqlConns    = 32
	mysqlIdle     = 16
	mysqlIdleTime = 5 * time.Minute // below wait_timeout and the idle limits of usual proxies
)

// OpenMySQL opens a MySQL or MariaDB database from a DSN of go-sql-driver. It does not connect yet: see [DB.Ping].
//
// The defaults of the DSN's options are such that a dead server is an error within seconds (dial 3 s, reads 30 s, row
// locks
// 5 s) and that no value is cut or changed silently (strict mode). Always set are interpolated parameters (one
// round trip for each statement), rows counted when found and not when changed, and READ COMMITTED.
func OpenMySQL(dsn string) (*DB, error) {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("the MySQL data source name: %w", err)
	}
	prepareConfig(cfg)
	base, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("the MySQL data source name: %w", err)
	}
	db := &DB{dialect: MySQL}
	pool := sql.OpenDB(connector{base, &db.returning})
	pool.SetMaxOpenConns(mysqlConns)
	pool.SetMaxIdleConns(mysqlIdle)
	pool.SetConnMaxIdleTime(mysqlIdleTime)
	db.writer, db.reader = pool, pool
	return db, nil
}

// ErrNoDatabase is returned for a DSN that names no database.
var ErrNoDatabase = errors.New("it names no database")

// CheckMySQL returns an error for a DSN that OpenMySQL refuses: ErrNoDatabase, or what is wrong with its form.
func CheckMySQL(dsn string) error {
	_, err := parseDSN(dsn)
	return err
}

func parseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err == nil && cfg.DBName == "" {
		err = ErrNoDatabase
	}
	return cfg, err
}

func prepareConfig(cfg *mysql.Config) {
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true
	cfg.MultiStatements = false
	cfg.Logger = &mysql.NopLogger{} // the errors say the same
	if cfg.Timeout == 0 {
		cfg.Timeout = 3 * time.Second
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 30 * time.Second // longer than any intended statement; contexts limit the shorter ones
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 5 * time.Second
	}
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	for name, value := range map[string]string{
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"innodb_lock_wait_timeout": "5",
	} {
		if _, given := cfg.Params[name]; !given {
			cfg.Params[name] = value
		}
	}
}

// connector sets up each connection, once.
type connector struct {
	driver.Connector

	returning *atomic.Bool
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// prepare sets the isolation and asks for the server's version. As a DSN parameter the isolation would need a variable
// that MySQL 8 and MariaDB 10.11 name differently, and as an option of each transaction it would cost a round trip.
func (c connector) prepare(ctx context.Context, conn driver.Conn) error {
	session, ok := conn.(interface {
		driver.ExecerContext
		driver.QueryerContext
	})
	if !ok {
		return errors.New("sqldb: the driver cannot execute statements")
	}
	if _, err := session.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return err
	}
	rows, err := session.QueryContext(ctx, "SELECT VERSION()", nil)
	if err != nil {
		return err
	}
	version := make([]driver.Value, 1)
	if err := errors.Join(rows.Next(version), rows.Close()); err != nil {
		return err
	}
	c.returning.Store(hasReturning(fmt.Sprintf("%s", version[0])))
	return nil
}

// hasReturning tells whether a server of this version knows INSERT … RETURNING: MariaDB does from 10.5 on, MySQL
// does not.
func hasReturning(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || !strings.Contains(version, "MariaDB") {
		return false
	}
	return major > 10 || (major == 10 && minor >= 5)
}
