package server

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// tools/release sets these with -ldflags -X: the version, such as 0.1.0, and the commit, with "+dirty" if files differ.
var version, revision string

// Build describes this binary, as tools/release and the toolchain have recorded it.
type Build struct {
	Version  string `json:"version"`            // "(devel)" between releases, "unknown" without a record
	Revision string `json:"revision"`           // "" without a record
	Modified bool   `json:"modified,omitempty"` // built from a tree with uncommitted changes
	Go       string `json:"goversion"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ReadBuild returns the description of this binary.
func ReadBuild() Build { return buildOf(debug.ReadBuildInfo()) }

func buildOf(info *debug.BuildInfo, ok bool) Build {
	b := Build{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if !ok {
		b.Version = cmp.Or(version, b.Version)
		return b
	}
	b.Version = cmp.Or(version, info.Main.Version, "(devel)")
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

// register adds the metric that names the version of a node.
func (b Build) register(r prometheus.Registerer) {
	promauto.With(r).NewGauge(prometheus.GaugeOpts{
		Name: "redrain_build_info", Help: "1, with the version, the revision and the toolchain of this node's binary.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go},
	}).Set(1)
}
