package cli_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/cli"
	"redrain/internal/testenv"
)

// TestOperatorToken: the line that is printed with a token makes the server know whose token it is.
func TestOperatorToken(t *testing.T) {
	t.Parallel()
	got := run(t, nil, "operator", "token", "--name", "Ann 李", "--role", "operator,cashier")
	token := regexp.MustCompile(`redrain_\S+`).FindString(got.stdout)
	_, line, found := strings.Cut(got.stdout, "\n- ")
	if got.code != cli.ExitOK || !found || strings.Contains(line, token) {
		t.Fatalf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	file, err := auth.NewOperatorsFile(writeFile(t, "- "+line), slog.New(slog.DiscardHandler))
	testenv.Must(t, err)
	who, err := file.Operator(t.Context(), token)
	if err != nil || who.Name != "Ann 李" || len(who.Roles) != 2 {
		t.Errorf("%+v, %v", who, err)
	}
	if got = run(t, nil, "operator", "token", "--name=viewer", "--role=king"); got.code != cli.ExitUsage ||
		!strings.Contains(got.stderr, "--role: ") || !strings.Contains(got.stderr, "--name: ") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
}
