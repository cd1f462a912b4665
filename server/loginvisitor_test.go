package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/testenv"
	"redrain/server/config"
	"redrain/server/servertest"
)

// visitor is a person's browser, which follows no redirect by itself.
type visitor struct {
	t    *testing.T
	home string
	http *http.Client
}

func newVisitor(t *testing.T, s *Server) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	testenv.Must(t, err)
	v := &visitor{t: t, home: "http://" + s.Addr().String(), http: &http.Client{Jar: jar, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(v.http.CloseIdleConnections)
	return v
}

// get reads an address of the server. It returns the status, the address of the redirect, and the code of the error.
func (v *visitor) get(path, accept string) (status int, to *url.URL, code string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.home+path, nil)
	testenv.Must(v.t, err)
	r.Header.Set("Accept", accept)
	resp, err := v.http.Do(r)
	testenv.Must(v.t, err)
	defer func() { _ = resp.Body.Close() }()
	var problem struct {
		Code string `json:"code"`
	}
	if resp.StatusCode >= 400 {
		testenv.Must(v.t, json.NewDecoder(resp.Body).Decode(&problem))
	}
	to, _ = resp.Location()
	return resp.StatusCode, to, problem.Code
}

// begin goes to a provider, and returns its address.
func (v *visitor) begin(path string) *url.URL {
	v.t.Helper()
	status, to, code := v.get(path, "*/*")
	if status != http.StatusFound || to == nil {
		v.t.Fatalf("%s: %d %s", path, status, code)
	}
	return to
}

// arrive comes back from a provider, and returns the claims of the token.
func (v *visitor) arrive(path, back string) jwt.MapClaims {
	v.t.Helper()
	to := v.begin(path)
	address, code, found := strings.Cut(to.String(), "#code=")
	if !found || address != back {
		v.t.Fatalf("returned to %s", to)
	}
	var session struct {
		User  string `json:"user"`
		Token string `json:"token"`
	}
	v.post("/api/v1/login", code, &session)
	return v.claims(session.User, session.Token)
}

// post sends a code, and reads the answer.
func (v *visitor) post(path, code string, into any) (status int) {
	v.t.Helper()
	text, err := json.Marshal(map[string]string{"code": code})
	testenv.Must(v.t, err)
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.home+path, bytes.NewReader(text))
	testenv.Must(v.t, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := v.http.Do(r)
	testenv.Must(v.t, err)
	defer func() { _ = resp.Body.Close() }()
	testenv.Must(v.t, json.NewDecoder(resp.Body).Decode(into))
	return resp.StatusCode
}

// claims returns the claims of a user's token that the server accepts.
func (v *visitor) claims(user, token string) jwt.MapClaims {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.home+"/api/v1/me", nil)
	testenv.Must(v.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := v.http.Do(r)
	testenv.Must(v.t, err)
	testenv.Equal(v.t, resp.StatusCode, http.StatusOK, "the status of /me")
	testenv.Must(v.t, resp.Body.Close())
	claims := jwt.MapClaims{}
	testenv.Must(v.t, testenv.Err(func() (*jwt.Token, error) {
		t, _, err := jwt.NewParser().ParseUnverified(token, claims)
		return t, err
	}()))
	testenv.Equal(v.t, fmt.Sprint(claims["sub"]), user, "the token's player")
	return claims
}

// ban bans a player, as an operator.
func (v *visitor) ban(user, token string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.home+"/api/v1/users/"+user+"/ban",
		strings.NewReader(`{"reason":"a farm"}`))
	testenv.Must(v.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := v.http.Do(r)
	testenv.Must(v.t, err)
	testenv.Equal(v.t, resp.StatusCode, http.StatusOK, "the status of the ban")
	testenv.Must(v.t, resp.Body.Close())
}

// loginConfig is a configuration whose public address is the one that it listens on.
func loginConfig(t *testing.T) config.Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	testenv.Must(t, l.Close())
	cfg := ownConfig("")
	cfg.Demo, cfg.Listen, cfg.PublicURL = false, l.Addr().String(), "http://"+l.Addr().String()
	return cfg
}

// serveLogged is serveOn with a log.
func serveLogged(t *testing.T, cfg config.Config, do func(s *Server)) *servertest.Log {
	t.Helper()
	log := &servertest.Log{}
	s, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		io.Discard)
	testenv.Must(t, err)
	stop := testenv.Run(t, s.Run)
	do(s)
	stop()
	return log
}
