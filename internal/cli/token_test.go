package cli_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/internal/cli"
	"redrain/internal/testenv"
)

const jwtSecret = "a secret that is long enough for HS256"

func TestToken(t *testing.T) {
	players, err := auth.NewPlayers(auth.PlayersOptions{Secret: jwtSecret,
		Log: slog.New(slog.DiscardHandler)})
	testenv.Must(t, err)
	env := map[string]string{"REDRAIN_JWT_SECRET": jwtSecret}
	got := run(t, env, "token", "--user", "张三")
	if got.code != cli.ExitOK || got.stderr != "" || len(lines(got.stdout)) != 1 {
		t.Fatalf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if user, err := players.Verify(t.Context(), strings.TrimSpace(got.stdout)); user != "张三" || err != nil {
		t.Errorf("%q, %v", user, err)
	}

	got = run(t, env, "token", "--user=u1", "--name=小雨", "--picture=https://img.example/1")
	if who, err := players.Grant(t.Context(), strings.TrimSpace(got.stdout)); err != nil || who.Name != "小雨" ||
		who.Picture != "https://img.example/1" {
		t.Errorf("%+v, %v", who, err)
	}

	got = run(t, env, "token", "--user=u1", "--ttl=1h", "--json")
	var answer struct {
		User      string `json:"user"`
		Token     string `json:"token"`
		ExpiresAt int64  `json:"expires_at"`
	}
	testenv.Must(t, json.Unmarshal([]byte(got.stdout), &answer))
	left := time.Until(time.UnixMilli(answer.ExpiresAt))
	if user, err := players.Verify(t.Context(), answer.Token); user != "u1" || answer.User != "u1" || err != nil ||
		left < 59*time.Minute || left > time.Hour {
		t.Errorf("%+v, %q, %v, %v left", answer, user, err, left)
	}

	run(t, env, "token", "--user", "a\nb").exits(t, cli.ExitUsage,
		"redrain: --user: a user id has no control characters\n")
	run(t, env, "token", "--user", "..").exits(t, cli.ExitUsage,
		"redrain: --user: a user id is neither . nor .., which no URL can name\n")
	run(t, nil, "token", "--user=u1", "--jwt-secret=short").exitsSaying(t, cli.ExitUsage, "at least 32 bytes")
}

func TestVersion(t *testing.T) {
	got := run(t, nil, "version")
	if got.code != cli.ExitOK || !strings.HasPrefix(got.stdout, "redrain ") || !strings.Contains(got.stdout, " go1.") {
		t.Errorf("exit %d, %s", got.code, got.stdout)
	}
	var answer map[string]any
	testenv.Must(t, json.Unmarshal([]byte(run(t, nil, "version", "--json").stdout), &answer))
	delete(answer, "modified")
	testenv.Equal(t, slices.Sorted(maps.Keys(answer)), []string{"arch", "goversion", "os", "revision", "version"},
		"fields")
}

// TestTokenLink: with the secret, the command asks for the code with the player's own token. With an operator's token,
// the server makes the player's token. The link has the address of the server without its password.
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
	got.exitsSaying(t, cli.ExitFailure, "give its address with --server")
}

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
