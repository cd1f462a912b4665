package paytest

import (
	"path/filepath"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// OnEach runs a test of the ledger on every database, in parallel with other tests. It is the conformance suite.
func OnEach(t *testing.T, test func(t *testing.T, b *Books)) {
	t.Helper()
	onAll(t, Databases, test)
}

// OnEachChecked is OnEach for tests that leave the books in order: CheckBooks ends each.
func OnEachChecked(t *testing.T, test func(t *testing.T, b *Books)) {
	t.Helper()
	OnEach(t, func(t *testing.T, b *Books) {
		test(t, b)
		b.CheckBooks(t)
	})
}

// OnBoth is OnEach for long tests: on SQLite in memory, and on MySQL.
func OnBoth(t *testing.T, test func(t *testing.T, b *Books)) {
	t.Helper()
	onAll(t, Both, test)
}

func onAll(t *testing.T, databases map[string]func(testing.TB) *Books, test func(t *testing.T, b *Books)) {
	t.Helper()
	t.Parallel()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runOn(t, open, test)
		})
	}
}

// OnEachInTurn is OnEach for tests that need all processors: one database after the other, without other tests.
func OnEachInTurn(t *testing.T, test func(t *testing.T, b *Books)) {
	t.Helper()
	for name, open := range Databases {
		t.Run(name, func(t *testing.T) { runOn(t, open, test) })
	}
}

func runOn(t *testing.T, open func(testing.TB) *Books, test func(t *testing.T, b *Books)) {
	t.Helper()
	b := open(t)
	b.T = t
	test(t, b)
}

// Databases are the databases of the conformance suite by name, each with the function that makes books on it.
var Databases = map[string]func(testing.TB) *Books{"sqlite": OnSQLite, "sqlite file": onFile, "mysql": OnMySQL}

// Both are the databases of OnBoth.
var Both = map[string]func(testing.TB) *Books{"sqlite": OnSQLite, "mysql": OnMySQL}

func onFile(t testing.TB) *Books {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	return NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite(path) })
}

// OnMySQL makes books on a MySQL or MariaDB database of their own.
func OnMySQL(t testing.TB) *Books {
	t.Helper()
	dsn := testenv.MySQL(t)
	return NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
}

// OnSQLite makes books on a SQLite database in memory.
func OnSQLite(t testing.TB) *Books {
	t.Helper()
	return NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite("") })
}

// Fresh returns a migrated database of a dialect, as in a new installation.
func Fresh(t testing.TB, dialect sqldb.Dialect) *sqldb.DB {
	t.Helper()
	open := func() (*sqldb.DB, error) { return sqldb.OpenSQLite("") }
	if dialect == sqldb.MySQL {
		dsn := testenv.MySQL(t)
		open = func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) }
	}
	return migrated(t, open)
}
