package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redrain/internal/cli"
	"redrain/internal/openapi"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestStatementMatch: what is asked of the server, what is shown, and the exit code.
func TestStatementMatch(t *testing.T) {
	f := newFake(t)
	file := filepath.Join(t.TempDir(), "bill.csv")
	testenv.Must(t, os.WriteFile(file, []byte("a,b"), 0o600))
	got := run(t, f.at(), "statement", "match", "--provider", file, "--from", "2026-11-22", "--to", "2026-11-22",
		"--columns", "key=商家单号,amount=金额", "--end", "总", "--receiver", "bank")
	want := `POST /api/v1/statements/match {"of":"withdrawals","from":1795305600000,"to":1795392000000,"file":"YSxi",` +
		`"columns":{"amount":"金额","key":"商家单号"},"end":"总","currency":"CNY","receiver":"bank"}`
	if asked := newest(f); got.code != cli.ExitOK || asked != want {
		t.Errorf("exit %d, %s; asked\n%s, want\n%s", got.code, got.stderr, asked, want)
	}
	golden(t, "statement.golden", got.stdout)

	ours, theirs := rain.Money(1200), rain.Money(1300)
	f.matched = openapi.StatementReport{Lines: 3, Matched: 1, Differences: 3, Findings: []openapi.StatementFinding{
		{Kind: "amount", Line: 3, Name: "w\x1b[1m1", Ours: &ours, Theirs: &theirs, Note: "the amounts differ"},
		{Kind: "missing_there", Name: "w2", Ours: &ours, Note: "paid here"},
	}}
	got = run(t, f.at(), "statement", "match", "--bank", file, "--from", "2026-11-22T00:00:00+08:00", "--to",
		"2026-11-22T12:00:00Z")
	if got.code != cli.ExitFailure || !strings.Contains(got.stderr, "3 differences") ||
		!strings.Contains(newest(f), `"of":"deposits","from":1795276800000,"to":1795348800000,`) {
		t.Errorf("exit %d, %s; asked %s", got.code, got.stderr, newest(f))
	}
	golden(t, "statement-differs.golden", got.stdout)
}

// newest is the last request.
func newest(f *fake) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[len(f.requests)-1]
}

// TestStatementFaults: what cannot be meant is refused before anything is asked.
func TestStatementFaults(t *testing.T) {
	f := newFake(t)
	for args, want := range map[string]string{
		"--provider x --bank y --from 2026-11-22 --to 2026-11-22": "give one of them",
		"--from 2026-11-22 --to 2026-11-22":                       "give one of them",
		"--bank x --from yesterday --to 2026-11-22":               "--from: give a day",
		"--bank x --from 2026-11-22 --to 2026-11-21":              "it is not after --from",
		"--bank /nowhere --from 2026-11-22 --to 2026-11-22":       "no such file",
	} {
		got := run(t, f.at(), append([]string{"statement", "match"}, strings.Fields(args)...)...)
		if got.code == cli.ExitOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit %d, %s", args, got.code, got.stderr)
		}
	}
}

// TestStatementIsNotTheProvider: --provider of the server, in the environment or the file that both read, is not the
// statement of a match.
func TestStatementIsNotTheProvider(t *testing.T) {
	f := newFake(t)
	bank := filepath.Join(t.TempDir(), "bank.csv")
	testenv.Must(t, os.WriteFile(bank, []byte("a,b"), 0o600))
	settings := writeFile(t, "provider: http\n")
	for name, env := range map[string]map[string]string{
		"environment": {"REDRAIN_PROVIDER": "http"},
		"file":        {"REDRAIN_CONFIG": settings},
	} {
		maps.Copy(env, f.at())
		got := run(t, env, "statement", "match", "--bank", bank, "--from", "2026-11-22", "--to", "2026-11-22")
		if got.code != cli.ExitOK || !strings.Contains(newest(f), `"of":"deposits"`) {
			t.Errorf("%s: exit %d, %s", name, got.code, got.stderr)
		}
	}
	if got := run(t, nil, "statement", "match", "--help"); strings.Contains(got.stdout, "(REDRAIN_PROVIDER)") {
		t.Errorf("the help names a variable that is not read:\n%s", got.stdout)
	}
}
