package export_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/paytest"
)

// notExported are the tables with rows of campaigns that are not needed for a finished one.
var notExported = []string{
	"archive",       // written after the export
	"attempt_claim", // pending tries; there are none
	"figure",        // for charts; no money depends on it
	"held",          // its held payouts; each is released or confirmed, in transactions that stay
	"proof",         // its last reconciliation; the export has its own
	"winner",        // the sums of its payouts
}

// TestEveryColumnIsExported compares the export with the tables: a new table with a campaign, or a new column, must
// be exported, too.
func TestEveryColumnIsExported(t *testing.T) {
	t.Parallel()
	for _, dialect := range []sqldb.Dialect{sqldb.MySQL, sqldb.SQLite} {
		columns := "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
		if dialect == sqldb.MySQL {
			columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
		}
		tables := map[string][]string{}
		testenv.Must(t, paytest.Fresh(t, dialect).Each(t.Context(), func(scan sqldb.Scan) error {
			var table, column string
			err := scan(&table, &column)
			tables[table] = append(tables[table], column)
			return err
		}, columns))
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			want, exported := export.Known[table]
			want = slices.Clone(want)
			is := tables[table]
			slices.Sort(want)
			slices.Sort(is)
			switch {
			case exported && !slices.Equal(is, want):
				t.Errorf("the table %s has the columns %q, and an export %q", table, is, want)
			case !exported && slices.Contains(is, "campaign_id") && !slices.Contains(notExported, table):
				t.Errorf("the table %s has rows of campaigns: export them, or say here why not", table)
			}
		}
	}
}

// TestValuesComeBack: each value is the same after it was written and read.
func TestValuesComeBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "新年 🧧", "a\x00b", "\xff\xfe", `{"hex":"ff"}`, "<&>\u2028",
		strings.Repeat("x", 1e5)} {
		written := testenv.Got(json.Marshal(export.Value{String: text, Valid: true})).Must(t)
		var read export.Value
		testenv.Must(t, json.Unmarshal(written, &read))
		if !read.Valid || read.String != text {
			t.Errorf("%.20q became %.40s and then %.20q", text, written, read.String)
		}
	}
	var read export.Value
	if err := json.Unmarshal([]byte("null"), &read); err != nil || read.Valid {
		t.Errorf("%+v, %v", read, err)
	}
	for _, bad := range []string{`{"hex":"f"}`, `{"hex":7}`, `7`, `true`, `[]`} {
		testenv.WantFail(t, json.Unmarshal([]byte(bad), &read), fmt.Sprintf("%s is read as %+v", bad, read))
	}
}
