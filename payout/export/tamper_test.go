package export_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

// The changes of whole rows.
const removed, twice = "a row removed", "a row twice"

// unproved lists, by table, the changes that verification does not detect.
var unproved = map[string][]string{
	// The state of the shards while packets could be won. It moves no money.
	"shard_epoch": {"shard", "attempt", "barrier_ms", "fenced_at", removed, twice},
	"shard_mark":  {"shard", "entry_ms", "entry_seq", removed, twice},
	"move": {"id", "from_shard", "to_shard", "numbers", "packets", "from_number", "to_number", "epoch", "created_at",
		"done_at", removed, twice},
	// These columns change until the campaign is over. Dead letters wait for an operator. The audit has the SHA-256
	// of the file.
	"campaign": {"status", "expires_at", "revision", "drained"},
	"rain":     append(ledger.RainTable.Columns()[1:], removed, twice), // all but campaign_id
	"dead_letter": {"id", "fingerprint", "claim", "source", "kind", "shard", "packet", "user_id", "amount", "won_at",
		"entry_seq", "reason", "payload", "created_at", "resolved_at", removed, twice},
	// Only the ledger has the complete audit. No row refers to its numbers.
	"audit": {"id", removed, twice},
}

// forge makes a file with a valid hash from lines.
func forge(lines []string) string {
	text := strings.Join(lines[:len(lines)-1], "\n") + "\n"
	rows := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "[") {
			rows++
		}
	}
	sum := sha256.Sum256([]byte(text))
	return text + fmt.Sprintf(`{"rows":%d,"sha256":%q}`, rows, hex.EncodeToString(sum[:])) + "\n"
}

// line is a row of a file.
type line struct {
	number  int
	table   string
	columns []string
	cells   []any
}

// parsed are the lines of a file, and those of them that are rows.
func parsed(t testing.TB, file string) (lines []string, rows []line) {
	t.Helper()
	lines = strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	var at struct {
		Table   string   `json:"table"`
		Columns []string `json:"columns"`
	}
	for n, text := range lines {
		switch {
		case strings.HasPrefix(text, `{"table"`):
			testenv.Must(t, json.Unmarshal([]byte(text), &at))
		case strings.HasPrefix(text, "["):
			r := line{number: n, table: at.Table, columns: slices.Clone(at.Columns)}
			testenv.Must(t, json.Unmarshal([]byte(text), &r.cells))
			rows = append(rows, r)
		}
	}
	return lines, rows
}

// rowsOfEach is the number of rows of each table that are forged.
const rowsOfEach = 2

// forgeries calls try with every file in which one value is changed, one row is missing, or one is repeated.
func forgeries(t *testing.T, file string, try func(table, what, forged string)) {
	t.Helper()
	lines, rows := parsed(t, file)
	done := map[string]int{}
	for _, r := range rows {
		if done[r.table]++; done[r.table] > rowsOfEach {
			continue
		}
		with := func(what string, instead ...string) {
			try(r.table, what, forge(slices.Concat(lines[:r.number], instead, lines[r.number+1:])))
		}
		with(removed)
		with(twice, lines[r.number], lines[r.number])
		for i, column := range r.columns {
			for _, other := range others(r.cells[i]) {
				changed := slices.Clone(r.cells)
				changed[i] = other
				text, err := json.Marshal(changed)
				testenv.Must(t, err)
				with(column, string(text))
			}
		}
	}
}

// others returns values to replace one.
func others(value any) []any {
	switch v := value.(type) {
	case nil:
		return []any{"1"}
	case string:
		return []any{v + "1", "+" + v, nil}
	default:
		return []any{map[string]string{"hex": strings.Repeat("ff", 32)}, nil}
	}
}

// TestNoForgedExportIsProved changes each value of an export, and removes and repeats each row, with a valid hash.
func TestNoForgedExportIsProved(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	f := lived(t, b)
	cut(t, b)
	dismissed(t, b, f, "late", rain.Spec{})
	met := map[string]bool{}
	for _, campaign := range []string{"c1", "cut", "late"} {
		file, _ := exported(t, b, campaign, f)
		forgeries(t, file, func(table, what, forged string) {
			v, err := export.Verify(strings.NewReader(forged))
			free := slices.Contains(unproved[table], what)
			switch {
			case err != nil && !errors.Is(err, export.ErrNoExport):
				t.Errorf("%s.%s: %v", table, what, err)
			case v.Proved && !free:
				t.Errorf("%s.%s of %s was forged, and the export is proved all the same", table, what, campaign)
			}
			met[table] = true
		})
	}
	for _, table := range []string{"campaign", "campaign_amounts", "rain", "campaign_tally", "dead_letter", "reclaim",
		"reclaim_cut", "txn", "entry", "payout", "audit"} {
		if !met[table] {
			t.Errorf("no row of %s was forged", table)
		}
	}
}

// TestTheEscrowTellsOfATransactionThatIsMissing removes the funding from an export, with its lines and a valid hash.
// Every remaining row is valid, and only the sum of the escrow shows that one is missing.
func TestTheEscrowTellsOfATransactionThatIsMissing(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	file, _ := exported(t, b, "c1", lived(t, b))
	left, rows := parsed(t, file)
	var fund any // the number of the transaction, which comes first, and of its lines too
	for _, r := range rows {
		if r.table == "txn" && slices.Contains(r.cells, any("fund:c1")) {
			fund = r.cells[0]
		}
		if (r.table == "txn" || r.table == "entry") && r.cells[0] == fund {
			left[r.number] = ""
		}
	}
	left = slices.DeleteFunc(left, func(line string) bool { return line == "" })
	v := testenv.Got(export.Verify(strings.NewReader(forge(left)))).Must(t)
	want := []string{fmt.Sprintf("the transactions leave %d in the campaign's escrow", -v.Budget)}
	if v.Proved || fund == nil || v.Budget == 0 || !slices.Equal(v.Findings, want) {
		t.Errorf("%v: %q, want %q", fund, v.Findings, want)
	}
}

// TestABrokenFileIsNoExport cuts an export off after each line, and changes it without its hash.
func TestABrokenFileIsNoExport(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	file, _ := exported(t, b, "c1", lived(t, b))
	broken := []string{"", "{}", "null\n", file + file, file + "x", strings.Replace(file, "u1", "u9", 1),
		strings.Replace(file, `"redrain_export":1`, `"redrain_export":2`, 1),
		strings.Replace(file, `"columns":["id",`, `"columns":["is",`, 1)}
	for at := range file {
		if file[at] == '\n' && at < len(file)-1 {
			broken = append(broken, file[:at], file[:at+1])
		}
	}
	for _, text := range broken {
		if v, err := export.Verify(strings.NewReader(text)); !errors.Is(err, export.ErrNoExport) {
			t.Errorf("%d bytes: %+v, %v", len(text), v, err)
		}
	}
}
