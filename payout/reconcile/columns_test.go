package reconcile_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// TestEveryColumnOfEveryTable changes each column of each table of a living ledger, in one or several rows, and wants
// the proof to name each of these rows. A column that no proof holds is in free, with the reason.
func TestEveryColumnOfEveryTable(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			l := &columnLedger{t: t, b: b, f: fullLedger(t, b)}
			closeAll(t, b, l.f)
			if found := l.prove(); len(found) > 0 {
				t.Fatalf("untouched: %q", found)
			}
			held := map[string][]string{}
			columns := schemaOf(t, b)
			for _, table := range tablesOf(columns) {
				l.keep(table)
			}
			for _, c := range columns {
				held[c.name()] = l.column(c)
			}
			if found := l.prove(); len(found) > 0 {
				t.Fatalf("restored: %q", found)
			}
			if b.DB.Dialect() == sqldb.SQLite {
				checkBooksPage(t, columns, held)
			}
		})
	}
}

// column is a column of the schema.
type column struct {
	table, column string
	bytes         bool
}

func (c column) name() string { return c.table + "." + c.column }

// schemaOf are the columns of all tables but the migrations' own, in order.
func schemaOf(t testing.TB, b *paytest.Books) []column {
	t.Helper()
	query := "SELECT m.name, p.name, p.type FROM sqlite_master m JOIN pragma_table_info(m.name) p " +
		"WHERE m.type = 'table' ORDER BY m.name, p.cid"
	if b.DB.Dialect() == sqldb.MySQL {
		query = "SELECT table_name, column_name, data_type FROM information_schema.columns " +
			"WHERE table_schema = DATABASE() AND table_name <> 'account' " + // a view
			"ORDER BY table_name, ordinal_position"
	}
	list, err := sqldb.List(t.Context(), b.DB, func(scan sqldb.Scan) (c column, err error) {
		var kind string
		err = scan(&c.table, &c.column, &kind)
		kind = strings.ToLower(kind)
		c.bytes = kind == "binary" || strings.HasSuffix(kind, "blob") || c.name() == "seal_key.secret"
		return c, err
	}, query)
	if err != nil || len(list) < 100 {
		t.Fatalf("%d columns, %v", len(list), err)
	}
	return slices.DeleteFunc(list, func(c column) bool {
		return c.table == "goose_db_version" || strings.HasPrefix(c.table, "sqlite_")
	})
}

func tablesOf(columns []column) (tables []string) {
	for _, c := range columns {
		if !slices.Contains(tables, c.table) {
			tables = append(tables, c.table)
		}
	}
	return tables
}

// columnLedger is a ledger that is changed, proved and restored.
type columnLedger struct {
	t      testing.TB
	b      *paytest.Books
	f      *paytest.FakeRedis
	recent bool // proved are the rows since the newest checkpoint
}

// keep makes a copy of a table, from which restore brings it back.
func (l *columnLedger) keep(table string) {
	change(l.t, l.b, "CREATE TABLE kept_"+table+" AS "+allOf(table))
}

func (l *columnLedger) restore(table string) {
	change(l.t, l.b, "DELETE FROM "+table+"; INSERT INTO "+table+" "+allOf("kept_"+table))
}

// prove is all that the proof of everything finds.
func (l *columnLedger) prove() []string {
	l.t.Helper()
	l.b.Proof.Forget() // the chains that were changed for an earlier proof
	by := l.b.Proof.ReconcileAll
	if l.recent {
		by = l.b.Proof.ReconcileRecent
	}
	books, err := by(l.t.Context(), l.f, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	found := slices.Clone(books.Findings)
	for _, c := range books.Campaigns {
		for _, text := range c.Findings {
			found = append(found, "campaign "+c.Campaign+": "+text)
		}
		if c.Difference != 0 {
			found = append(found, fmt.Sprintf("campaign %s: a difference of %d", c.Campaign, c.Difference))
		}
	}
	if books.Balanced != (len(found) == 0) {
		l.t.Errorf("balanced is %v: %+v", books.Balanced, books)
	}
	return found
}

// column changes a column in all the rows that are picked for its table, proves, and restores. It returns by what the
// changes were named.
func (l *columnLedger) column(c column) []string {
	l.t.Helper()
	if isFree(c) != "" {
		return nil
	}
	rows, picked := picks[c.table]
	if !picked {
		l.t.Errorf("the table %s is new: pick rows of it, or list its columns as free", c.table)
		return nil
	}
	for n, row := range rows {
		l.tamper(c, row.where, n)
	}
	found := l.prove()
	l.restore(c.table)
	for _, row := range rows {
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, row.named) }) {
			l.t.Errorf("%s, where %s: %q is not named in %q", c.name(), row.where, row.named, found)
		}
	}
	return holders(found)
}

// tamper changes a column of one row by as little as can be, to something that could be there.
func (l *columnLedger) tamper(c column, where string, row int) {
	l.t.Helper()
	var was []byte
	query := "SELECT " + c.column + " FROM " + c.table + " WHERE " + where
	if exists, err := l.b.DB.First(l.t.Context(), []any{&was}, query); err != nil || !exists {
		l.t.Fatalf("%s where %s: %v, %v", c.name(), where, exists, err)
	}
	var is any = another(c, string(was), row)
	if c.bytes {
		is = []byte(another(c, string(was), row))
	}
	n, err := l.b.DB.Exec(l.t.Context(), "UPDATE "+c.table+" SET "+c.column+" = ? WHERE "+where, is)
	if err != nil || n != 1 {
		l.t.Errorf("%s where %s: %d rows, %v", c.name(), where, n, err)
	}
}

// another is another value than a column has, for each row another one.
func another(c column, was string, row int) string {
	for _, plausible := range values[c.name()] {
		if plausible != was {
			return plausible
		}
	}
	if n, err := strconv.ParseInt(was, 10, 64); err == nil && !c.bytes && len(was) < 19 {
		if slices.Contains([]string{"checkpoint", "id", "link", "number", "ordinal", "packet", "shard",
			"version"}, c.column) {
			n += 1000 // the next may be there
		}
		return strconv.FormatInt(n+int64(row)+1, 10)
	}
	last := strconv.Itoa(9 - row)
	if strings.HasSuffix(was, last) {
		last = "x"
	}
	return was[:max(len(was)-1, 0)] + last
}

// holders are the kinds of proof that have named something.
func holders(found []string) (by []string) {
	for _, text := range found {
		kind := "comparison"
		switch {
		case strings.Contains(text, "what its history says"), strings.Contains(text, "has no history"):
			kind = "history"
		case strings.Contains(text, "what was chained"), strings.Contains(text, "chain "):
			kind = "chain"
		case strings.Contains(text, "root of"):
			kind = "root"
		case strings.Contains(text, "dated by hand"):
			kind = "clock"
		}
		if !slices.Contains(by, kind) {
			by = append(by, kind)
		}
	}
	slices.Sort(by)
	return by
}

// TestConsistentForgeries makes changes as a thief would who knows the tables: in every row that has to go with it.
func TestConsistentForgeries(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			l := &columnLedger{t: t, b: b, f: fullLedger(t, b)}
			tables := tablesOf(schemaOf(t, b))
			for _, table := range tables {
				l.keep(table)
			}
			for what, forgery := range forgeries {
				change(t, b, forgery.sql)
				found := l.prove()
				for _, named := range forgery.names {
					if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, named) }) {
						t.Errorf("%s: %q is not named in %q", what, named, found)
					}
				}
				for _, table := range tables {
					if strings.Contains(forgery.sql, " "+table+" ") {
						l.restore(table)
					}
				}
			}
			if found := l.prove(); len(found) > 0 {
				t.Fatalf("restored: %q", found)
			}
		})
	}
}
