package cli

import (
	"time"

	"redrain/server"
	"redrain/server/config"
)

type migrateCmd struct {
	MySQL       string        `group:"backends" name:"mysql" placeholder:"DSN" help:"MySQL or MariaDB, with a user who may create and change tables."`
	BackendWait time.Duration `group:"process" default:"30s" help:"How long to wait for the database."`
	DryRun      bool          `help:"Say what is to be done, and do nothing."`
}

func (c *migrateCmd) check() []string {
	var faults []string
	if c.MySQL == "" {
		faults = append(faults, "--mysql: required")
	} else if err := config.CheckMySQL(c.MySQL); err != nil {
		faults = append(faults, err.Error())
	}
	if c.BackendWait <= 0 {
		faults = append(faults, "--backend-wait: give a duration above zero, for example 30s")
	}
	return faults
}

// Run brings the tables to this version.
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
	return t.flush()
}
