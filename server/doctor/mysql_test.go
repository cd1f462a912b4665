package doctor

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/server/config"
)

// TestEachFaultOfMySQL is TestEachFaultOfRedis for the database.
func TestEachFaultOfMySQL(t *testing.T) {
	w := newWorld(t)
	admin := testenv.Got(sql.Open("mysql", w.mysql.DSN)).Must(t)
	t.Cleanup(func() { _ = admin.Close() })
	run := func(statement string) {
		t.Helper()
		testenv.Must(t, testenv.Err(admin.ExecContext(context.Background(), statement)))
	}
	limited := paytest.GrantRights(t, w.mysql.DSN)
	empty := testenv.Got(mysql.ParseDSN(w.mysql.DSN)).Must(t)
	empty.DBName = "empty"
	run("CREATE DATABASE empty")
	as := func(dsn string) func(*config.Config) { return func(cfg *config.Config) { cfg.MySQL = dsn } }
	for _, c := range []struct {
		name, spoil, mend string
		change            func(cfg *config.Config) // may be nil
		want              []string
	}{
		{"exact rights", "", "", as(limited), nil},
		{"may lose commits", "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
			"SET GLOBAL innodb_flush_log_at_trx_commit = 1", nil, []string{"fail mysql_durability: is 2"}},
		{"few connections", "SET GLOBAL max_connections = 50", "SET GLOBAL max_connections = 500", nil,
			[]string{"warn mysql_connections: open up to 72"}},
		{"too few for one node", "SET GLOBAL max_connections = 30", "SET GLOBAL max_connections = 500", nil,
			[]string{"fail mysql_connections: max_connections is 30"}},
		{"read-only", "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", nil, []string{"fail mysql: read-only"}},
		{"statements in the log", "SET GLOBAL binlog_format = 'STATEMENT'", "SET GLOBAL binlog_format = 'ROW'", nil,
			[]string{"fail mysql_settings: binlog_format STATEMENT"}},
		{"small packets", "SET GLOBAL max_allowed_packet = 1048576", "SET GLOBAL max_allowed_packet = 16777216", nil,
			[]string{"fail mysql_settings: max_allowed_packet"}},
		{"a right is missing", "REVOKE UPDATE ON redrain.balance FROM redrain",
			"GRANT UPDATE ON redrain.balance TO redrain", as(limited),
			[]string{"fail mysql_rights: lacks UPDATE ON balance;"}},
		{"a column's right is missing", "REVOKE UPDATE (drained) ON redrain.campaign FROM redrain",
			"GRANT UPDATE (drained) ON redrain.campaign TO redrain", as(limited),
			[]string{"fail mysql_rights: lacks UPDATE ON campaign;"}},
		{"no tables", "", "", as(empty.FormatDSN()), []string{"warn mysql_schema: run redrain migrate"}},
		{"older tables", "UPDATE goose_db_version SET version_id = 99, is_applied = 0 WHERE version_id = 11",
			"UPDATE goose_db_version SET version_id = 11, is_applied = 1 WHERE version_id = 99", nil,
			[]string{"warn mysql_schema: older than this version by 1"}},
		{"newer tables", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)",
			"DELETE FROM goose_db_version WHERE version_id = 99", nil, []string{"fail mysql_schema: 00099"}},
		{"another namespace", "UPDATE lease SET holder = 'N other' WHERE name = 'redis'",
			"UPDATE lease SET holder = 'N rr' WHERE name = 'redis'", nil,
			[]string{"fail redis_installation: --namespace other"}},
		{"a new ledger", "UPDATE lease SET holder = '' WHERE name = 'redis'",
			"UPDATE lease SET holder = 'N rr' WHERE name = 'redis'", nil, nil},
		{"a wrong password", "", "", as(strings.Replace(limited, "secret", "hunter2", 1)),
			[]string{"fail mysql: Access denied"}},
		{"away", "", "", as("root@tcp(127.0.0.1:1)/redrain"), []string{"fail mysql: connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := w.cfg
			if c.change != nil {
				c.change(&cfg)
			}
			if c.spoil != "" {
				run(c.spoil)
				t.Cleanup(func() { run(c.mend) })
			}
			wants(t, c.name, w.examine(t, cfg), c.want...)
		})
	}
}
