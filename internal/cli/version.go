package cli

import (
	"fmt"
	"runtime/debug"
)

type versionCmd struct {
	JSON bool `name:"json" help:"In JSON."`
}

func (c *versionCmd) check() []string { return nil }

// build is what the toolchain has noted of this binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes that were not committed
	Go       string `json:"go"`
}

// Run prints the version.
func (c *versionCmd) Run(app *App) error {
	b := readBuild(debug.ReadBuildInfo())
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

func readBuild(info *debug.BuildInfo, ok bool) build {
	if !ok {
		return build{Version: "unknown"}
	}
	b := build{Version: info.Main.Version, Go: info.GoVersion}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
