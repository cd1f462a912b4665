package cli_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/cli"
	"redrain/internal/testenv"
)

// TestTokenLink: with the secret the player's own token asks for the code, with an operator's token the server makes
// the player's; the link is of the server that was asked, without a password that its address has.
func TestTokenLink(t *testing.T) {
	players, err := auth.NewPlayers(auth.PlayersOptions{Secret: jwtSecret, Log: slog.New(slog.DiscardHandler)})
	testenv.Must(t, err)
	var bearer, body string
	status := http.StatusCreated
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/app/api/v1/login-codes" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		text, _ := io.ReadAll(r.Body)
		bearer, body = auth.Bearer(r), string(text)
		w.WriteHeader(status)
		answer := `{"code":"K","expires_at":7,"link":"/?campaign=c1#code=K"}`
		if status != http.StatusCreated {
			answer = `{"code":"banned","detail":"this player is banned"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	address := server.URL + "/app/"
	args := []string{"token", "--user=u1", "--name=小雨", "--link", "--campaign=c1", "--server", address}

	got := run(t, map[string]string{"REDRAIN_JWT_SECRET": jwtSecret, "REDRAIN_TOKEN": "op"}, args...)
	if got.code != cli.ExitOK || got.stdout != server.URL+"/app/?campaign=c1#code=K\n" {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if user, err := players.Verify(t.Context(), bearer); user != "u1" || err != nil || body != `{"campaign":"c1"}` {
		t.Errorf("the code was asked for by %q (%v): %s", user, err, body)
	}

	secretly := strings.Replace(address, "http://", "http://u:hunter2@", 1)
	got = run(t, nil, "token", "--user=u1", "--name=小雨", "--ttl=1h", "--link", "--token=op", "--json",
		"--server", secretly)
	var answer struct {
		Code string `json:"code"`
		Link string `json:"link"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil || answer.Code != "K" ||
		answer.Link != server.URL+"/app/?campaign=c1#code=K" {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if bearer != "op" || body != `{"user":"u1","name":"小雨","ttl_ms":3600000}` {
		t.Errorf("the code was asked for by %q: %s", bearer, body)
	}

	status = http.StatusForbidden
	got = run(t, nil, append(args, "--token=op")...)
	if got.code != cli.ExitFailure || strings.Contains(got.stderr, "--server") || got.stdout != "" {
		t.Errorf("refused: exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	server.Close()
	got = run(t, nil, append(args, "--token=op")...)
	if got.code != cli.ExitFailure || !strings.Contains(got.stderr, "give its address with --server") {
		t.Errorf("without a server: exit %d, %s", got.code, got.stderr)
	}
}
