package testenv

import (
	"context"
	"database/sql"
	"testing"
)

func openMySQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, db *sql.DB, from string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM "+from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMySQLGivesEachTestAnEmptyDatabase(t *testing.T) {
	one := openMySQL(t, MySQL(t))
	mustExec(t, one, "CREATE TABLE a (id BIGINT PRIMARY KEY)")
	two := openMySQL(t, MySQL(t))
	const tables = "information_schema.tables WHERE table_schema = DATABASE()"
	if n := count(t, one, tables); n != 1 {
		t.Errorf("%d tables in the first database, want 1", n)
	}
	if n := count(t, two, tables); n != 0 {
		t.Errorf("%d tables in a new database, want 0", n)
	}
}

func TestStartMySQLKeepsCommitsThroughKill(t *testing.T) {
	s := StartMySQL(t)
	db := openMySQL(t, s.DSN)
	mustExec(t, db, "CREATE TABLE a (id BIGINT PRIMARY KEY)")
	mustExec(t, db, "INSERT INTO a VALUES (1), (2), (3)")
	s.Kill()
	s.Start()
	if n := count(t, db, "a"); n != 3 {
		t.Errorf("after kill and start: %d rows, want 3", n)
	}
	s.LoseData()
	s.Start()
	if n := count(t, db, "information_schema.tables WHERE table_schema = DATABASE()"); n != 0 {
		t.Errorf("after the loss of its data: %d tables, want 0", n)
	}
}
