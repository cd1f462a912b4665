package cli_test

import (
	"strings"
	"testing"
)

// Whatever is wrong and whatever is asked, a secret is not printed.
func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "hunter2"
	env := map[string]string{"REDRAIN_JWT_SECRET": secret, "REDRAIN_OPERATOR_TOKEN": secret, "REDRAIN_TOKEN": secret,
		"REDRAIN_PROVIDER_SECRET": secret}
	file := writeFile(t, "viewer-token: "+secret+"\nmysql: "+secret+
		"\nredis: redis://:"+secret+"@r:1\nnope: "+secret+"\n")
	for _, args := range [][]string{
		{"--help"}, {"serve", "--help"}, {"token", "--help"}, {"watch", "--help"},
		{"--config", file, "--tap-rate=x"}, {"--jwt-sekret=" + secret}, {"--redis", "r:1", "--jwt-secret", secret},
		{"--provider=http", "--provider-url=http://:" + secret + "@pay.example", "--provider-secret=" + secret},
		{"--provider-url=http://:" + secret + "@pay.example/%zz"},
		{"--viewer-token", secret, "--mysql=" + secret}, {"token", "--user=", "--jwt-secret=" + secret},
		{"watch", "c1", "--server", "http://:" + secret + "@127.0.0.1:1"},
		{"watch", "c1", "--server", "ftp://:" + secret + "@127.0.0.1:1"},
	} {
		got := run(t, env, args...)
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("redrain %v:\n%s%s", args, got.stdout, got.stderr)
		}
	}
}
