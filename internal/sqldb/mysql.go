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

// The connection pools of one process. A node posts with a handful of workers and answers lists; more connections
// would only wait for each other's row locks.
const (
	mysqlWriters  = 24
	mysqlReaders  = 12
	mysqlIdle     = 12
	mysqlIdleTime = 5 * time.Minute // below the idle limits of usual proxies
)

// OpenMySQL opens a MySQL or MariaDB database from a DSN of go-sql-driver. It does not connect yet: see [DB.Ping].
//
// The defaults of the DSN's options are such that a dead server is an error within seconds (dial 3 s, reads 30 s).
// Always set are rows counted when found and not when changed, and the session of server.session. It sets its
// character set, its SQL mode and READ COMMITTED, and limits with which no node stops the others. Options that would
// change the meaning of statements are refused with an [OptionError].
func OpenMySQL(dsn string) (*DB, error) {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse the MySQL data source name: %w", err)
	}
	prepareConfig(cfg)
	single, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("parse the MySQL data source name: %w", err)
	}
	cfg.MultiStatements = true // only in migrations: each of their files is sent in one piece
	multiple, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("parse the MySQL data source name: %w", err)
	}
	db := &DB{dialect: MySQL, patience: lockWait}
	open := func(base driver.Connector, use use, conns int) *sql.DB {
		c := &connector{Connector: base, db: db, use: use, given: cfg.Params}
		c.pool = sql.OpenDB(c)
		c.pool.SetMaxOpenConns(conns)
		c.pool.SetMaxIdleConns(mysqlIdle)
		c.pool.SetConnMaxIdleTime(mysqlIdleTime)
		return c.pool
	}
	db.writer, db.reader = open(single, writes, mysqlWriters), open(single, reads, mysqlReaders)
	db.migrator = func() *sql.DB { return open(multiple, migrates, 2) } // one holds the lock
	return db, nil
}

// connector sets up each connection of a pool, once.
type connector struct {
	driver.Connector

	db    *DB
	pool  *sql.DB
	use   use
	given map[string]string // variables that the DSN sets
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	session, ok := conn.(mysqlConn)
	if !ok {
		return nil, errors.Join(errors.New("sqldb: the driver cannot execute statements"), conn.Close())
	}
	if err := c.prepare(ctx, session); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return textConn{session}, nil
}

// prepare finds the kind of the server, and sets the session's variables.
func (c *connector) prepare(ctx context.Context, session mysqlConn) error {
	version, err := ask(ctx, session, "SELECT VERSION()")
	if err != nil {
		return err
	}
	is := serverOf(version)
	c.db.returning.Store(is.returning)
	if is.idleTime < mysqlIdleTime && c.use == writes {
		c.pool.SetConnMaxIdleTime(is.idleTime)
	}
	for _, statement := range is.session(c.use, c.given) {
		if _, err := session.ExecContext(ctx, statement, nil); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	// A proxy between redrain and the server may hide the variable.
	if got, err := ask(ctx, session, "SELECT CONCAT(@@character_set_client, ' ', @@sql_mode)"); err != nil {
		return err
	} else if want := "utf8mb4 " + sqlMode; got != want {
		return fmt.Errorf("the session has %q, want %q: something between redrain and the server changes it", got, want)
	}
	return nil
}

// ask returns the only text that a query finds.
func ask(ctx context.Context, session mysqlConn, query string) (string, error) {
	rows, err := session.QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	found := make([]driver.Value, 1)
	if err := errors.Join(rows.Next(found), rows.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s", found[0]), nil
}
