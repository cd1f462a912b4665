package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// TestEveryStatementHasAnIndex has the ledger send every statement that it has, and asks the database how it finds the
// rows of each: MariaDB with tables as years of use fill them. None may read more of them than its answer needs.
func TestEveryStatementHasAnIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("hundreds of thousands of rows")
	}
	dsn := testenv.MySQL(t)
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	said := listen(t, b)
	checkGrammar(t, said)
	fillMany(t, dsn)
	for _, s := range said {
		if wholeReads[s.by] != "" || strings.HasPrefix(s.text, "INSERT INTO seal_key ") {
			continue
		}
		if fault := explain(t, b.DB, s); fault != "" {
			t.Errorf("%s (%s:%d): %s\n\t%s\n\t%.300s", s.by, s.at.file, s.at.line, fault, s.text,
				fmt.Sprint(s.args))
		}
	}
}

// TestEveryStatementHasAnIndexOnSQLite: SQLite keeps no figures of what is in its tables unless it is told to, so it
// finds rows in a small database as in a large one.
func TestEveryStatementHasAnIndexOnSQLite(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	for _, s := range listen(t, b) {
		if wholeReads[s.by] != "" || strings.HasPrefix(s.text, "INSERT INTO seal_key ") {
			continue
		}
		if fault := explainSQLite(t, b.DB, s); fault != "" {
			t.Errorf("%s (%s:%d): %s\n\t%s", s.by, s.at.file, s.at.line, fault, s.text)
		}
	}
}

// listen has a ledger send every statement, and fails where the code has one that was not sent.
func listen(t *testing.T, b *paytest.Books) []statement {
	t.Helper()
	h := &heard{seen: map[string]bool{}}
	b.DB.Heard = h.hear
	askEverything(t, b)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, call := range queryCalls(t) {
		if !call.wasHeard(h.statements) {
			t.Errorf("%s:%d sends a statement that askEverything does not ask for; add a call that does, "+
				"so that it is known to have an index", call.file, call.first)
		}
	}
	return h.statements
}

func (c queryCall) wasHeard(all []statement) bool {
	for _, s := range all {
		if s.at.file == c.file && s.at.line >= c.first && s.at.line <= c.last {
			return true
		}
	}
	return false
}

// mostRead is how many rows a statement may read, and sort. What is read page by page is read in pages of a thousand.
const mostRead = 3500

// errUndo rolls back what a statement has done.
var errUndo = errors.New("undone")

// explain tells what is wrong with the way in which MariaDB finds the rows of a statement; "": nothing.
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

// planFault looks through a plan for a table that is read from one end to the other.
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

// rowsRead is how many rows, or entries of an index, this connection has read.
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

// wholeTable is a line of SQLite's plan that reads a table, or an index of it, from one end to the other.
var wholeTable = regexp.MustCompile(`^SCAN (\w+)`)

// isLarge tells whether a name in a statement is that of a table with many rows.
func isLarge(name, text string) bool {
	return slices.ContainsFunc(many, func(m manyRows) bool {
		return name == m.table || strings.Contains(text+" ", " "+m.table+" "+name+" ")
	})
}

// explainSQLite tells what is wrong with the way in which SQLite finds the rows of a statement.
func explainSQLite(t *testing.T, db *sqldb.DB, s statement) (fault string) {
	t.Helper()
	paytest.Must(t, db.Each(t.Context(), func(scan sqldb.Scan) error {
		var id, parent, unused int
		var line string
		err := scan(&id, &parent, &unused, &line)
		found := wholeTable.FindStringSubmatch(line)
		// With a LIMIT, an index is followed as far as needed.
		limited := strings.Contains(line, "INDEX") && strings.Contains(s.text, "LIMIT")
		if found != nil && !limited && isLarge(found[1], s.text) {
			fault = line
		}
		return err
	}, "EXPLAIN QUERY PLAN "+s.text, s.args...))
	return fault
}
