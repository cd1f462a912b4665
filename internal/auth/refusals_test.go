package auth_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestNamesOfClaims are exact, and each is there once: another reader of the token could take the other value.
func TestNamesOfClaims(t *testing.T) {
	t.Parallel()
	players := newPlayers(t, auth.PlayersOptions{Secret: secret})
	const head = `{"alg":"HS256"}`
	for claims, want := range map[string]string{
		`"sub":"u1","SUB":"u2"`:                    "",
		`"SUB":"u2","sub":"u1","Exp":1`:            "",
		`"SUB":"u2"`:                               "sub is missing",
		`"sub":"u1","sub":"u2"`:                    `"sub" twice`,
		`"sub":"u1","s\u0075b":"u2"`:               `"sub" twice`,
		`"sub":"u1","exp":9999999999`:              `"exp" twice`,
		`"sub":"u1","x":[{"y":{"z":1,"z":2}}]`:     `"z" twice`,
		"\"sub\":\"u1\",\"name\":\"\xff\"":         "UTF-8",
		`"sub":42`:                                 "is not a string",
		`"sub":["u1"]`:                             "is not a string",
		`"sub":".."`:                               "neither . nor ..",
		`"sub":"` + strings.Repeat("x", 129) + `"`: "1 to 128 bytes",
	} {
		token := forge(head, `{"exp":4102444800,`+claims+`}`)
		user, err := players.Verify(t.Context(), token)
		if want == "" && user != "u1" || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %q, %v; want %q", claims, user, err, want)
		}
	}
	_, err := players.Verify(t.Context(), forge(`{"alg":"HS256","kid":"a","kid":"b"}`, `{"exp":4102444800,"sub":"u1"}`))
	testenv.Contains(t, fmt.Sprint(err), `"kid" twice`, "a name twice in the header")
}

// forge signs a header and claims as they are written.
func forge(header, claims string) string {
	text := segment(header) + "." + segment(claims)
	signature := must(jwt.SigningMethodHS256.Sign(text, []byte(secret)))
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestRefusalsAreLogged: with the reason, one in ten seconds, and none that is only late.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		players := newPlayers(t, auth.PlayersOptions{Secret: secret, Log: slog.New(slog.NewTextHandler(&logged, nil))})
		refuse := func(name string, value any, lines int) {
			t.Helper()
			token := hs256([]byte(secret), with(good("u1"), name, value))
			testenv.WantErr(t, testenv.Err(players.Verify(t.Context(), token)), auth.ErrBadToken, "the token")
			if strings.Contains(logged.String(), token[strings.LastIndex(token, "."):]) {
				t.Error("the log has a token's signature")
			}
			testenv.Equal(t, strings.Count(logged.String(), "level=INFO"), lines, "lines")
		}
		refuse("exp", noon.Add(-time.Hour).Unix(), 0)
		refuse("sub", 42, 1)
		refuse("sub", 43, 1)
		<-time.After(10 * time.Second)
		refuse("sub", 44, 2)
		testenv.Contains(t, logged.String(), "its sub is missing, or is not a string", "log")
	})
}

// TestTheLongestTokenIsAccepted: of 8 KiB. One byte more and it is refused unread.
func TestTheLongestTokenIsAccepted(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{Secret: secret})
	padding := 5_900
	token := ""
	for ; len(token) < 8<<10; padding++ {
		token = hs256([]byte(secret), with(good("u1"), "padding", strings.Repeat("x", padding)))
	}
	if len(token) != 8<<10 {
		t.Fatalf("the test made a token of %d bytes", len(token))
	}
	accepts(t, players, token, "u1")
	if _, err := players.Verify(t.Context(), token+"x"); err == nil ||
		!strings.Contains(err.Error(), "longer than 8192") {
		t.Error(err)
	}
}

// The reason of a refusal goes to logs: nothing of the signature or the secret may be in it.
func TestReasonsKeepSecrets(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{Secret: secret})
	token := hs256([]byte(secret), with(good("u1"), "exp", noon.Add(-time.Hour).Unix()))
	_, err := players.Verify(t.Context(), token)
	if err == nil || strings.Contains(err.Error(), token[strings.LastIndex(token, ".")+1:]) ||
		strings.Contains(err.Error(), secret) {
		t.Errorf("reason: %v", err)
	}
	testenv.Contains(t, err.Error(), "expired", "the reason")
}

func FuzzVerify(f *testing.F) {
	ok := good("u1")
	for _, token := range []string{
		"", ".", "..", "...", hs256([]byte(secret), ok), hs256([]byte("wrong"), ok),
		hs256([]byte(secret), with(ok, "exp", nil)), hs256([]byte(secret), good("a\x00b")),
		segment(`{"alg":"none"}`) + "." + segment(`{"sub":"u1","exp":9999999999}`) + ".",
		segment(`{"alg":"HS256","alg":"none"}`) + "." + segment(`{"sub":["u1"],"exp":1e400}`) + ".AAAA",
		segment(`null`) + "." + segment(`null`) + ".", segment(`{"alg":null}`) + "." + segment(`[]`) + ".",
		segment(`{"alg":"EdDSA","kid":{}}`) + "." + segment(`{"exp":-1}`) + ".",
	} {
		f.Add(token)
	}
	players := newPlayers(f, auth.PlayersOptions{Secret: secret})
	f.Fuzz(func(t *testing.T, token string) {
		user, err := players.Verify(t.Context(), token)
		if (err == nil) == (user == "") {
			t.Fatalf("%q: user %q, error %v", token, user, err)
		}
		if err != nil && !errors.Is(err, auth.ErrBadToken) {
			t.Fatalf("%q: error %v", token, err)
		}
		if err == nil && rain.CheckUser(user) != nil {
			t.Fatalf("%q: user %q", token, user)
		}
	})
}
