package cli_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redrain/internal/cli"
	"redrain/payout/export"
	"redrain/payout/paytest"
	"redrain/rain"
)

// exportOfC1 is the export of a campaign that is over, packed.
func exportOfC1(t *testing.T) []byte {
	t.Helper()
	b := paytest.OnSQLite(t)
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 40, Packets: 4})
	b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u", 0, 10)))
	b.CloseCampaign(t, "c1")
	b.MustPost(t, paytest.ReclaimEntry(0, 2, paytest.Packets(1, 3)...))
	_, err := b.Update(t.Context(), "c1", func(c *rain.Campaign) error { c.Drained = true; return nil })
	paytest.Must(t, err)
	var file bytes.Buffer
	packed := gzip.NewWriter(&file)
	_, err = export.New(b.DB, func() int64 { return theDay }).Write(t.Context(), "c1", "ann", nil, packed)
	paytest.Must(t, err)
	paytest.Must(t, packed.Close())
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
	if got.code != cli.ExitFailure || !strings.Contains(got.stderr, "is there already") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
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
	for what, bytes := range map[string][]byte{"cut off": f.export, "none": []byte("{}")} {
		paytest.Must(t, os.WriteFile(file, bytes, 0o600))
		got = run(t, nil, "campaign", "verify", file)
		if got.code != cli.ExitFailure || !strings.Contains(got.stderr, "no whole export") {
			t.Errorf("%s: exit %d, %s", what, got.code, got.stderr)
		}
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
