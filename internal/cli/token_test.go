package cli_test

import (
	"encoding/json"
	"log/slog"
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

	if got := run(t, env, "token", "--user", "a\nb"); got.code != cli.ExitUsage ||
		got.stderr != "redrain: --user: a user id has no control characters\n" {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	if got := run(t, nil, "token", "--user=u1", "--jwt-secret=short"); got.code != cli.ExitOK ||
		!strings.Contains(got.stderr, "short") {
		t.Errorf("a short secret: exit %d, %s", got.code, got.stderr)
	}
}

func TestVersion(t *testing.T) {
	got := run(t, nil, "version")
	if got.code != cli.ExitOK || !strings.HasPrefix(got.stdout, "redrain ") || !strings.Contains(got.stdout, " go1.") {
		t.Errorf("exit %d, %s", got.code, got.stdout)
	}
	var answer struct {
		Version string `json:"version"`
		Go      string `json:"go"`
	}
	if got := run(t, nil, "version", "--json"); json.Unmarshal([]byte(got.stdout), &answer) != nil ||
		answer.Version == "" || answer.Go == "" {
		t.Errorf("%s", got.stdout)
	}
}
