package paytest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"redrain/docs"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// Refused is the error text of a refused change.
const Refused = "the test refuses it"

// Refuse makes the database refuse every payout to a player; allow undoes it.
func (b *Books) Refuse(t testing.TB, user string) (allow func()) {
	t.Helper()
	return b.refuse(t, "INSERT ON payout", "NEW.user_id", user)
}

// RefuseRemoval makes the database refuse to delete a list's member; allow undoes it.
func (b *Books) RefuseRemoval(t testing.TB, who string) (allow func()) {
	t.Helper()
	return b.refuse(t, "DELETE ON list_member", "OLD.who", who)
}

// refuse makes the database refuse a change of a row with a value.
func (b *Books) refuse(t testing.TB, change, column, value string) (allow func()) {
	t.Helper()
	trigger := "CREATE TRIGGER refused BEFORE %s WHEN %s = '%s' BEGIN SELECT RAISE(ABORT, '%s'); END"
	if b.DB.Dialect() == sqldb.MySQL {
		trigger = "CREATE TRIGGER refused BEFORE %s FOR EACH ROW IF %s = '%s' THEN " +
			"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '%s'; END IF"
	}
	b.Statement(t, fmt.Sprintf(trigger, change, column, value, Refused))
	return func() { b.Statement(t, "DROP TRIGGER refused") }
}

// OnRights makes books on a MySQL or MariaDB database whose tables another user has made. user has the rights of
// docs/rights.sql, owner has all rights.
func OnRights(t testing.TB) (user, owner *Books) {
	t.Helper()
	dsn := testenv.MySQL(t)
	owner = NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	limited := GrantRights(t, dsn)
	return booksOn(t, migrated(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(limited) })), owner
}

// GrantRights makes a database user with the rights of docs/rights.sql, and returns the user's DSN. The user is
// removed at the end of the test.
func GrantRights(t testing.TB, dsn string) (userDSN string) {
	t.Helper()
	return grant(t, dsn, "redrain", docs.Rights)
}

// GrantMigration is GrantRights for docs/rights-migrate.sql.
func GrantMigration(t testing.TB, dsn string) (userDSN string) {
	t.Helper()
	return grant(t, dsn, "redrain_migrate", docs.RightsMigrate)
}

// grant makes a user, who has another name in a script of rights, and runs the script.
func grant(t testing.TB, dsn, inScript, script string) (userDSN string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	testenv.Must(t, err)
	admin, err := sql.Open("mysql", dsn)
	testenv.Must(t, err)
	user := strings.Replace(inScript, "redrain", cfg.DBName, 1)
	name := "'" + user + "'@'%'"
	run := func(statement string) {
		t.Helper()
		if _, err := admin.ExecContext(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run("CREATE USER " + name + " IDENTIFIED BY 'secret'")
	t.Cleanup(func() {
		run("DROP USER " + name)
		testenv.Must(t, admin.Close())
	})
	rights := strings.NewReplacer("'"+inScript+"'@'%'", name, " redrain.", " "+cfg.DBName+".").Replace(script)
	for statement := range strings.SplitSeq(withoutComments(rights), ";") {
		if strings.TrimSpace(statement) != "" {
			run(statement)
		}
	}
	cfg.User, cfg.Passwd = user, "secret"
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
