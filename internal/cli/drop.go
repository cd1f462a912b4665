package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"redrain/payout/archive"
	"redrain/payout/export"
	"redrain/server"
	"redrain/server/config"
)

// ledgerFlags say which ledger is worked on, without its server, and who has it done.
type ledgerFlags struct {
	By          string        `placeholder:"NAME" help:"Who does it: the name goes into the audit. Left out: the user of this machine."`
	MySQL       string        `group:"backends" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, with a user who may delete rows, which servers' users may not."`
	DataDir     string        `group:"backends" placeholder:"DIR" help:"Instead of --mysql: the data directory of a server that is stopped."`
	BackendWait time.Duration `group:"process" default:"30s" help:"How long to wait for the database."`
	JSON        bool          `name:"json" help:"Answer in JSON."`
}

func (c *ledgerFlags) check() (faults []string) {
	switch {
	case (c.MySQL == "") == (c.DataDir == ""):
		faults = append(faults, "--mysql: give it, or --data-dir")
	case c.MySQL != "":
		if err := config.CheckMySQL(c.MySQL); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if c.BackendWait <= 0 {
		faults = append(faults, "--backend-wait: give a duration above zero, for example 30s")
	}
	return faults
}

// actor is who does it.
func (c *ledgerFlags) actor() string {
	if by := strings.TrimSpace(c.By); by != "" {
		return by
	}
	if is, err := user.Current(); err == nil {
		return is.Username
	}
	return "unknown"
}

// open works on the ledger.
func (c *ledgerFlags) open(app *App, do func(context.Context, *archive.Archiver) error) (err error) {
	ctx, cancel := interruptible()
	defer cancel()
	a, stop, err := server.OpenArchive(ctx, server.ArchiveOptions{MySQL: c.MySQL, DataDir: c.DataDir,
		Wait: c.BackendWait,
		Log:  app.newLogger("", 0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return do(ctx, a)
}

// drop has something removed, and shows its paper.
func (c *ledgerFlags) drop(app *App, do func(context.Context, *archive.Archiver) (archive.Paper, error)) error {
	return c.open(app, func(ctx context.Context, a *archive.Archiver) error {
		p, err := do(ctx, a)
		if err != nil {
			return err
		}
		to := remote{JSON: c.JSON}
		return to.show(app, p, func(t *table) { t.dropped(p) })
	})
}

type campaignDropCmd struct {
	Campaign string `arg:"" help:"The campaign's id."`
	Export   string `placeholder:"FILE" help:"The file that has it all, as campaign export has written it. Required."`
	ledgerFlags
}

func (c *campaignDropCmd) check() []string {
	faults := c.ledgerFlags.check()
	if c.Export == "" {
		faults = append(faults, "--export: required")
	}
	return faults
}

// Run removes the campaign's payouts, once its export is proved.
func (c *campaignDropCmd) Run(app *App) error {
	var f archive.File
	err := unpacked(c.Export, func(from io.Reader) (err error) {
		f, err = archive.ReadFile(from)
		return err
	})
	if err != nil {
		return err
	}
	return c.drop(app, func(ctx context.Context, a *archive.Archiver) (archive.Paper, error) {
		return a.Campaign(ctx, c.Campaign, f, c.actor())
	})
}

// unpacked reads a gzip file.
func unpacked(name string, read func(io.Reader) error) error {
	file, err := os.Open(name) //nolint:gosec // the caller's own
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	packed, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, export.ErrNoExport, err)
	}
	if err := read(packed); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (t *table) dropped(p archive.Paper) {
	t.row("dropped", p.ID)
	t.row("links", p.Links)
	if p.Payouts+p.PacketsBack > 0 {
		t.row("payouts", p.Payouts)
		t.row("paid", p.AmountPaid)
		t.row("reclaimed", p.AmountBack)
	}
	t.row("by", p.Actor)
	t.row("finished", t.at(p.FinishedAt))
	t.row("export", p.File)
}
