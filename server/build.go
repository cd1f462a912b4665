package server

import "runtime/debug"

// Build describes this binary, as the toolchain has recorded it.
type Build struct {
	Version  string `json:"version"` // "(devel)" for a build of no released version, "unknown" without a record
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with uncommitted changes
	Go       string `json:"go"`
}

// ReadBuild returns the description of this binary.
func ReadBuild() Build { return buildOf(debug.ReadBuildInfo()) }

func buildOf(info *debug.BuildInfo, ok bool) Build {
	if !ok {
		return Build{Version: "unknown"}
	}
	b := Build{Version: info.Main.Version, Go: info.GoVersion}
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
