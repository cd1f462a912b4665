package server

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "0"},
	}}
	if got, want := buildOf(info, true), (Build{Version: "v1.2.3", Revision: "abc", Modified: true,
		Go: "go1.26"}); got != want {
		t.Errorf("%+v", got)
	}
	if got := buildOf(&debug.BuildInfo{}, true); got.Version != "(devel)" {
		t.Errorf("%+v", got)
	}
	if got := buildOf(nil, false); got.Version != "unknown" {
		t.Errorf("%+v", got)
	}
}
