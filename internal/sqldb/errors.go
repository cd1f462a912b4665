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
)

// errNoConnection means that a transaction has got no connection of the pool: all of them wait.
var errNoConnection = errors.New("no connection to the database has become free")

// IsBusy reports whether a statement has waited in vain for a row, a table or a connection that others use. A retry
// may succeed in a moment.
func IsBusy(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == mysqlLockTimeout
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == sqlite3.SQLITE_BUSY
	}
	return errors.Is(err, errNoConnection)
}

// IsDuplicate reports whether a statement failed because a row with the same unique key exists.
func IsDuplicate(err error) bool {
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		return e.Number == mysqlDuplicate
	}
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		return e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
	}
	return false
}

// IsRefused reports whether the database will never execute a statement, because its data break a constraint or do
// not fit. It is false for conditions that pass, such as a server that is down, read only or full.
func IsRefused(err error) bool {
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		switch e.Number {
		case mysqlDuplicate,
			1048, // a column cannot be null
			1153, // the packet is larger than max_allowed_packet
			1264, // out of range for the column
			1292, // incorrect value
			1366, // incorrect string
			1406, // too long for the column
			1452, // a foreign key
			1644, // a trigger's SIGNAL
			1690, // BIGINT out of range in an expression
			3819, // CHECK, on MySQL
			4025: // CHECK, on MariaDB
			return true
		}
		return false
	}
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE:
			return true
		}
	}
	return false
}

// mysqlDenied are the error numbers of MySQL and MariaDB for missing rights.
var mysqlDenied = []uint16{
	1044, // with a database
	1142, // with a table
	1143, // with a column
	1227, // on the server
}

func isDenied(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(mysqlDenied, e.Number)
}

// isNoTable reports whether a query has failed because a table is missing.
func isNoTable(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == 1146
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(e.Error(), "no such table")
}

// scanError is a row that does not fit its destination.
type scanError struct{ error }

func (e *scanError) Unwrap() error { return e.error }

// mysqlOutOfRange is the error number of a sum or an expression that does not fit a BIGINT.
const mysqlOutOfRange = 1690

// IsUnreadable reports whether a query has failed because of the rows' content, so that every retry fails. Examples
// are a value that does not fit its type, or a sum that does not fit a BIGINT.
func IsUnreadable(err error) bool {
	if _, ok := errors.AsType[*scanError](err); ok {
		return true
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == mysqlOutOfRange
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(e.Error(), "integer overflow")
}

// again reports whether a transaction has changed nothing and may succeed at the next try. Lock timeouts are not
// among them.
func again(err error) bool {
	if IsBusy(err) {
		return false
	}
	if errors.Is(err, ErrAgain) {
		return true
	}
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		return e.Number == mysqlDeadlock || e.Number == mysqlRecordChanged
	}
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		code := e.Code() & 0xff
		return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
	}
	return false
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
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(mysqlAbsent, e.Number)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, context.DeadlineExceeded)
}
