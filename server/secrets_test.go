package server

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/server/api"
)

// TestSecretsChangeWhileAServerRuns: the tokens of operators and viewers, and the secret of players' tokens, are those
// of the files within seconds.
func TestSecretsChangeWhileAServerRuns(t *testing.T) {
	t.Parallel() // it waits for the next check of the files
	dir := t.TempDir()
	cfg := ownConfig("")
	cfg.Demo, cfg.SecretFiles = false, map[string]string{}
	write := func(round string) {
		for _, flag := range []string{"operator-token", "viewer-token", "jwt-secret"} {
			cfg.SecretFiles[flag] = filepath.Join(dir, flag)
			testenv.Must(t, os.WriteFile(cfg.SecretFiles[flag], []byte(secretOf(flag, round)+"\n"), 0o600))
		}
	}
	write("first")
	cfg.OperatorToken, cfg.ViewerToken, cfg.JWTSecret = secretOf("operator-token", "first"),
		secretOf("viewer-token", "first"), secretOf("jwt-secret", "first")
	serveOn(t, cfg, func(s *Server) {
		status := func(path, token string) int {
			url := "http://" + s.Addr().String() + api.Root + path
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			testenv.Must(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
			testenv.Must(t, err)
			testenv.Must(t, resp.Body.Close())
			return resp.StatusCode
		}
		player := func(round string) string {
			players, err := auth.NewPlayers(auth.PlayersOptions{Secret: secretOf("jwt-secret", round)})
			testenv.Must(t, err)
			token, _, err := players.Mint(auth.Persona{User: "u1"}, time.Hour)
			testenv.Must(t, err)
			return token
		}
		accepts := func(round string) [3]bool {
			return [3]bool{
				status("/whoami", secretOf("operator-token", round)) == http.StatusOK,
				status("/whoami", secretOf("viewer-token", round)) == http.StatusOK,
				status("/me", player(round)) == http.StatusOK,
			}
		}
		testenv.Equal(t, accepts("first"), [3]bool{true, true, true}, "the first round is accepted")
		write("second")
		testenv.Eventually(t, 20*time.Second, "the second round", func() bool {
			return accepts("second") == [3]bool{true, true, true}
		})
		testenv.Equal(t, accepts("first"), [3]bool{}, "the first round is still accepted")
	})
}

func secretOf(flag, round string) string { return "the " + round + " secret of the flag " + flag }

// TestAFileOfASecretIsMissing: nothing starts.
func TestAFileOfASecretIsMissing(t *testing.T) {
	cfg := ownConfig("")
	cfg.SecretFiles = map[string]string{"viewer-token": "/no/such/file"}
	_, err := New(context.Background(), cfg, nil, nil)
	if err == nil || err.Error() != "--viewer-token-file /no/such/file: no such file or directory" {
		t.Error(err)
	}
}
