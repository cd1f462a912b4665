package paytest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// holds is the environment variable that makes a process of the test binary one that holds rows: the database and
// the query that finds them, separated by a space.
const holds = "REDRAIN_TEST_HOLDS"

// Main is [testenv.Main] for packages that use [Freeze].
func Main(m *testing.M) {
	if what, is := os.LookupEnv(holds); is {
		dsn, query, _ := strings.Cut(what, " ")
		fmt.Fprintln(os.Stderr, hold(dsn, query))
		os.Exit(1)
	}
	testenv.Main(m)
}

// hold locks rows as redrain does, says so, and keeps them for as long as the transaction may last.
func hold(dsn, query string) error {
	db, err := sqldb.OpenMySQL(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return db.InTx(context.Background(), func(ctx context.Context, tx *sqldb.Tx) error {
		found, err := sqldb.Column[string](ctx, tx, query+tx.ForUpdate())
		if err != nil || len(found) == 0 {
			return fmt.Errorf("%s: found %q, %w", query, found, err)
		}
		_, _ = fmt.Fprintln(os.Stdout, "held") // whoever started this process waits for it
		<-ctx.Done()
		return ctx.Err()
	})
}

// Freeze starts another process, which locks the rows that a query for one column finds, in a transaction, and is
// stopped there, as a node is whose machine stands still. It is killed at the end of the test.
func Freeze(t testing.TB, dsn, query string) {
	t.Helper()
	node := exec.Command(os.Args[0], "-test.run=^$")
	node.Env = append(os.Environ(), holds+"="+dsn+" "+query)
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait() // it was killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other node says %q, %v", line, err)
	}
	if err := node.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}
