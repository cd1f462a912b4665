package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"redrain/server"
	"redrain/server/config"
)

// configCheckCmd checks the settings of serve and the files that they name. It opens no connection and no address.
type configCheckCmd struct{ serveCmd }

func (c *configCheckCmd) check() (faults faultList) {
	if faults = c.serveCmd.check(); len(faults) > 0 {
		return faults
	}
	for _, err := range server.CheckFiles(c.Config) {
		faults = append(faults, err.Error())
	}
	return faults
}

// Run reports that there is no fault.
func (c *configCheckCmd) Run(app *App) error {
	_, err := fmt.Fprintln(app.Stdout, "the settings are valid")
	return err
}

// configPrintCmd prints the effective settings of serve.
type configPrintCmd struct {
	config.Config

	JSON bool `name:"json" own:"" help:"In JSON."`

	effective []setting
}

// setting is an effective setting.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"` // of a secret: stars
	From  string `json:"from"`  // "flag", "environment REDRAIN_…", "file … line …" or "default"
}

// describe records the values of the command's flags and their sources. files are those of secrets, by their flags.
func (c *configPrintCmd) describe(ctx *kong.Context, from, files map[string]string) {
	typed := map[*kong.Flag]bool{}
	for _, path := range ctx.Path {
		typed[path.Flag] = !path.Resolved
	}
	for _, f := range ctx.Selected().Flags {
		if f.Name == "json" || f.Name == "help" {
			continue
		}
		is := setting{f.Name, plainValue(f.Target), "default"}
		source := from[f.Name]
		switch {
		case files[f.Name] != "":
			is.From = "file " + files[f.Name]
		case source == config.EnvName(f.Name):
			is.From = "environment " + source
		case source != "":
			is.From = "file " + source
		case typed[f]:
			is.From = "flag"
		}
		if config.IsSecret(f.Value) && is.Value != "" {
			is.Value = "********"
		}
		c.effective = append(c.effective, is)
	}
}

func plainValue(v reflect.Value) string {
	v = reflect.Indirect(v)
	if !v.IsValid() {
		return ""
	}
	if list, ok := reflect.TypeAssert[[]string](v); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}

// Run prints the settings.
func (c *configPrintCmd) Run(app *App) error {
	if c.JSON {
		return printJSON(app, map[string]any{"items": c.effective})
	}
	t := newTable(app)
	t.row("SETTING", "VALUE", "FROM")
	for _, s := range c.effective {
		t.row(s.Name, s.Value, s.From)
	}
	return t.w.Flush()
}

type configSampleCmd struct{}

// Run prints a file with every setting.
func (configSampleCmd) Run(app *App) error {
	_, err := fmt.Fprint(app.Stdout, config.Sample())
	return err
}
