package reconcile_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of columns in docs/books.md anew")

// inWords are the kinds of proof that name a change, as the page says them.
var inWords = map[string]string{"chain": "the chain", "history": "its history", "root": "the roots",
	"comparison": "other rows, or Redis", "clock": "the clock, where it lies in the future"}

// checkBooksPage compares the table in docs/books.md with what has named the changes of each column.
func checkBooksPage(t testing.TB, columns []column, held map[string][]string) {
	t.Helper()
	var table strings.Builder
	table.WriteString("| Column | What holds it |\n|---|---|\n")
	for _, c := range columns {
		var by []string
		for _, kind := range held[c.name()] {
			by = append(by, inWords[kind])
		}
		if why := isFree(c); why != "" {
			by = []string{"nothing: " + why}
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", c.name(), strings.Join(by, " · "))
	}
	for why, tables := range free {
		for of, names := range tables {
			for name := range strings.FieldsSeq(names) {
				if !slices.ContainsFunc(columns, func(c column) bool { return c.table == of && c.column == name }) {
					t.Errorf("%s.%s is listed as free (%s), and there is no such column", of, name, why)
				}
			}
		}
	}
	path := filepath.Join("..", "..", "docs", "books.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- columns -->\n", "<!-- end of columns -->\n"
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	is := before + begin + table.String() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is != string(page) {
		t.Errorf("%s is stale: run go test ./payout/reconcile -run TestEveryColumnOfEveryTable/sqlite -update", path)
	}
}
