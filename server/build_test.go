package server

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
)

func TestBuild(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "0"},
	}}
	b := buildOf(info, true)
	testenv.Equal(t, b, Build{Version: "v1.2.3", Revision: "abc", Modified: true, Go: runtime.Version(),
		OS: runtime.GOOS, Arch: runtime.GOARCH}, "a release")
	testenv.Equal(t, buildOf(&debug.BuildInfo{}, true).Version, "(devel)", "without a version")
	testenv.Equal(t, buildOf(nil, false).Version, "unknown", "without a record")

	metrics := prometheus.NewRegistry()
	b.register(metrics)
	testenv.Must(t, testutil.GatherAndCompare(metrics, strings.NewReader(
		"# HELP redrain_build_info 1, with the version, the revision and the toolchain of this node's binary.\n"+
			"# TYPE redrain_build_info gauge\n"+
			`redrain_build_info{goversion="`+runtime.Version()+`",revision="abc",version="v1.2.3"} 1`+"\n")))
}
