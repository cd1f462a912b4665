package paytest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// holds is the environment variable that makes a process of the test binary lock rows. It has the database and the
// query that finds the rows, separated by a space.
const holds = "REDRAIN_TEST_HOLDS"

// Main is [testenv.Main] for packages that use [Freeze].
func Main(m *testing.M) {
	if what, is := os.LookupEnv(holds); is {
		dsn, query, _ := strings.Cut(what, " ")
		_, _ = fmt.Fprintln(os.Stdout, hold(dsn, query)) // the parent process reads it
		os.Exit(1)
	}
	testenv.Main(m)
}

// hold locks rows as redrain does, reports that, and then executes a given statement in the same transaction.
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
		_, _ = fmt.Fprintln(os.Stdout, "held")
		statement, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, statement)
		return err
	})
}

// Frozen is a process that is stopped in the middle of a transaction.
type Frozen struct {
	node *exec.Cmd
	in   io.Writer
	out  *bufio.Reader
}

// Freeze starts another process, which locks the rows of a query for one column, in a transaction. Then it stops the
// process, like a node on a machine that stands still. The process is killed at the end of the test.
func Freeze(t testing.TB, dsn, query string) *Frozen {
	t.Helper()
	node := exec.Command(os.Args[0], "-test.run=^$")
	node.Env = append(os.Environ(), holds+"="+dsn+" "+query)
	node.Stderr = os.Stderr
	in, err := node.StdinPipe()
	testenv.Must(t, err)
	out, err := node.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, node.Start())
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait() // it was killed
	})
	f := &Frozen{node, in, bufio.NewReader(out)}
	if line, err := f.out.ReadString('\n'); line != "held\n" {
		t.Fatalf("the other node says %q, %v", line, err)
	}
	testenv.Must(t, node.Process.Signal(syscall.SIGSTOP))
	return f
}

// Revive resumes the process: it executes a statement in its transaction, and commits. It returns their error as
// text, "<nil>" for none.
func (f *Frozen) Revive(t testing.TB, statement string) (said string) {
	t.Helper()
	testenv.Must(t, f.node.Process.Signal(syscall.SIGCONT))
	_, err := fmt.Fprintln(f.in, statement)
	testenv.Must(t, err)
	said, err = f.out.ReadString('\n')
	testenv.Must(t, err)
	return strings.TrimSuffix(said, "\n")
}
