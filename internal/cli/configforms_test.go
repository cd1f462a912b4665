package cli_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/testenv"
	"redrain/server/config"
)

func TestYAMLForms(t *testing.T) {
	file := writeFile(t, "# a comment\nroles: [gateway, settle, relay, operator]\nallowed-origins:\n  - "+
		"https://a.example\n  - https://b.example\n"+
		"demo: off\njwt-secret: 01234567890123456789012345678901\noperator-token: \"0123456789012345\"\n"+
		"drain-timeout: 1m\nredis: \"\"\nserver: "+
		"http://elsewhere\n")
	got := configured(t, nil, "--config", file)
	want := config.Default()
	want.Roles, want.AllowedOrigins = []string{"gateway", "settle", "relay", "operator"},
		[]string{"https://a.example", "https://b.example"}
	want.Demo, want.JWTSecret, want.OperatorToken, want.DrainTimeout = false, "01234567890123456789012345678901",
		"0123456789012345", time.Minute
	testenv.Equal(t, cmp.Diff(want, got), "", "difference")
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		testenv.Equal(t, cmp.Diff(config.Default(), configured(t, nil, "--config", writeFile(t, empty))), "", "%q",
			empty)
	}
}

func TestBoolForms(t *testing.T) {
	for arg, want := range map[string]bool{
		"--demo": true, "--demo=true": true, "--demo=false": false, "--no-demo": false, "--demo=0": false,
		"--no-demo=false": true,
	} {
		testenv.Equal(t, configured(t, nil, arg).Demo, want, "%s", arg)
	}
	for arg, want := range map[string]bool{"--guests": true, "--no-guests": false, "--guests=no": false} {
		if got := configured(t, nil, arg); got.Guests == nil || *got.Guests != want {
			t.Errorf("%s: %v", arg, got.Guests)
		}
	}
}
