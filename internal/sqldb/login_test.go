package sqldb_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestNewConnectionsUseTheNewestPassword: after a rotation and a lost connection the pool works without a restart.
func TestNewConnectionsUseTheNewestPassword(t *testing.T) {
	t.Parallel()
	dsn := testenv.MySQL(t)
	cfg := testenv.Got(mysql.ParseDSN(dsn)).Must(t)
	admin := testenv.Got(sqldb.OpenMySQL(dsn)).Must(t)
	defer func() { _ = admin.Close() }()
	run := func(statement string) {
		t.Helper()
		testenv.Must(t, testenv.Err(admin.Exec(context.WithoutCancel(t.Context()), statement)))
	}
	cfg.User = cfg.DBName
	name := "'" + cfg.User + "'@'%'"
	run("CREATE USER " + name + " IDENTIFIED BY 'first'")
	defer run("DROP USER " + name)
	run(fmt.Sprintf("GRANT SELECT ON %s.* TO %s", cfg.DBName, name))
	var newest atomic.Value
	use := func(password string) string {
		cfg.Passwd = password
		newest.Store(cfg.FormatDSN())
		return cfg.FormatDSN()
	}
	db := testenv.Got(sqldb.OpenMySQLAs(use("first"), func() string { return newest.Load().(string) })).Must(t)
	defer func() { _ = db.Close() }()
	testenv.Must(t, db.Ping(t.Context()))
	run("ALTER USER " + name + " IDENTIFIED BY 'second'")
	run("KILL USER " + cfg.User)
	testenv.WantFail(t, db.Ping(t.Context()), "with the old password")
	use("second")
	testenv.Must(t, db.Ping(t.Context()))
}
