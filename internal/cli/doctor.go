package cli

import (
	"fmt"
	"log/slog"

	"redrain/server"
	"redrain/server/health"
)

// doctorCmd examines the back ends and the machine for the settings of serve.
type doctorCmd struct {
	configCheckCmd

	Nodes int  `own:"" default:"2" range:"1.." help:"Nodes that will share the database."`
	JSON  bool `name:"json" own:"" help:"In JSON."`
}

func (c *doctorCmd) check() faultList {
	faults := c.configCheckCmd.check()
	faults.when(c.Nodes < 1, "--nodes: give 1 or more")
	return faults
}

// Run prints the findings. It fails if one of them is.
func (c *doctorCmd) Run(app *App) error {
	ctx, cancel := interruptible()
	defer cancel()
	server.SetUpLibraries(slog.New(slog.DiscardHandler))
	findings := server.Diagnose(ctx, c.Config, c.Nodes)
	if c.JSON {
		if err := printJSON(app, map[string]any{"findings": findings}); err != nil {
			return err
		}
	}
	failed := 0
	for _, f := range findings {
		if f.Level == health.Fail {
			failed++
		}
		if c.JSON {
			continue
		}
		if _, err := fmt.Fprintf(app.Stdout, "%-4s  %-18s  %s (%s)\n", f.Level, f.Check, printable(f.Text),
			f.Link); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s failed", count(failed, "check"))
	}
	return nil
}
