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

// database holds the flags of the commands about a database's tables.
type database struct {
	MySQL       string        `need:"" group:"backends" secret:"" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, with a user who may create and change tables."`
	BackendWait time.Duration `group:"process" default:"30s" least:"1ms" help:"Longest wait for the database."`
}

func (c *database) check() (faults faultList) {
	err := config.CheckMySQL(c.MySQL)
	faults.when(c.MySQL != "" && err != nil, fmt.Sprint(err))
	return faults
}

func (c *database) options(app *App) server.MigrateOptions {
	return server.MigrateOptions{MySQL: c.MySQL, Wait: c.BackendWait, Log: app.newLogger("", 0)}
}

type migrateCmd struct {
	database
	DryRun bool `help:"Print the pending migrations, and change nothing."`
}

// Run migrates the tables to this version.
func (c *migrateCmd) Run(app *App) error {
	ctx, cancel := interruptible()
	defer cancel()
	run, what := server.Migrate, "done"
	if c.DryRun {
		run, what = server.Migrations, "to do"
	}
	all, err := run(ctx, c.options(app))
	if err != nil {
		return err
	}
	t, pending := newTable(app), false
	for _, m := range all {
		if !m.Done {
			pending = true
			t.row(what, m.Name)
		}
	}
	if !pending {
		t.row("nothing to do", "the tables are those of this version")
	}
	return t.w.Flush()
}

type migrateStatusCmd struct {
	database
	JSON bool `name:"json" own:"" help:"In JSON."`
}

// Run lists the migrations.
func (c *migrateStatusCmd) Run(app *App) error {
	ctx, cancel := interruptible()
	defer cancel()
	all, err := server.Migrations(ctx, c.options(app))
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app, map[string]any{"items": all})
	}
	t := newTable(app)
	for _, m := range all {
		state := "pending"
		if m.Done {
			state = "done"
		}
		t.row(state, m.Name)
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
