package sqldb

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// This file holds the differences between MySQL 8, MariaDB 10.11 and MariaDB 11. Their error numbers are in errors.go.
// All other statements use the common grammar: tests send them to MariaDB, and parse them by MySQL's grammar.

// use is the purpose of a connection.
type use int

const (
	writes   use = iota + 1 // short transactions that lock rows
	reads                   // snapshots and single queries, which lock nothing
	migrates                // DDL, which waits for all users of a table
)

// lockWait is the limit of a statement's wait for a row that another transaction holds, or for a table that is being
// altered. After idleLimit the server rolls back a transaction whose node is silent. It is the shorter one, so that
// waiters for a frozen or lost node get the row and no error.
const (
	lockWait  = 4 * time.Second
	idleLimit = 3 * time.Second
)

// silentLimit is idleLimit on MySQL 8, which has no limit of its own for transactions. There a silent connection is
// ended, in a transaction or not. Idle connections of the pool are closed well before.
const silentLimit = 8 * time.Second

// viewLimit ends a snapshot whose node is gone; as long as it lasts, the server keeps all old versions of rows.
const viewLimit = 10 * time.Minute

// stalledLimit is the server's limit for the rest of a statement, or for a node to take the rest of an answer.
const stalledLimit = 8 * time.Second

// migrateWait is DDL's limit for waiting for a table.
const migrateWait = time.Minute

type server struct {
	mariaDB   bool
	returning bool          // it has INSERT … RETURNING
	idleTime  time.Duration // longest idle time of a connection in the pool of writers
}

// serverOf reads VERSION(). MariaDB has RETURNING from 10.5 on, MySQL has not.
func serverOf(version string) server {
	if !strings.Contains(version, "MariaDB") {
		return server{idleTime: silentLimit / 2}
	}
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return server{mariaDB: true, returning: err == nil && (major > 10 || major == 10 && minor >= 5),
		idleTime: mysqlIdleTime}
}

// sqlMode prevents that a value is cut or changed silently, and fixes the meaning of quotes and operators.
const sqlMode = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"

// session returns the statements that set up a connection, for any configuration of the server. Variables of the DSN
// stay.
//
// The isolation has another statement, because its variable is tx_isolation before MariaDB 11.1, and
// transaction_isolation in MySQL 8. As an option of each transaction it would cost a round trip.
func (s server) session(use use, given map[string]string) []string {
	set := [][2]string{
		{"sql_mode", "'" + sqlMode + "'"},
		{"time_zone", "'+00:00'"},
		{"autocommit", "1"},
		{"completion_type", "0"},        // COMMIT begins no other transaction
		{"sql_select_limit", "DEFAULT"}, // answers are not cut
		{"sql_safe_updates", "0"},       // nor is a statement refused for its WHERE
		{"sql_auto_is_null", "0"},       // IS NULL finds NULL only
		{"unique_checks", "1"},          // a unique key is checked at each insert
		{"net_read_timeout", seconds(stalledLimit)},
		{"net_write_timeout", seconds(stalledLimit)},
	}
	if s.mariaDB {
		set = append(set, [2]string{"check_constraint_checks", "1"})
	}
	wait, idle := lockWait, idleLimit
	switch {
	case use == migrates:
		wait, idle = migrateWait, 0
	case use == reads:
		idle = viewLimit
	case !s.mariaDB:
		idle = silentLimit
	}
	set = append(set, [2]string{"innodb_lock_wait_timeout", seconds(wait)},
		[2]string{"lock_wait_timeout", seconds(wait)})
	if idle > 0 {
		limit := "wait_timeout"
		if s.mariaDB {
			limit = "idle_transaction_timeout"
		}
		set = append(set, [2]string{limit, seconds(idle)})
	}
	var b strings.Builder
	for _, v := range set {
		if _, is := given[v[0]]; is {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString("SESSION " + v[0] + " = " + v[1])
	}
	return []string{"SET NAMES utf8mb4", "SET " + b.String(),
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
