package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrAgain asks [DB.InTx] to roll back and run the transaction again. The transaction's function returns it, wrapped
// or not, if another transaction has changed rows that it had read.
var ErrAgain = errors.New("another transaction was faster")

// Error numbers of MySQL and MariaDB.
const (
	mysqlDuplicate     = 1062
	mysqlLockTimeout   = 1205
	mysqlDeadlock      = 1213
	mysqlRecordChanged = 1020 // MariaDB with innodb_snapshot_isolation
	mysqlOutOfRange    = 1690 // a sum or an expression that does not fit a BIGINT
	mysqlNoVariable    = 1193 // unknown system variable
)

// errNoConnection means that a transaction has got no connection of the pool: all of them wait.
var errNoConnection = errors.New("no connection to the database has become free")

// numbers returns the error number of MySQL or MariaDB, or the extended code of SQLite; 0 if the error is not theirs.
func numbers(err error) (server uint16, lite int) {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number, 0
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return 0, e.Code()
	}
	return 0, 0
}

// IsBusy reports whether a statement waited in vain for a lock or a connection. A retry may succeed in a moment.
func IsBusy(err error) bool {
	server, lite := numbers(err)
	return server == mysqlLockTimeout || lite == sqlite3.SQLITE_BUSY || errors.Is(err, errNoConnection)
}

// IsDuplicate reports whether a statement failed because a row with the same unique key exists.
func IsDuplicate(err error) bool {
	server, lite := numbers(err)
	return server == mysqlDuplicate || lite == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY ||
		lite == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// mysqlRefused are the error numbers of MySQL and MariaDB for data that break a constraint or do not fit.
var mysqlRefused = []uint16{
	mysqlDuplicate,
	1048, // a column cannot be null
	1153, // the packet is larger than max_allowed_packet
	1264, // out of range for the column
	1292, // incorrect value
	1366, // incorrect string
	1406, // too long for the column
	1452, // a foreign key
	1644, // a trigger's SIGNAL
	mysqlOutOfRange,
	3819, // CHECK, on MySQL
	4025, // CHECK, on MariaDB
}

// IsRefused reports whether the database will never execute a statement, because its data break a constraint or do
// not fit. It is false for conditions that pass, such as a server that is down, read only or full.
func IsRefused(err error) bool {
	server, lite := numbers(err)
	return slices.Contains(mysqlRefused, server) || slices.Contains([]int{sqlite3.SQLITE_CONSTRAINT,
		sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE}, lite&0xff)
}

// mysqlDenied are the error numbers of MySQL and MariaDB for missing rights.
var mysqlDenied = []uint16{
	1044, // with a database
	1142, // with a table
	1143, // with a column
	1227, // on the server
}

func isDenied(err error) bool {
	server, _ := numbers(err)
	return slices.Contains(mysqlDenied, server)
}

// isNoTable reports whether a query has failed because a table is missing.
func isNoTable(err error) bool {
	server, lite := numbers(err)
	return server == 1146 || lite != 0 && strings.Contains(err.Error(), "no such table")
}

// scanError is a row that does not fit its destination.
type scanError struct{ error }

func (e *scanError) Unwrap() error { return e.error }

// IsUnreadable reports whether a query has failed because of the rows' content, so that every retry fails. Examples
// are a value that does not fit its type, or a sum that does not fit a BIGINT.
func IsUnreadable(err error) bool {
	if _, ok := errors.AsType[*scanError](err); ok {
		return true
	}
	server, lite := numbers(err)
	return server == mysqlOutOfRange || lite != 0 && strings.Contains(err.Error(), "integer overflow")
}

// again reports whether a transaction changed nothing and may succeed at the next try; lock timeouts do not count.
func again(err error) bool {
	server, lite := numbers(err)
	return !IsBusy(err) && (errors.Is(err, ErrAgain) || server == mysqlDeadlock || server == mysqlRecordChanged ||
		lite&0xff == sqlite3.SQLITE_BUSY || lite&0xff == sqlite3.SQLITE_LOCKED)
}

// mysqlAbsent are the error numbers of MySQL and MariaDB for a server that starts, stops or is overloaded.
var mysqlAbsent = []uint16{
	1040, // too many connections
	1053, // shutdown in progress
	1290, // read only: a replica that was or becomes the primary
	1927, // the connection was killed
	3024, // the statement took too long
	4031, // MySQL has ended a silent connection
}

// IsUnavailable reports whether the database is away for now, so that the same statement may succeed later.
func IsUnavailable(err error) bool {
	if server, _ := numbers(err); server != 0 {
		return slices.Contains(mysqlAbsent, server)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, context.DeadlineExceeded)
}
