package cli_test

import (
	"testing"

	"redrain/internal/cli"
)

func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "110") // kong asks the real environment
	for name, args := range map[string][]string{
		"help.golden": {"--help"}, "help-serve.golden": {"serve", "-h"},
		"help-campaign-create.golden": {"campaign", "create", "--help"},
	} {
		got := run(t, nil, args...)
		if got.code != cli.ExitOK || got.stderr != "" {
			t.Errorf("%v: exit %d, %s", args, got.code, got.stderr)
		}
		golden(t, name, got.stdout)
	}
}
