// Package buildinfo says which build of redrain this is. The command line prints it, and a console asks the server for it.
package buildinfo

import "runtime/debug"

// Info is what the toolchain has noted of this binary.
type Info struct {
	Version  string `json:"version"` // "(devel)" for a build of no released version, "unknown" for one without notes
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes that were not committed
	Go       string `json:"go"`
}

// Read is this binary's.
func Read() Info { return of(debug.ReadBuildInfo()) }

func of(info *debug.BuildInfo, ok bool) Info {
	if !ok {
		return Info{Version: "unknown"}
	}
	b := Info{Version: info.Main.Version, Go: info.GoVersion}
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
