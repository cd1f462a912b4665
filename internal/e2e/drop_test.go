package e2e

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestADropThatIsKilledIsCarriedOn kills redrain campaign drop at each point, proves what it has
// left, and calls it again.
func TestADropThatIsKilledIsCarriedOn(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	dir := t.TempDir()
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite(filepath.Join(dir, "ledger.db")) })
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 50, Packets: 5})
	for packet, user := range []string{"u", "v", "u"} {
		b.MustPost(t, paytest.Entry("c1", packet+1, paytest.Win(user, packet, 10)))
	}
	b.CloseCampaign(t, "c1")
	b.MustPost(t, paytest.ReclaimEntry(0, 9, paytest.Packets(3, 4)...))
	_, err := b.Update(t.Context(), "c1", func(c *rain.Campaign) error { c.Drained = true; return nil })
	paytest.Must(t, err)
	file := exportTo(t, b, filepath.Join(dir, "c1.gz"))
	drop := func(fault string) error {
		cmd := exec.Command(testenv.Binary(t, "faults"), "campaign", "drop", "c1", "--data-dir", dir, "--export", file)
		cmd.Env = append(os.Environ(), "REDRAIN_FAULT_AT="+fault)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		t.Logf("%s: %v %s", fault, err, out)
		return err
	}
	for _, point := range []string{"archive.began", "archive.step", "archive.winners", "archive.finished"} {
		if err := drop(point); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%s: %v", point, err)
		}
		books, err := b.Proof.ReconcileAll(t.Context(), paytest.NewFakeRedis(b.Clock.Now), nil)
		if err != nil || !books.Balanced {
			t.Fatalf("killed at %s: %+v, %v", point, books, err)
		}
	}
	if err := drop(""); err != nil {
		t.Error(err)
	}
	if n := b.Count(t, "SELECT COUNT(*) FROM payout") + b.Count(t, "SELECT COUNT(*) FROM winner"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if balance, err := b.UserBalance(t.Context(), "u"); err != nil || balance != 20 {
		t.Errorf("%d, %v", balance, err)
	}
}

// exportTo writes the export of c1 to a file, as redrain campaign export does, with its record in the audit.
func exportTo(t *testing.T, b *paytest.Books, name string) string {
	t.Helper()
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	trailer, err := export.New(b.DB, b.Clock.Now).Write(t.Context(), "c1", "ann", nil, to)
	paytest.Must(t, err)
	paytest.Must(t, to.Close())
	paytest.Must(t, os.WriteFile(name, packed.Bytes(), 0o600))
	paytest.Must(t, b.Audit(t.Context(), ledger.AuditRecord{Actor: "ann", Action: "campaign.export",
		Target: "campaign:c1", Detail: []byte(`{"sha256":"` + trailer.SHA256 + `"}`)}))
	return name
}
