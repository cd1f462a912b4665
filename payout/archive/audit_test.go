package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/payout/archive"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
)

// day lets a day pass on which n things are done, and takes its root.
func day(t testing.TB, b *paytest.Books, n int) chain.Root {
	t.Helper()
	for i := range n {
		must(t, b.Audit(context.Background(), ledger.AuditRecord{Actor: "ann", Action: "a.thing",
			Target: fmt.Sprint("thing ", i), Detail: []byte(`{"a":"<ü>"}`)}))
	}
	b.Clock.Add(24 * time.Hour.Milliseconds())
	root, err := chain.NewRoots(b.DB, b.Clock.Load).Take(context.Background())
	if err != nil || root == nil {
		t.Fatalf("%v, %v", root, err)
	}
	return *root
}

func auditFile(t testing.TB, a *archive.Archiver, p archive.Period) string {
	t.Helper()
	var file bytes.Buffer
	_, err := a.ExportAudit(context.Background(), p, "ann", &file)
	must(t, err)
	return file.String()
}

func readAudit(t testing.TB, file string, noted ...chain.Root) archive.AuditFile {
	t.Helper()
	f, err := archive.ReadAudit(strings.NewReader(file), noted)
	must(t, err)
	return f
}

// next is the day after a root's.
func next(t testing.TB, r chain.Root) string {
	t.Helper()
	at, err := time.Parse(time.DateOnly, r.Day)
	must(t, err)
	return at.AddDate(0, 0, 1).Format(time.DateOnly)
}

// TestAuditRecordsLeave drops the audit of three days in two turns, killed at each point: what is left is proved, and
// the records of exports stay.
func TestAuditRecordsLeave(t *testing.T) {
	t.Parallel()
	killed := errors.New("killed")
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		over(t, b, "c1", 5)
		campaign := exported(t, b, "c1")
		_, err := archive.New(b.DB, b.Clock.Now).Campaign(t.Context(), "c1", read(t, campaign), "ann")
		paytest.Must(t, err)
		days := []chain.Root{day(t, b, 7), day(t, b, 3), day(t, b, 4)}
		b.Clock.Add(1000)
		a := archive.New(b.DB, b.Clock.Now)
		for _, upTo := range []chain.Root{days[1], days[2]} {
			file := readAudit(t, auditFile(t, a, archive.Period{Before: next(t, upTo)}), days...)
			if file.To.Hash != upTo.Hash || file.Rows == 0 {
				t.Fatalf("%+v", file.AuditHeader)
			}
			met := map[string]bool{}
			for kills := 0; ; kills++ {
				a := archive.New(b.DB, b.Clock.Now)
				a.Rows = 2
				a.Passed = func(point string) error {
					at := fmt.Sprint(point, b.Count(t, "SELECT COUNT(*) FROM audit"))
					if met[at] {
						return nil
					}
					met[at] = true
					return killed
				}
				_, err := a.Audit(t.Context(), file, "ann")
				clean(t, b, "killed")
				if err == nil {
					break
				}
				if !errors.Is(err, killed) || kills > 30 {
					t.Fatal(err)
				}
			}
			if len(met) < 3 {
				t.Errorf("%v", met)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'a.thing'"); n != 0 {
			t.Errorf("%d records are left", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action IN ('campaign.export', 'audit.export')"); n != 3 {
			t.Errorf("%d records of exports are left", n)
		}
		p, err := a.Campaign(t.Context(), "c1", read(t, campaign), "ann")
		if err != nil || p.FinishedAt == 0 {
			t.Errorf("the campaign again: %+v, %v", p, err)
		}
		roots, err := chain.AllRoots(t.Context(), b.DB)
		paytest.Must(t, err)
		audited, err := chain.Audit(t.Context(), b.DB, chain.AuditOptions{Noted: roots,
			Found: func(s string) { t.Error(s) }})
		if err != nil || audited.Broken > 0 {
			t.Errorf("%+v, %v", audited, err)
		}
	})
}

// TestWhatOfTheAuditIsNotDropped refuses files that are not the ledger's, or do not begin where the last one ended.
func TestWhatOfTheAuditIsNotDropped(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	days := []chain.Root{day(t, b, 3), day(t, b, 3)}
	a := archive.New(b.DB, b.Clock.Now)
	if _, err := a.ExportAudit(t.Context(), archive.Period{Day: "2031-01-01"}, "ann", &bytes.Buffer{}); !errors.Is(err,
		archive.ErrNoRoot) {
		t.Errorf("a day without a root: %v", err)
	}
	one := readAudit(t, auditFile(t, a, archive.Period{Day: days[1].Day}))
	if one.From == nil || one.Rows != 3 {
		t.Errorf("%+v", one.AuditHeader)
	}
	if _, err := a.Audit(t.Context(), one, "ann"); !errors.Is(err, archive.ErrDiffers) {
		t.Errorf("a day in the middle: %v", err)
	}
	all := readAudit(t, auditFile(t, a, archive.Period{Before: next(t, days[1])}))
	b.Statement(t, "UPDATE audit SET actor = 'eve' WHERE target = 'thing 1'")
	if _, err := a.Audit(t.Context(), all, "ann"); !errors.Is(err, archive.ErrDiffers) {
		t.Errorf("a record that was changed: %v", err)
	}
	b.Statement(t, "UPDATE audit SET actor = 'ann' WHERE target = 'thing 1'")
	b.Statement(t, "UPDATE audit SET detail = 'null' WHERE action = 'audit.export'")
	other := readAudit(t, auditFile(t, archive.New(b.DB, b.Clock.Now), archive.Period{Day: days[0].Day}))
	b.Statement(t, "UPDATE audit SET detail = 'null' WHERE action = 'audit.export'")
	if _, err := a.Audit(t.Context(), other, "ann"); !errors.Is(err, archive.ErrUnknownFile) {
		t.Errorf("a file that the audit does not know: %v", err)
	}
}

// TestNoForgedAuditIsProved changes each byte of a record, takes records out, and puts in a root of its own.
func TestNoForgedAuditIsProved(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	root := day(t, b, 3)
	file := auditFile(t, archive.New(b.DB, b.Clock.Now), archive.Period{Day: root.Day})
	readAudit(t, file, root)
	lines := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	refuse := func(what, forged string, noted ...chain.Root) {
		t.Helper()
		if _, err := archive.ReadAudit(strings.NewReader(forged), noted); !errors.Is(err, archive.ErrNoAudit) {
			t.Errorf("%s: %v", what, err)
		}
	}
	sealed := func(of []string) string {
		text := strings.Join(of, "\n") + "\n"
		sum := sha256.Sum256([]byte(text))
		return text + fmt.Sprintf(`{"rows":%d,"sha256":%q}`, len(of)-1, hex.EncodeToString(sum[:])) + "\n"
	}
	body := lines[:len(lines)-1]
	for n := range body {
		for _, change := range [][2]string{{"ann", "eve"}, {"thing", "think"}, {`"link":2`, `"link":3`}, {"a.", "b."},
			{root.Hash, strings.Repeat("0", 64)}} {
			forged := append([]string{}, body...)
			if forged[n] = strings.Replace(forged[n], change[0], change[1], 1); forged[n] != body[n] && n > 0 {
				refuse(fmt.Sprint(n, change), sealed(forged))
			}
		}
		if n > 0 {
			refuse("a record less", sealed(append(append([]string{}, body[:n]...), body[n+1:]...)))
		}
	}
	refuse("another root", strings.Replace(file, root.Hash, strings.Repeat("0", 64), 1))
	noted := root
	noted.Hash = strings.Repeat("1", 64)
	refuse("a root that was noted otherwise", file, noted)
	for at := range lines {
		refuse("cut off", strings.Join(lines[:at], "\n"))
	}
	refuse("something behind", file+"x")
}
