package cli_test

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redrain/client/openapi"
	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestAuditWithNotedRoots: audit verify reads the output of audit roots.
func TestAuditWithNotedRoots(t *testing.T) {
	f := newFake(t)
	kept := writeFile(t, run(t, f.at(), "audit", "roots").stdout)
	got := run(t, f.at(), "audit", "verify", "--root", kept)
	if got.code != cli.ExitOK || !strings.Contains(got.stdout, "no row has changed since it was hashed") {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	sent := newest(f)
	want := `POST /api/v1/audit/verify {"roots":[{"day":"2026-02-15","at":1771243200000,"previous":"","blocks":` +
		`[{"book":"txn","number":7,"last":12,"rows":12,"hash":"cd"}],"root":"0b"},{"day":"2026-02-16",`
	if !strings.HasPrefix(sent, want) {
		t.Errorf("sent %s", sent)
	}
}

// TestAuditFails where a row differs from its hash, and names the place.
func TestAuditFails(t *testing.T) {
	f := newFake(t)
	f.audited.Whole, f.audited.Faults = false, 3
	f.audited.Findings = []string{"transaction 13 (deposit:big:r0) is not what was written"}
	got := run(t, f.at(), "audit", "verify")
	got.exits(t, cli.ExitFailure, "redrain: the ledger was changed behind redrain's back: 3 faults\n")
	golden(t, "audit-fails.golden", got.stdout)
}

// TestProofFaults: what cannot be meant is refused before anything is asked.
func TestProofFaults(t *testing.T) {
	f := newFake(t)
	for args, want := range map[string]string{
		"audit verify --from=yesterday":                                           "--from: give a day such as ",
		"audit verify --root=" + filepath.Join(t.TempDir(), "none"):               "--root: open ",
		"audit verify --root=" + writeFile(t, ""):                                 "--root: there is no root in ",
		"audit verify --root=" + writeFile(t, `{"day":"2026-02-15"}`+"{"):         "--root: root 2 in ",
		"audit verify --root=" + writeFile(t, `{"day":"2026-02-15"}`+"}"):         "--root: root 2 in ",
		"audit verify --root=" + writeFile(t, `{"roots":31}`):                     "--root: root 1 in ",
		"statement match --provider x --bank y --from 2026-11-22 --to 2026-11-22": "give one of them",
		"statement match --from 2026-11-22 --to 2026-11-22":                       "give one of them",
		"statement match --bank x --from yesterday --to 2026-11-22":               "--from: give a day",
		"statement match --bank x --from 2026-11-22 --to 2026-11-21":              "it is not after --from",
		"statement match --bank /nowhere --from 2026-11-22 --to 2026-11-22":       "no such file",
	} {
		got := run(t, f.at(), strings.Fields(args)...)
		if got.code == cli.ExitOK || !strings.Contains(got.stderr, want) || len(f.requests) > 0 {
			t.Errorf("%s: exit %d, %s; asked %q", args, got.code, got.stderr, f.requests)
		}
	}
}

// TestStatementMatch checks the request, the output and the exit code.
func TestStatementMatch(t *testing.T) {
	f := newFake(t)
	file := writeFile(t, "a,b")
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

// TestStatementIsNotTheProvider: --provider of the server, in the environment or the file that both read, is not the
// statement of a match.
func TestStatementIsNotTheProvider(t *testing.T) {
	f := newFake(t)
	bank := writeFile(t, "a,b")
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

// exportOfC1 is the export of a campaign that is over, packed.
func exportOfC1(t *testing.T) []byte {
	t.Helper()
	b := paytest.OnSQLite(t)
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 40, Packets: 4})
	b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u", 0, 10)))
	b.CloseCampaign(t, "c1")
	b.MustPost(t, paytest.ReclaimEntry(0, 2, paytest.Packets(1, 3)...))
	_, err := b.Update(t.Context(), "c1", func(c *rain.Campaign) error { c.Drained = true; return nil })
	testenv.Must(t, err)
	var file bytes.Buffer
	packed := gzip.NewWriter(&file)
	_, err = export.New(b.DB, func() int64 { return theDay }).Write(t.Context(), "c1", "ann", nil, packed)
	testenv.Must(t, err)
	testenv.Must(t, packed.Close())
	return file.Bytes()
}

// TestExport writes a file, proves it, and writes over none.
func TestExport(t *testing.T) {
	f := newFake(t)
	f.export = exportOfC1(t)
	file := filepath.Join(t.TempDir(), "c1.jsonl.gz")
	got := run(t, f.at(), "campaign", "export", "c1", "--to", file)
	if got.code != cli.ExitOK || !strings.Contains(got.stdout, "proved") {
		t.Fatalf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, f.export) {
		t.Errorf("%d bytes, %v", len(kept), err)
	}
	if again := run(t, nil, "campaign", "verify", file); again.code != cli.ExitOK || again.stdout != got.stdout {
		t.Errorf("exit %d, %s%s", again.code, again.stdout, again.stderr)
	}
	got = run(t, f.at(), "campaign", "export", "c1", "--to", file)
	got.exitsSaying(t, cli.ExitFailure, "is there already")
}

// TestExportThatIsNotWhole gets no name of its own, and one that was changed is not proved.
func TestExportThatIsNotWhole(t *testing.T) {
	f := newFake(t)
	whole := exportOfC1(t)
	file := filepath.Join(t.TempDir(), "c1.jsonl.gz")
	f.export = whole[:len(whole)-20]
	got := run(t, f.at(), "campaign", "export", "c1", "--to", file)
	if _, err := os.Stat(file); got.code != cli.ExitFailure || err == nil {
		t.Errorf("exit %d, %s; %v", got.code, got.stderr, err)
	}
	for _, bytes := range [][]byte{f.export, []byte("{}")} { // cut off, and none
		testenv.Must(t, os.WriteFile(file, bytes, 0o600))
		got = run(t, nil, "campaign", "verify", file)
		got.exitsSaying(t, cli.ExitFailure, "no whole export")
	}
	if got := run(t, f.at(), "campaign", "export", "c2", "--to", file+"2"); got.code != cli.ExitFailure {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	if _, err := os.Stat(file + "2.part"); err == nil {
		t.Error("a file of nothing was left")
	}
	if got := run(t, f.at(), "campaign", "export", "c1"); got.code != cli.ExitUsage {
		t.Errorf("without --to: exit %d, %s", got.code, got.stderr)
	}
}
