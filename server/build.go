package server

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// tools/release sets these with -ldflags -X: the version, such as 0.1.0, and the commit, with "+dirty" if files differ.
var version, revision string

// Build describes this binary, as tools/release and the toolchain have recorded it.
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
		return Build{Version: cmp.Or(version, "unknown")}
	}
	b := Build{Version: cmp.Or(version, info.Main.Version, "(devel)"), Go: info.GoVersion}
	if revision != "" {
		b.Revision, b.Modified = strings.CutSuffix(revision, "+dirty")
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
