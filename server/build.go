package server

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Build describes this binary, as the toolchain has recorded it.
type Build struct {
	Version  string `json:"version"`            // "(devel)" for a build of no released version, "unknown" without a record
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
		return b
	}
	if b.Version = info.Main.Version; b.Version == "" {
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

// register adds the metric that names the version of a node.
func (b Build) register(r prometheus.Registerer) {
	promauto.With(r).NewGauge(prometheus.GaugeOpts{
		Name: "redrain_build_info", Help: "1, with the version, the revision and the toolchain of this node's binary.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go},
	}).Set(1)
}
