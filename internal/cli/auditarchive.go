package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"redrain/payout/archive"
)

// auditPeriod is a part of the audit.
type auditPeriod struct {
	Before string `placeholder:"DAY" help:"All records before this day, such as 2026-11-22, that have not left the ledger yet."`
	Day    string `placeholder:"DAY" help:"Instead of --before: the records of this day."`
}

func (p *auditPeriod) check() (faults []string) {
	if (p.Before == "") == (p.Day == "") {
		faults = append(faults, "--before: give it, or --day")
	}
	for name, day := range map[string]string{"--before": p.Before, "--day": p.Day} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			faults = append(faults, name+": give a day such as 2026-11-22")
		}
	}
	return faults
}

type auditExportCmd struct {
	auditPeriod
	To string `placeholder:"FILE" help:"Where to write it: a gzip file of lines of JSON. Required; there must be none yet."`
	ledgerFlags
}

func (c *auditExportCmd) check() []string {
	faults := append(c.auditPeriod.check(), c.ledgerFlags.check()...)
	if c.To == "" {
		faults = append(faults, "--to: required")
	}
	return faults
}

// Run writes the file, and proves it.
func (c *auditExportCmd) Run(app *App) error {
	if _, err := os.Lstat(c.To); err == nil {
		return fmt.Errorf("--to: %s is there already", c.To)
	}
	part := c.To + ".part"
	err := c.open(app, func(ctx context.Context, a *archive.Archiver) error { return c.write(ctx, a, part) })
	if err != nil {
		_ = os.Remove(part) // there may be none, and the error is told
		return err
	}
	f, err := readAuditFile(part, nil)
	if err != nil {
		return err
	}
	if err := c.show(app, f); err != nil {
		return err
	}
	return os.Rename(part, c.To)
}

func (c *auditExportCmd) write(ctx context.Context, a *archive.Archiver, name string) (err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the caller's own
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed := gzip.NewWriter(file)
	if _, err := a.ExportAudit(ctx, archive.Period{Day: c.Day, Before: c.Before}, c.actor(), packed); err != nil {
		return err
	}
	return errors.Join(packed.Close(), file.Sync())
}

type auditCheckCmd struct {
	File string `arg:"" help:"A file that audit export has written."`
	Root string `placeholder:"FILE" help:"Roots that were kept outside of the database, as --audit-root-file and audit roots write them. Those of the file must be among them."`
	JSON bool   `name:"json" help:"Answer in JSON."`
}

func (*auditCheckCmd) check() []string { return nil }

// Run proves the file.
func (c *auditCheckCmd) Run(app *App) error {
	var noted archive.Roots
	if c.Root != "" {
		file, err := os.Open(c.Root)
		if err != nil {
			return fmt.Errorf("--root: %w", err)
		}
		noted, err = archive.ReadRoots(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("--root: %w", err)
		}
	}
	f, err := readAuditFile(c.File, noted)
	if err != nil {
		return err
	}
	to := ledgerFlags{JSON: c.JSON}
	return to.show(app, f)
}

type auditDropCmd struct {
	Before string `placeholder:"DAY" help:"The day up to which the export goes. Required."`
	Export string `placeholder:"FILE" help:"The file that has the records, as audit export --before has written it. Required."`
	ledgerFlags
}

func (c *auditDropCmd) check() []string {
	faults := c.ledgerFlags.check()
	if _, err := time.Parse(time.DateOnly, c.Before); err != nil {
		faults = append(faults, "--before: give a day such as 2026-11-22")
	}
	if c.Export == "" {
		faults = append(faults, "--export: required")
	}
	return faults
}

// Run removes the records, once the export is proved.
func (c *auditDropCmd) Run(app *App) error {
	f, err := readAuditFile(c.Export, nil)
	if err != nil {
		return err
	}
	if f.To.Day >= c.Before {
		return fmt.Errorf("%s has records of %s, which is not before %s", c.Export, f.To.Day, c.Before)
	}
	return c.drop(app, func(ctx context.Context, a *archive.Archiver) (archive.Paper, error) {
		return a.Audit(ctx, f, c.actor())
	})
}

func readAuditFile(name string, noted archive.Roots) (f archive.AuditFile, err error) {
	err = unpacked(name, func(from io.Reader) (err error) {
		f, err = archive.ReadAudit(from, noted)
		return err
	})
	return f, err
}

// show tells what a file of audit records has.
func (c *ledgerFlags) show(app *App, f archive.AuditFile) error {
	to := remote{JSON: c.JSON}
	said := struct {
		From   string `json:"from"` // the day of the root behind which it begins; "": it begins with the ledger
		To     string `json:"to"`   // the day of the root with which it ends
		Root   string `json:"root"`
		Rows   int64  `json:"rows"`
		SHA256 string `json:"sha256"`
	}{"", f.To.Day, f.To.Hash, f.Rows, f.SHA256}
	if f.From != nil {
		said.From = f.From.Day
	}
	return to.show(app, said, func(t *table) {
		if said.From != "" {
			t.row("after", said.From)
		}
		t.row("up to", said.To)
		t.row("root", said.Root)
		t.row("rows", said.Rows)
		t.row("sha256", said.SHA256)
		t.row("proved", "every record follows the one before, from root to root")
	})
}
