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

	"redrain/payout/export"
	"redrain/payout/paytest"
	"redrain/rain"
)

// What is done to whole rows.
const removed, twice = "a row removed", "a row twice"

// unproved lists, by table, the changes that verification does not detect.
var unproved = map[string][]string{
	// How Redis and the ledger spoke of the shards while there was something to win. No money follows from it.
	"shard_epoch": {"shard", "attempt", "barrier_ms", "fenced_at", removed, twice},
	"shard_mark":  {"shard", "entry_ms", "entry_seq", removed, twice},
	"move": {"id", "from_shard", "to_shard", "numbers", "packets", "from_number", "to_number", "epoch", "created_at",
		"done_at", removed, twice},
	// These columns change until the campaign is over. Dead letters wait for an operator. The audit has the SHA-256 of
	// the file.
	"campaign": {"status", "expires_at", "revision", "drained"},
	"rain": {"ordinal", "id", "starts_at", "duration_ms", "drops_per_second", "fall_ms", "decoy_percent", "pacing",
		"odds", "beat_ms", "odds_record", "first_wave", "seed", "stopped_at", removed, twice},
	"dead_letter": {"id", "fingerprint", "claim", "source", "kind", "shard", "packet", "user_id", "amount", "won_at",
		"entry_seq", "reason", "payload", "created_at", "resolved_at", removed, twice},
	// Which records there are, only the ledger can tell. Their numbers find nothing.
	"audit": {"id", removed, twice},
}

// forge makes a file whose hash is right from lines.
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

// rowsOfEach is how many rows of each table are forged.
const rowsOfEach = 2

// forgeries calls try with every file in which one value is another, one row is missing, or one is there twice.
func forgeries(t *testing.T, file string, try func(table, what, forged string)) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	var at struct {
		Table   string   `json:"table"`
		Columns []string `json:"columns"`
	}
	done := map[string]int{}
	for n, line := range lines {
		if strings.HasPrefix(line, `{"table"`) {
			paytest.Must(t, json.Unmarshal([]byte(line), &at))
		}
		if !strings.HasPrefix(line, "[") {
			continue
		}
		if done[at.Table]++; done[at.Table] > rowsOfEach {
			continue
		}
		var row []any
		paytest.Must(t, json.Unmarshal([]byte(line), &row))
		with := func(what string, instead ...string) {
			try(at.Table, what, forge(slices.Concat(lines[:n], instead, lines[n+1:])))
		}
		with(removed)
		with(twice, line, line)
		for i, column := range at.Columns {
			for _, other := range others(row[i]) {
				changed := slices.Clone(row)
				changed[i] = other
				text, err := json.Marshal(changed)
				paytest.Must(t, err)
				with(column, string(text))
			}
		}
	}
}

// others are values to put in the place of one.
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

// TestNoForgedExportIsProved changes each value of an export, and removes and repeats each row, with a hash that fits.
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
		"reclaim_cut", "winner", "txn", "entry", "payout", "audit"} {
		if !met[table] {
			t.Errorf("no row of %s was forged", table)
		}
	}
}

// TestTheEscrowTellsOfATransactionThatIsMissing leaves the funding out of an export, with its lines and a hash that
// fits: every row that is there proves itself, and only the sum of the escrow says that one is not.
func TestTheEscrowTellsOfATransactionThatIsMissing(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	file, _ := exported(t, b, "c1", lived(t, b))
	var table, fund string
	left := []string{}
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		if head := (struct {
			Table string `json:"table"`
		}{}); strings.HasPrefix(line, `{"table"`) {
			paytest.Must(t, json.Unmarshal([]byte(line), &head))
			table = head.Table
		}
		if table == "txn" && strings.Contains(line, `"fund:c1"`) {
			fund = strings.Split(line, ",")[0] + "," // its number comes first, and of its lines too
			continue
		}
		if table == "entry" && fund != "" && strings.HasPrefix(line, fund) {
			continue
		}
		left = append(left, line)
	}
	v, err := export.Verify(strings.NewReader(forge(left)))
	paytest.Must(t, err)
	want := []string{fmt.Sprintf("the transactions leave %d in the campaign's escrow", -v.Budget)}
	if v.Proved || fund == "" || v.Budget == 0 || !slices.Equal(v.Findings, want) {
		t.Errorf("%s: %q, want %q", fund, v.Findings, want)
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
