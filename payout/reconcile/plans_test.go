package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the parser's values

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// wholeReads are the functions whose statements may read all rows, with the reason. They belong to reconciliations,
// rebuilds and periodic work: no player or operator waits for them.
var wholeReads = map[string]string{
	"posting.(*Rebuilds).Top": "a rebuild reads all that players have won; this is its last part",
	"reconcile.(*campaignCheck).escrowByKind": "the proof of a campaign adds up the lines of its escrow, 250,000 " +
		"at once",
	"chain.(*Block).next":            "a block has up to 10,000 rows, and hashes each of them",
	"reconcile.checkAccounts":        "a balance is proved by all lines of its account",
	"reconcile.(*fullProof).total":   "the full proof adds up all balances",
	"reconcile.checkHeld":            "the full proof compares every win that was held with its payout",
	"ledger.(*Lists).Heads":          "a row for each list; every one of them may have changed",
	"reconcile.(*fullProof).measure": "the full proof says how long it will take",
	"reconcile.compareOpen":          "the proof of everything adds up all withdrawals in flight, and held wins",
}

// TestEveryStatementHasAnIndex makes the ledger send its statements, and asks MariaDB for their plans, with tables as
// after years of use. No statement may read more rows than its answer needs. A parser of MySQL's grammar reads all of
// them, so that MySQL 8, which the tests do not run on, understands them.
func TestEveryStatementHasAnIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("hundreds of thousands of rows")
	}
	dsn := testenv.MySQL(t)
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	h := &heard{seen: map[string]bool{}}
	b.DB.Heard = h.hear
	askEverything(t, b)
	h.mu.Lock()
	said := h.statements
	h.mu.Unlock()
	if len(said) < 350 {
		t.Errorf("only %d statements were recorded", len(said))
	}
	fillMany(t, dsn)
	grammar := parser.New()
	for _, s := range said {
		if _, _, err := grammar.Parse(s.text, "", ""); err != nil {
			t.Errorf("%s: MySQL 8 does not know the grammar: %v\n\t%s", s.by, err, s.text)
		}
		if wholeReads[s.by] != "" || strings.HasPrefix(s.text, "INSERT INTO seal_key ") {
			continue
		}
		if fault := explain(t, b.DB, s); fault != "" {
			t.Errorf("%s: %s\n\t%s\n\t%.300s", s.by, fault, s.text, fmt.Sprint(s.args))
		}
	}
}

// heard collects a ledger's statements, each once for each function that sends it.
type heard struct {
	mu         sync.Mutex
	seen       map[string]bool
	statements []statement
}

// statement is a statement with its arguments.
type statement struct {
	text string
	args []any
	by   string // package.function
}

// listIn matches the list of an IN, of any length.
var listIn = regexp.MustCompile(`\((\?,)+\?\)`)

// hear is for sqldb.DB.Heard. It skips the test's own statements.
func (h *heard) hear(text string, args []any) {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	frame, more := frames.Next()
	for more && strings.Contains(frame.Function, "/internal/sqldb.") {
		frame, more = frames.Next()
	}
	if strings.Contains(frame.File, "/payout/paytest/") || strings.HasSuffix(frame.File, "_test.go") {
		return
	}
	s := statement{text: text, args: args}
	s.by, _, _ = strings.Cut(filepath.Base(frame.Function), ".func")
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := s.by + " " + listIn.ReplaceAllString(text, "(…)"); !h.seen[key] {
		h.seen[key] = true
		h.statements = append(h.statements, s)
	}
}

// mostRead is the largest number of rows that a statement may read and sort. Pages have at most a thousand rows.
const mostRead = 3500

// errUndo rolls back a statement's changes.
var errUndo = errors.New("undone")

// explain returns the fault of MariaDB's plan for a statement, or "".
func explain(t *testing.T, db *sqldb.DB, s statement) (fault string) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		var text []byte
		if _, err := tx.First(ctx, []any{&text}, "EXPLAIN FORMAT=JSON "+s.text, s.args...); err != nil {
			return err
		}
		var plan any
		if err := json.Unmarshal(text, &plan); err != nil {
			return err
		}
		fault = planFault(plan)
		before, err := rowsRead(ctx, tx)
		if err != nil {
			return err
		}
		if err := tx.Each(ctx, func(sqldb.Scan) error { return nil }, s.text, s.args...); err != nil {
			return err
		}
		after, err := rowsRead(ctx, tx)
		if read := after - before; read > mostRead && fault == "" {
			fault = fmt.Sprintf("it reads %d rows", read)
		}
		return errors.Join(err, errUndo)
	})
	if !errors.Is(err, errUndo) {
		t.Errorf("%s: %v", s.text, err)
	}
	return fault
}

// planFault searches a plan for a full scan of a table.
func planFault(plan any) string {
	switch plan := plan.(type) {
	case []any:
		for _, part := range plan {
			if fault := planFault(part); fault != "" {
				return fault
			}
		}
	case map[string]any:
		rows, _ := plan["rows"].(float64)
		if plan["access_type"] == "ALL" && rows > mostRead {
			return fmt.Sprintf("it reads the whole table %v", plan["table_name"])
		}
		for _, part := range plan {
			if fault := planFault(part); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// rowsRead returns the number of rows and index entries that this connection has read.
func rowsRead(ctx context.Context, tx *sqldb.Tx) (sum int64, err error) {
	err = tx.Each(ctx, func(scan sqldb.Scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		sum += n
		return err
	}, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR Variable_name = 'Handler_icp_attempts'")
	return sum, err
}
