package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The connection pools of one process. A node posts with a handful of workers and answers lists; more connections
// would only wait for each other's row locks.
const (
	mysqlWriters = 24
	mysqlReaders = 12
	// MySQLConnections is the most connections that one process opens.
	MySQLConnections = mysqlWriters + mysqlReaders

	mysqlIdle     = 12
	mysqlIdleTime = 5 * time.Minute // below the idle limits of usual proxies
	// mysqlLife is the life of a connection. After a switchover the name leads to another server, and one that was the
	// primary goes on to answer reads.
	mysqlLife = 3 * time.Minute
)

// OpenMySQL opens a MySQL or MariaDB database from a DSN of go-sql-driver. It does not connect yet: see [DB.Ping].
//
// By the defaults of the DSN's options a dead server is an error within seconds (dial 3 s, reads 30 s). See
// server.session for the session. An option that would change the meaning of statements is an [OptionError].
func OpenMySQL(dsn string) (*DB, error) {
	return OpenMySQLAs(dsn, func() string { return dsn })
}

// OpenMySQLAs is OpenMySQL with a user and a password that may change. Each new connection takes them from the DSN that
// newest returns.
func OpenMySQLAs(dsn string, newest func() string) (*DB, error) {
	cfg, err := parseDSN(dsn)
	if err == nil {
		err = cfg.Apply(mysql.BeforeConnect(func(_ context.Context, c *mysql.Config) error {
			now, err := parseDSN(newest())
			if err == nil {
				c.User, c.Passwd = now.User, now.Passwd
			}
			return err
		}))
	}
	if err != nil {
		return nil, fmt.Errorf("parse the MySQL data source name: %w", err)
	}
	reading, err := mysql.NewConnector(cfg)
	cfg.RejectReadOnly = true // a server that has become read-only loses the connection: see again
	writing, err2 := mysql.NewConnector(cfg)
	// Only in migrations: each of their files is sent in one piece.
	cfg.RejectReadOnly, cfg.MultiStatements = false, true
	multiple, err3 := mysql.NewConnector(cfg)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, fmt.Errorf("parse the MySQL data source name: %w", err)
	}
	db := &DB{dialect: MySQL, patience: lockWait}
	open := func(base driver.Connector, use use, conns int) *sql.DB {
		c := &connector{Connector: base, db: db, use: use, given: cfg.Params}
		c.pool = sql.OpenDB(c)
		c.pool.SetMaxOpenConns(conns)
		c.pool.SetMaxIdleConns(mysqlIdle)
		c.pool.SetConnMaxIdleTime(mysqlIdleTime)
		c.pool.SetConnMaxLifetime(mysqlLife)
		return c.pool
	}
	db.writer, db.reader = open(writing, writes, mysqlWriters), open(reading, reads, mysqlReaders)
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
	switchovers := c.db.switchovers.Load()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	session, ok := conn.(session)
	if !ok {
		err = errors.New("sqldb: the driver lacks a part of its interface")
	} else if err = c.prepare(ctx, session); err == nil {
		return &pooled{session, c.db, switchovers}, nil
	}
	return nil, errors.Join(err, conn.Close())
}

// session is a connection of the MySQL driver.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// pooled is a connection that a pool keeps until the next switchover.
type pooled struct {
	session

	db          *DB
	switchovers uint64 // of the database before the connection was made
}

// ResetSession implements driver.SessionResetter: it is called before each use but the first. A connection that
// only reads would not notice by itself that its server is no longer the primary.
func (p *pooled) ResetSession(ctx context.Context) error {
	if p.switchovers != p.db.switchovers.Load() {
		return driver.ErrBadConn
	}
	return p.session.ResetSession(ctx)
}

// prepare finds the kind of the server, and sets the session's variables.
func (c *connector) prepare(ctx context.Context, session session) error {
	version, err := ask(ctx, session, "SELECT VERSION()")
	if err != nil {
		return err
	}
	is := serverOf(version)
	if c.use == writes {
		if err := checkWritable(ctx, session); err != nil {
			return err
		}
	}
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

// errReadOnly refuses a server for the connections that write. It may be a replica, or a primary that has stepped down.
var errReadOnly = errors.New("the database server is read-only")

// checkWritable returns errReadOnly for a read-only server. A user with the right to write to it all the same must not
// use it either: it is not the primary.
func checkWritable(ctx context.Context, session session) error {
	got, err := ask(ctx, session, "SELECT CONCAT(@@read_only, '')") // MariaDB from 12 on has words
	if err == nil && got != "0" && got != "OFF" {
		err = errReadOnly
	}
	return err
}

func ask(ctx context.Context, session session, query string) (string, error) {
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

// ErrNoDatabase is returned for a DSN that names no database.
var ErrNoDatabase = errors.New("it names no database")

// An OptionError is a refused option of a DSN. It has no value, because there may be a secret in it.
type OptionError struct{ Option string }

// Error returns the remedy.
func (e *OptionError) Error() string {
	return fmt.Sprintf("leave out %s: redrain speaks utf8mb4 with every server, sends one statement at once, and sets "+
		"the variables of its connections itself; a DSN may set %s", e.Option, strings.Join(freeVariables, ", "))
}

// CheckMySQL returns an error for a DSN that OpenMySQL refuses: ErrNoDatabase, an *OptionError, or a syntax error.
func CheckMySQL(dsn string) error {
	_, err := parseDSN(dsn)
	return err
}

func parseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err == nil && cfg.DBName == "" {
		err = ErrNoDatabase
	}
	if err != nil {
		return nil, err
	}
	refused := map[string]bool{
		"charset":         !utf8Only(dsn),
		"collation":       cfg.Collation != "" && !strings.HasPrefix(cfg.Collation, "utf8mb4_"),
		"multiStatements": cfg.MultiStatements, "columnsWithAlias": cfg.ColumnsWithAlias,
		"allowAllFiles": cfg.AllowAllFiles, // it lets the server read this machine's files
	}
	for name := range cfg.Params {
		refused[name] = !slices.Contains(freeVariables, name)
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if refused[name] {
			return nil, &OptionError{name}
		}
	}
	cfg.InterpolateParams = true // a prepared statement would cost another round trip
	cfg.ClientFoundRows = true
	cfg.CheckConnLiveness = true
	cfg.RejectReadOnly = false      // OpenMySQL sets it for connections that write
	cfg.Logger = &mysql.NopLogger{} // the errors say the same
	cfg.Timeout = cmp.Or(cfg.Timeout, 3*time.Second)
	cfg.ReadTimeout = cmp.Or(cfg.ReadTimeout, 30*time.Second) // contexts limit shorter statements
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, 5*time.Second)
	return cfg, nil
}

// freeVariables are the server's variables that a DSN may set, because they limit statements and do not change their
// meaning. The others are set by redrain (see server.session) or not supported.
var freeVariables = []string{
	"innodb_lock_wait_timeout", "max_execution_time", "max_statement_time", "wsrep_sync_wait",
}

// utf8Only checks the DSN's charsets, which the driver's Config hides.
func utf8Only(dsn string) bool {
	_, options, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for option := range strings.SplitSeq(options, "&") {
		if name, value, _ := strings.Cut(option, "="); name == "charset" && value != "utf8mb4" {
			return false
		}
	}
	return true
}
