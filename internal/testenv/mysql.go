package testenv

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
)

// MySQL returns the DSN (go-sql-driver) of a new, empty database on a mariadbd that the tests of this binary share.
// The database is dropped when the test ends.
func MySQL(t T) string {
	t.Helper()
	p := shared(t, mariaDB, sharedMariaDB)
	name := Namespace(t)
	if err := mysqlExec(context.Background(), p, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("testenv: create database: %v", err)
	}
	t.Cleanup(func() {
		if err := mysqlExec(context.Background(), p, "DROP DATABASE "+name); err != nil {
			t.Errorf("testenv: drop database: %v", err)
		}
	})
	return mysqlDSN(p, name)
}

var sharedMariaDB = sync.OnceValues(func() (*process, error) { return launch(mariaDB) })

// StartMySQL starts a mariadbd for one test, with an empty database. Committed data survives Kill.
func StartMySQL(t T) *Server {
	t.Helper()
	s := own(t, mariaDB)
	s.DSN = mysqlDSN(s.p, ownDatabase)
	return s
}

// StartMySQLPair starts a mariadbd for one test, and a replica of it. The user of their DSNs may not write to a
// read-only server.
func StartMySQLPair(t T) (primary, replica *Server) {
	t.Helper()
	start := func(id string) *Server {
		prog := mariaDB
		prog.command = func(p *process) (*exec.Cmd, error) {
			return mariaDBServer(p, "--server-id="+id, "--log-bin=log", "--log-slave-updates")
		}
		s := own(t, prog)
		s.DSN = fmt.Sprintf("app:app@tcp(%s)/%s", s.Addr, ownDatabase)
		return s
	}
	primary, replica = start("1"), start("2")
	primary.root("CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON "+ownDatabase+".* TO app")
	replica.root(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = 'root', "+
		"MASTER_USE_GTID = slave_pos", loopback, primary.p.port), "START SLAVE")
	return primary, replica
}

// SwitchOver makes the primary of a pair read-only, and then its replica the primary. Both go on to serve.
func (s *Server) SwitchOver(replica *Server) {
	s.t.Helper()
	s.root("SET GLOBAL read_only = 1")
	var position string
	s.check("ask", mysqlDo(s.t.Context(), s.p, func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&position)
	}))
	replica.root("DO MASTER_GTID_WAIT('"+position+"', 10)", "STOP SLAVE")
}

// root runs statements as root.
func (s *Server) root(statements ...string) {
	s.t.Helper()
	for _, statement := range statements {
		s.check(statement, mysqlExec(s.t.Context(), s.p, statement))
	}
}

// ownDatabase is the database that every server has from its start.
const ownDatabase = "redrain"

func mysqlDSN(p *process, database string) string {
	return fmt.Sprintf("root@tcp(%s)/%s", p.port.addr(), database)
}

var mariaDB = program{
	name:    "mariadb",
	needs:   []string{"mariadbd", "mariadb-install-db"},
	prepare: installMariaDB,
	command: func(p *process) (*exec.Cmd, error) { return mariaDBServer(p) },
	probe: func(ctx context.Context, p *process) error {
		return mysqlExec(ctx, p, "CREATE DATABASE IF NOT EXISTS "+ownDatabase)
	},
}

func mariaDBServer(p *process, more ...string) (*exec.Cmd, error) {
	return mariaDBCommand("mariadbd", append([]string{
		"--datadir=" + p.data, "--tmpdir=" + p.dir,
		"--socket=" + filepath.Join(p.dir, "s"), "--pid-file=" + filepath.Join(p.dir, "pid"),
		"--bind-address=" + loopback, "--port=" + p.port.String(), "--skip-name-resolve", "--max-connections=500",
		// As in production: a commit is on the disk, and each statement sees the committed data.
		"--innodb-flush-log-at-trx-commit=1", "--transaction-isolation=READ-COMMITTED",
		"--character-set-server=utf8mb4",
	}, more...)...)
}

func installMariaDB(p *process) error {
	// In the common directory two installations at once would remove each other's temporary tables.
	cmd, err := mariaDBCommand("mariadb-install-db", "--datadir="+p.data, "--tmpdir="+p.dir,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if err != nil {
		return err
	}
	if out, err := runChild(cmd); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	return nil
}

// mariaDBCommand ignores the machine's configuration. For root it sets the user explicitly.
func mariaDBCommand(name string, args ...string) (*exec.Cmd, error) {
	all := []string{"--no-defaults"}
	if os.Geteuid() == 0 {
		all = append(all, "--user=root")
	}
	return programCommand(name, append(all, args...)...)
}

// mysqlExec runs one statement as root, outside any database.
func mysqlExec(ctx context.Context, p *process, statement string) error {
	return mysqlDo(ctx, p, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	})
}

func mysqlDo(ctx context.Context, p *process, do func(ctx context.Context, db *sql.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	db, err := sql.Open("mysql", mysqlDSN(p, ""))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return do(ctx, db)
}
