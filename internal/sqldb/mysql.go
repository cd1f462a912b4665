package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The pool of one process. A node posts with a handful of workers and answers lists; more connections would only wait
// for each other's row locks.
const (
	mysqlConns    = 32
	mysqlIdle     = 16
	mysqlIdleTime = 5 * time.Minute // below wait_timeout and the idle limits of usual proxies
)

// OpenMySQL opens a MySQL or MariaDB database from a DSN of go-sql-driver. It does not connect yet: see [DB.Ping].
//
// What the DSN leaves open is set so that a dead server is an error within seconds (dial 3 s, reads 30 s, row locks 5 s)
// and that no value is cut or changed silently (strict mode). Always set are interpolated parameters (one round trip for
// each statement), rows counted when found and not when changed, and READ COMMITTED.
func OpenMySQL(dsn string) (*DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("the MySQL data source name: %w", err)
	}
	if cfg.DBName == "" {
		return nil, errors.New("the MySQL data source name: it names no database")
	}
	prepareConfig(cfg)
	base, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("the MySQL data source name: %w", err)
	}
	pool := sql.OpenDB(readCommitted{base})
	pool.SetMaxOpenConns(mysqlConns)
	pool.SetMaxIdleConns(mysqlIdle)
	pool.SetConnMaxIdleTime(mysqlIdleTime)
	return &DB{dialect: MySQL, writer: pool, reader: pool}, nil
}

func prepareConfig(cfg *mysql.Config) {
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true
	cfg.MultiStatements = false
	cfg.Logger = &mysql.NopLogger{} // what it would print is in the errors too
	if cfg.Timeout == 0 {
		cfg.Timeout = 3 * time.Second
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 30 * time.Second // longer than any statement that is meant; shorter ones have contexts
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

// readCommitted sets the isolation once for each connection. As a DSN parameter it would need a variable that MySQL 8 and
// MariaDB 10.11 name differently; as an option of each transaction it would cost a round trip every time.
type readCommitted struct{ driver.Connector }

// Connect implements driver.Connector.
func (c readCommitted) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("sqldb: the driver cannot execute statements"), conn.Close())
	}
	if _, err := exec.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
