package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redrain/internal/cli"
)

// TestAuditWithNotedRoots: what audit roots prints is what audit verify takes.
func TestAuditWithNotedRoots(t *testing.T) {
	f := newFake(t)
	kept := writeFile(t, run(t, f.at(), "audit", "roots").stdout)
	got := run(t, f.at(), "audit", "verify", "--root", kept)
	if got.code != cli.ExitOK || !strings.Contains(got.stdout, "no row has changed since it was hashed") {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	f.mu.Lock()
	sent := f.requests[len(f.requests)-1]
	f.mu.Unlock()
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
	if want := "redrain: the ledger was changed behind redrain's back: 3 faults\n"; got.code !=
		cli.ExitFailure || got.stderr != want {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	golden(t, "audit-fails.golden", got.stdout)
}

// TestAuditFaults: what cannot be meant is refused before anything is asked.
func TestAuditFaults(t *testing.T) {
	f := newFake(t)
	for args, want := range map[string]string{
		"--from=yesterday": "--from: give a day such as 2026-11-22",
		"--root=" + filepath.Join(t.TempDir(), "none"):       "--root: open ",
		"--root=" + writeFile(t, ""):                         "--root: there is no root in ",
		"--root=" + writeFile(t, `{"day":"2026-02-15"}`+"{"): "--root: root 2 in ",
		"--root=" + writeFile(t, `{"roots":31}`):             "--root: root 1 in ",
	} {
		if got := run(t, f.at(), "audit", "verify", args); got.code == cli.ExitOK ||
			!strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit %d, %s", args, got.code, got.stderr)
		}
	}
	if len(f.requests) > 0 {
		t.Errorf("asked: %q", f.requests)
	}
}
