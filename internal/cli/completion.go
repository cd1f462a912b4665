package cli

import (
	"fmt"

	"github.com/willabides/kongplete"
)

// completionScripts say to each shell that it may ask redrain itself what could come next: it sets COMP_LINE to what is
// typed so far.
var completionScripts = map[string]string{
	"bash": `complete -o default -C "redrain" redrain`,
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\n" + `complete -o default -C "redrain" redrain`,
	"fish": "complete -c redrain -a '(env COMP_LINE=(commandline -cp) redrain)'",
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) check() []string { return nil }

// Run prints the script, for `source <(redrain completion bash)` and its like.
func (c *completionCmd) Run(app *App) error {
	_, err := fmt.Fprintln(app.Stdout, completionScripts[c.Shell])
	return err
}

// complete answers a shell, whose question stands in the process's environment.
func (a *App) complete() int {
	code := ExitOK
	kongplete.Complete(a.newParser(), kongplete.WithExitFunc(func(c int) { code = c }))
	return code
}
