package paytest

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"redrain/docs"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// OnRights makes books on a MySQL or MariaDB database whose tables another user has made: they have the rights of
// docs/rights.sql. owner is the books of who may do everything.
func OnRights(t testing.TB) (user, owner *Books) {
	t.Helper()
	dsn := testenv.MySQL(t)
	owner = NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	limited := GrantRights(t, dsn)
	return booksOn(t, migrated(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(limited) })), owner
}

// GrantRights makes a user of a database who has the rights of docs/rights.sql, and returns the user's DSN. The user is
// removed at the end of the test.
func GrantRights(t testing.TB, dsn string) (userDSN string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	Must(t, err)
	admin, err := sql.Open("mysql", dsn)
	Must(t, err)
	name := "'" + cfg.DBName + "'@'%'"
	run := func(statement string) {
		t.Helper()
		if _, err := admin.ExecContext(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run("CREATE USER " + name + " IDENTIFIED BY 'secret'")
	t.Cleanup(func() {
		run("DROP USER " + name)
		Must(t, admin.Close())
	})
	rights := strings.NewReplacer("'redrain'@'%'", name, " redrain.", " "+cfg.DBName+".").Replace(docs.Rights)
	for statement := range strings.SplitSeq(withoutComments(rights), ";") {
		if strings.TrimSpace(statement) != "" {
			run(statement)
		}
	}
	cfg.User, cfg.Passwd = cfg.DBName, "secret"
	return cfg.FormatDSN()
}

func withoutComments(script string) string {
	var kept strings.Builder
	for line := range strings.Lines(script) {
		statement, _, _ := strings.Cut(line, "--")
		kept.WriteString(statement + "\n")
	}
	return kept.String()
}
