package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestTheLedgerThatIsMadeUpIsBalanced: what is filled in is what the ledger itself would have written, by every proof;
// and a second run goes on with it.
func TestTheLedgerThatIsMadeUpIsBalanced(t *testing.T) {
	t.Parallel()
	dsn := testenv.MySQL(t)
	for _, full := range []string{"-full=true", "-full=false"} {
		var out, log bytes.Buffer
		err := run(t.Context(), []string{"-rows", "10000", "-posts", "100", "-mysql", dsn, "-json", full}, &out, &log)
		if err != nil {
			t.Fatalf("%v\n%s", err, &log)
		}
		var figures []figure
		if err := json.Unmarshal(out.Bytes(), &figures); err != nil || len(figures) < 3 {
			t.Fatalf("%v: %s", err, &out)
		}
		for _, f := range figures {
			if !f.Balanced || f.Payouts < 10_000 || f.Rows == 0 || f.TookMS <= 0 {
				t.Errorf("%+v\n%s", f, &log)
			}
		}
	}
}
