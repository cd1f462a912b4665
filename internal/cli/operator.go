package cli

import (
	"fmt"

	"redrain/internal/auth"
)

type operatorTokenCmd struct {
	Name string `required:"true" placeholder:"NAME" help:"Whose token it is. The audit log names them."`
	Role string `required:"true" placeholder:"ROLE" help:"What they may do: viewer, operator, cashier or admin; several with commas."`
	JSON bool   `name:"json" help:"As JSON."`
}

func (c *operatorTokenCmd) check() []string {
	var faults []string
	if err := auth.CheckOperatorName(c.Name); err != nil {
		faults = append(faults, "--"+err.Error())
	}
	if _, err := auth.ParseRoles(c.Role); err != nil {
		faults = append(faults, "--role: "+err.Error())
	}
	return faults
}

// Run makes a token, and prints it with the line that the operators' file gets. The token itself is kept nowhere.
func (c *operatorTokenCmd) Run(app *App) error {
	token, hash := auth.NewOperatorToken()
	if c.JSON {
		return printJSON(app, map[string]any{"token": token, "name": c.Name, "role": c.Role, "sha256": hash})
	}
	_, err := fmt.Fprintf(app.Stdout, "%s, once and for all:\n\n  %s\n\nFor the file of --operators-file:\n\n"+
		"- {name: %q, role: %q, sha256: %s}\n", c.Name, token, c.Name, c.Role, hash)
	return err
}
