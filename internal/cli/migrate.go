package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"redrain/rain"
	"redrain/server"
	"redrain/server/config"
)

type migrateCmd struct {
	MySQL       string        `need:"" group:"backends" secret:"" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, with a user who may create and change tables."`
	BackendWait time.Duration `group:"process" default:"30s" least:"1ms" help:"Longest wait for the database."`
	DryRun      bool          `help:"Print the pending migrations, and change nothing."`
}

func (c *migrateCmd) check() (faults faultList) {
	err := config.CheckMySQL(c.MySQL)
	faults.when(c.MySQL != "" && err != nil, fmt.Sprint(err))
	return faults
}

// Run migrates the tables to this version.
func (c *migrateCmd) Run(app *App) error {
	ctx, cancel := interruptible()
	defer cancel()
	names, err := server.Migrate(ctx, server.MigrateOptions{MySQL: c.MySQL, Wait: c.BackendWait, Dry: c.DryRun,
		Log: app.newLogger("", 0)})
	if err != nil {
		return err
	}
	t := newTable(app)
	what := "done"
	if c.DryRun {
		what = "to do"
	}
	for _, name := range names {
		t.row(what, name)
	}
	if len(names) == 0 {
		t.row("nothing to do", "the tables are those of this version")
	}
	return t.w.Flush()
}

// restoredCmd works on the database itself, because no server may run at its start.
type restoredCmd struct {
	MySQL    string `group:"backends" secret:"" name:"mysql" placeholder:"DSN" help:"The restored database."`
	DataDir  string `group:"backends" placeholder:"DIR" help:"Or the directory that its file is in. No server may run on it."`
	By       string `need:"" placeholder:"NAME" help:"Name of the person, for the audit. Required."`
	Reason   string `placeholder:"TEXT" help:"Which backup, and why. Required, except with --paid."`
	Paid     string `placeholder:"FILE" help:"Enter the provider's payments since the backup: a CSV file with the columns withdrawal, user, amount and reference."`
	Receiver string `placeholder:"NAME" help:"With --paid: the receiver that has made the payments unknown to the ledger, by its name in the ledger."`
	End      bool   `help:"Resume withdrawals: all payments are entered."`
}

func (c *restoredCmd) check() (faults faultList) {
	faults.when((c.MySQL == "") == (c.DataDir == ""), "--mysql: give this or --data-dir, whichever the server has")
	faults.when(c.Paid == "" && c.Reason == "", "--reason: required, it is kept in the audit")
	faults.when(strings.ContainsFunc(c.By+c.Reason+c.Receiver, rain.IsControl),
		"--by, --reason and --receiver: have no control characters")
	faults.when(c.Paid != "" && c.End, "--end: not together with --paid; read its output first")
	return faults
}

// Run records a restore, enters payments, or ends the restore.
func (c *restoredCmd) Run(app *App) error {
	ctx := context.Background()
	cfg := config.Default()
	cfg.MySQL, cfg.DataDir = c.MySQL, c.DataDir
	books, err := server.OpenRestored(ctx, cfg, app.newLogger(logText, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer books.Close()
	switch {
	case c.Paid != "":
		statement, err := os.Open(c.Paid)
		if err != nil {
			return err
		}
		defer func() { _ = statement.Close() }() // it was only read
		return books.Enter(ctx, statement, c.Receiver, app.Stdout)
	case c.End:
		if err := books.End(ctx, c.By, c.Reason); err != nil {
			return err
		}
		_, err = fmt.Fprintln(app.Stdout, "withdrawals go on")
	default:
		if err := books.Begin(ctx, c.By, c.Reason); err != nil {
			return err
		}
		_, err = fmt.Fprintln(app.Stdout, "noted: servers that start now read the stream again from its beginning, "+
			"and hold withdrawals until --end")
	}
	return err
}
