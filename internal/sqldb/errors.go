package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrAgain asks [DB.InTx] to roll back and run the transaction again. The transaction's function returns it, wrapped
// or not, if another transaction has changed rows that it had read.
var ErrAgain = errors.New("another transaction was faster")

// errNoConnection means that a transaction has got no connection of the pool: all of them wait.
var errNoConnection = errors.New("no connection to the database has become free")

// meaning is a set of properties of an error.
type meaning int

const (
	duplicate  meaning = 1 << iota // a row with the same unique key exists
	refused                        // the data break a constraint or do not fit: no retry succeeds
	unreadable                     // the rows' content allows no answer
	denied                         // a right is missing
	noTable                        // a table is missing
	locked                         // the statement waited in vain for a lock
	conflict                       // another transaction was faster, and this one was rolled back
	away                           // the server starts, stops, is read only, full or overloaded, or closes connections
)

// mysqlErrors has the error numbers of MySQL and MariaDB, of Galera, and of proxies before them.
var mysqlErrors = map[uint16]meaning{
	1020: conflict,             // MariaDB with innodb_snapshot_isolation: the record has changed
	1021: away,                 // the disk is full
	1040: away,                 // too many connections
	1041: away,                 // out of memory
	1044: denied,               // access to a database
	1045: away,                 // the password is refused: it is being changed
	1047: away,                 // Galera: the node is not ready (WSREP), as during a split of the cluster
	1048: refused,              // a column cannot be null
	1053: away,                 // shutdown in progress
	1062: duplicate | refused,  // a unique key
	1077: away,                 // a normal shutdown
	1114: away,                 // the table, which means the disk, is full
	1129: away,                 // the host is blocked after connection errors
	1135: away,                 // no thread can be created
	1142: denied,               // access to a table
	1143: denied,               // access to a column
	1146: noTable,              // a table is missing
	1152: away,                 // an aborted connection
	1153: refused,              // the packet is larger than max_allowed_packet
	1158: away,                 // the server could not read from the network
	1159: away,                 // the same, in time
	1160: away,                 // the server could not write to the network
	1161: away,                 // the same, in time
	1184: away,                 // an aborted connection
	1203: away,                 // the user has max_user_connections
	1205: locked,               // a lock was not free in time
	1213: conflict,             // a deadlock; Galera: the certification failed
	1226: away,                 // the user has used up a resource for now
	1227: denied,               // a right on the server
	1264: refused,              // out of range for the column
	1290: away,                 // read only: a replica that was or becomes the primary
	1292: refused,              // incorrect value
	1317: away,                 // the statement was interrupted
	1366: refused,              // incorrect string
	1406: refused,              // too long for the column
	1452: refused,              // a foreign key
	1644: refused,              // a trigger's SIGNAL
	1690: unreadable | refused, // a sum or an expression that does not fit a BIGINT
	1698: away,                 // MariaDB: as 1045
	1792: away,                 // a transaction that is read only, as on a replica
	1820: away,                 // the password has expired
	1836: away,                 // read only mode
	1927: away,                 // MariaDB: the connection was killed
	1969: away,                 // MariaDB: max_statement_time
	2002: away,                 // a proxy cannot connect to the server
	2003: away,                 // the same
	2006: away,                 // a proxy: the server has gone away
	2013: away,                 // a proxy: the connection to the server was lost
	3024: away,                 // MySQL: max_execution_time
	3101: conflict,             // MySQL's group replication: the certification failed
	3819: refused,              // CHECK, on MySQL
	4025: refused,              // CHECK, on MariaDB
	4031: away,                 // MySQL has ended a silent connection
	9001: away,                 // ProxySQL: no connection to the server in time
}

// sqliteErrors has SQLite's codes. An extended code that is not in it has the meaning of its primary code.
var sqliteErrors = map[int]meaning{
	sqlite3.SQLITE_BUSY:                  locked,
	sqlite3.SQLITE_BUSY_RECOVERY:         conflict,
	sqlite3.SQLITE_BUSY_SNAPSHOT:         conflict,
	sqlite3.SQLITE_BUSY_TIMEOUT:          conflict,
	sqlite3.SQLITE_CONSTRAINT:            refused,
	sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: duplicate | refused,
	sqlite3.SQLITE_CONSTRAINT_UNIQUE:     duplicate | refused,
	sqlite3.SQLITE_FULL:                  away, // the disk
	sqlite3.SQLITE_LOCKED:                conflict,
	sqlite3.SQLITE_MISMATCH:              refused,
	sqlite3.SQLITE_RANGE:                 refused,
	sqlite3.SQLITE_TOOBIG:                refused,
}

// is reports whether a database's error has one of the meanings.
func is(err error, one meaning) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return mysqlErrors[e.Number]&one != 0
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	found, known := sqliteErrors[e.Code()]
	switch text := e.Error(); { // both have the code of any error
	case strings.Contains(text, "no such table"):
		found |= noTable
	case strings.Contains(text, "integer overflow"):
		found |= unreadable
	case !known:
		found = sqliteErrors[e.Code()&0xff]
	}
	return found&one != 0
}

// IsBusy reports whether a statement waited in vain for a lock or a connection, or a transaction lost against others
// at each of its tries. Nothing was changed, and a retry may succeed in a moment.
func IsBusy(err error) bool { return hasWaited(err) || lost(err) }

func hasWaited(err error) bool { return is(err, locked) || errors.Is(err, errNoConnection) }

func lost(err error) bool { return is(err, conflict) || errors.Is(err, ErrAgain) }

// again reports whether a transaction changed nothing and may succeed at the next try. A transaction that has waited
// for a lock or a connection does not wait again. After driver.ErrBadConn the next try has another connection. The
// driver returns it only for a statement that the server has not executed: the connection was closed before, or the
// server is read-only now.
func again(err error) bool {
	return (lost(err) || errors.Is(err, driver.ErrBadConn)) && !hasWaited(err)
}

// IsDuplicate reports whether a statement failed because a row with the same unique key exists.
func IsDuplicate(err error) bool { return is(err, duplicate) }

// IsRefused reports whether the database will never execute a statement, because its data break a constraint or do
// not fit. It is false for conditions that pass, such as a server that is down, read only or full.
func IsRefused(err error) bool { return is(err, refused) }

// IsDenied reports whether a statement failed because its user lacks a right.
func IsDenied(err error) bool { return is(err, denied) }

// isNoTable reports whether a query has failed because a table is missing.
func isNoTable(err error) bool { return is(err, noTable) }

// scanError is a row that does not fit its destination.
type scanError struct{ error }

func (e *scanError) Unwrap() error { return e.error }

// IsUnreadable reports whether a query has failed because of the rows' content, so that every retry fails. Examples
// are a value that does not fit its type, or a sum that does not fit a BIGINT.
func IsUnreadable(err error) bool {
	_, unfit := errors.AsType[*scanError](err)
	return unfit || is(err, unreadable)
}

// IsUnavailable reports whether the database is away for now, so that the same statement may succeed later.
func IsUnavailable(err error) bool {
	if _, answers := errors.AsType[*mysql.MySQLError](err); answers {
		return is(err, away)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return is(err, away) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, errReadOnly) || errors.Is(err, context.DeadlineExceeded)
}
