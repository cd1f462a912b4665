package cli

import (
	"fmt"

	"redrain/server"
)

type versionCmd struct {
	JSON bool `name:"json" help:"In JSON."`
}

func (c *versionCmd) check() []string { return nil }

// Run prints the version.
func (c *versionCmd) Run(app *App) error {
	b := server.ReadBuild()
	if c.JSON {
		return printJSON(app, b)
	}
	text := "redrain " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	_, err := fmt.Fprintln(app.Stdout, text, b.Go)
	return err
}
