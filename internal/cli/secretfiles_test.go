package cli_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/server/config"
)

// TestSecretFiles: each secret may be in a file, which any source may name. White space around a secret is removed.
func TestSecretFiles(t *testing.T) {
	const secret = "a secret that is long enough for HS256"
	path := writeFile(t, "\n "+secret+"\r\n")
	want := config.Default()
	want.JWTSecret, want.SecretFiles = secret, map[string]string{"jwt-secret": path}
	for source, got := range map[string]config.Config{
		"flag":        configured(t, nil, "--jwt-secret-file", path),
		"environment": configured(t, map[string]string{"REDRAIN_JWT_SECRET_FILE": path}),
		"file":        configured(t, nil, "--config", writeFile(t, "jwt-secret-file: "+path+"\n")),
	} {
		testenv.Equal(t, cmp.Diff(want, got), "", "%s", source)
	}
	want.SecretFiles = nil
	for source, got := range map[string]config.Config{
		"flag":        configured(t, nil, "--jwt-secret", secret+"\n"),
		"environment": configured(t, map[string]string{"REDRAIN_JWT_SECRET": "\t" + secret + " \r\n"}),
		"file":        configured(t, nil, "--config", writeFile(t, "jwt-secret: |\n  "+secret+"\n")),
	} {
		testenv.Equal(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "", "white space from the %s", source)
	}
	for _, name := range []string{"redis", "nats", "mysql", "operator-token", "viewer-token", "challenge-secret",
		"risk-secret", "provider-secret"} {
		got := run(t, nil, "serve", "--"+name+"-file", "/no/such/file")
		testenv.Equal(t, got.code, cli.ExitUsage, "exit code")
		testenv.Contains(t, got.stderr, "redrain: --"+name+"-file /no/such/file: no such file or directory", "error")
	}
	got := run(t, map[string]string{"REDRAIN_JWT_SECRET": secret}, "--jwt-secret-file", path)
	got.exits(t, cli.ExitUsage, "redrain: --jwt-secret and --jwt-secret-file: give one of them\n")
	got = run(t, nil, "--jwt-secret-file", writeFile(t, "hunter2"))
	got.exits(t, cli.ExitUsage,
		"redrain: --jwt-secret: give at least 32 bytes, drawn at random (openssl rand -hex 32)\n")
	minted := run(t, nil, "token", "--user=u1", "--jwt-secret-file", path)
	testenv.Equal(t, minted.code, cli.ExitOK, "a token by the file: exit code; %s", minted.stderr)
}
