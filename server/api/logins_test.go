package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/server/login"
)

// door is an API in which players sign in by codes, at a time that the test sets.
type door struct {
	t      *testing.T
	api    *API
	now    time.Time
	banned []string
	audit  *auditNotes
	limits *tallies
	store  *drawer
	tokens *auth.Players
}

const doorSecret = "a secret that is long enough for HS256"

func newDoor(t *testing.T, secret string) *door {
	t.Helper()
	d := &door{t: t, now: time.UnixMilli(1_790_000_000_000), audit: &auditNotes{},
		limits: &tallies{most: map[string]int{}}, store: &drawer{kept: map[string][]byte{}}}
	clock := func() time.Time { return d.now }
	var err error
	d.tokens, err = auth.NewPlayers(auth.PlayersOptions{Secret: doorSecret, Clock: clock})
	testenv.Must(t, err)
	players, err := auth.NewPlayers(auth.PlayersOptions{Secret: secret, Clock: clock})
	testenv.Must(t, err)
	d.api = newAPI(Options{
		Operators: testStaff, Players: players, Logins: login.NewCodes(d.store), Limits: d.limits, Audit: d.audit,
		Banned: func(user string) bool { return slices.Contains(d.banned, user) },
		Clock:  func() int64 { return d.now.UnixMilli() }, Log: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})
	return d
}

// token is a player's token that is good for so long.
func (d *door) token(user string, good time.Duration) string {
	d.t.Helper()
	token, _, err := d.tokens.Mint(auth.Persona{User: user}, good)
	testenv.Must(d.t, err)
	return token
}

type answerOf struct {
	*httptest.ResponseRecorder

	Code      string `json:"code"`
	Link      string `json:"link"`
	User      string `json:"user"`
	Token     string `json:"token"`
	ExpiresAt int64  `json:"expires_at"`
}

func (d *door) post(path, token, body string) answerOf {
	d.t.Helper()
	a := answerOf{ResponseRecorder: ask(d.api, token, "POST", path, body)}
	testenv.Must(d.t, json.Unmarshal(a.Body.Bytes(), &a))
	return a
}

// want is an answer's status and the code of its problem.
func (d *door) want(a answerOf, status int, code string) answerOf {
	d.t.Helper()
	if a.ResponseRecorder.Code != status || status >= 400 && a.Code != code {
		d.t.Errorf("%d %s, want %d %s", a.ResponseRecorder.Code, a.Body, status, code)
	}
	if retry := a.Header().Get("Retry-After"); (status == 429 || status == 503) && retry == "" {
		d.t.Errorf("%d without Retry-After", status)
	}
	return a
}

// drawer is a store of codes; away: it does not answer.
type drawer struct {
	mu   sync.Mutex
	kept map[string][]byte
	away bool
}

func (s *drawer) Keep(_ context.Context, name string, value []byte, _ time.Duration) error {
	if s.away {
		return &net.OpError{Op: "dial", Err: net.ErrClosed}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[name] = value
	return nil
}

func (s *drawer) Take(_ context.Context, name string) ([]byte, error) {
	if s.away {
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value := s.kept[name]
	delete(s.kept, name)
	return value, nil
}

// TestAPlayersCode: what comes out is the player's own token with its own end, once.
func TestAPlayersCode(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorSecret)
	own := d.token("李雷", time.Hour)
	made := d.want(d.post("/login-codes", own, `{"campaign":"a&b"}`), http.StatusCreated, "")
	if made.Link != "/?campaign=a%26b#code="+made.Code || made.ExpiresAt != d.now.Add(login.Life).UnixMilli() {
		t.Errorf("%s", made.Body)
	}
	got := d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusOK, "")
	if got.Token != own || got.User != "李雷" || got.ExpiresAt != d.now.Add(time.Hour).UnixMilli() {
		t.Errorf("%s", got.Body)
	}
	testenv.Equal(t, got.Header().Get("Cache-Control"), "no-store", "Cache-Control")
	d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusGone, "code_used_or_expired")
	made = d.want(d.post("/login-codes", own, ""), http.StatusCreated, "")
	testenv.Equal(t, made.Link, "/#code="+made.Code, "without a campaign")
	for _, more := range []string{`{"user":"韩梅梅"}`, `{"name":"Han"}`, `{"ttl_ms":86400000}`} {
		d.want(d.post("/login-codes", own, more), http.StatusForbidden, "forbidden")
	}
	testenv.Equal(t, len(d.audit.records), 0, "records of operators: %v", d.audit.records)
	counts := map[string]float64{"made": 2, "used": 1, "refused": 1, "banned": 0, "too_many": 0}
	for outcome, want := range counts {
		testenv.Equal(t, testutil.ToFloat64(d.api.logins.WithLabelValues(outcome)), want, "%s", outcome)
	}
}

// TestACodeDoesNotOutliveTheToken: a code expires with its token, and an expired token gets no code.
func TestACodeDoesNotOutliveTheToken(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorSecret)
	own := d.token("u", 30*time.Second)
	made := d.want(d.post("/login-codes", own, ""), http.StatusCreated, "")
	testenv.Equal(t, made.ExpiresAt, d.now.Add(30*time.Second).UnixMilli(), "the code is good until")
	d.now = d.now.Add(30 * time.Second) // the store is slow to forget
	d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusGone, "code_used_or_expired")
	d.now = d.now.Add(2 * time.Second) // a socket would still take the token: clocks differ
	d.want(d.post("/login-codes", own, ""), http.StatusUnauthorized, "unauthorized")
}

// TestAnOperatorsCode: a token is made for the player, with the name that they are called by, and the audit has who
// did it.
func TestAnOperatorsCode(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorSecret)
	made := d.want(d.post("/login-codes", "admin", `{"user":"u7","name":"小雨","ttl_ms":3600000}`),
		http.StatusCreated, "")
	got := d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusOK, "")
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(got.Token, claims); err != nil || claims["name"] != "小雨" {
		t.Errorf("%v, %v", claims, err)
	}
	grant, err := d.tokens.Grant(t.Context(), got.Token)
	if err != nil || grant.User != "u7" || grant.Until != d.now.Add(time.Hour).UnixMilli() ||
		got.ExpiresAt != grant.Until {
		t.Errorf("%+v, %v, %s", grant, err, got.Body)
	}
	if len(d.audit.records) != 1 || d.audit.records[0].Actor != "admin" || d.audit.records[0].Target != "u7" ||
		d.audit.records[0].Action != "login.code" {
		t.Errorf("the audit has %+v", d.audit.records)
	}
	for body, fields := range map[string]string{
		`{}`: "user", `{"user":"a\u0000"}`: "user", `{"user":"u","ttl_ms":1}`: "ttl_ms",
		`{"user":"u","ttl_ms":-1}`: "ttl_ms", `{"user":"u","ttl_ms":99999999999}`: "ttl_ms",
		`{"user":"u","name":"a\u202eb"}`: "name", `{"user":"u","name":"` + strings.Repeat("长", 65) + `"}`: "name",
	} {
		a := d.want(d.post("/login-codes", "admin", body), http.StatusUnprocessableEntity, "invalid")
		testenv.Contains(t, a.Body.String(), `"field":"`+fields+`"`, "%s", body)
	}
	blind := newDoor(t, "")
	blind.want(blind.post("/login-codes", "admin", `{"user":"u"}`), http.StatusConflict, "no_secret")
}

// TestABannedPlayerGetsNoCode: nor is a code worth anything that was made before the ban.
func TestABannedPlayerGetsNoCode(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorSecret)
	own := d.token("mallory", time.Hour)
	made := d.want(d.post("/login-codes", own, ""), http.StatusCreated, "")
	d.banned = []string{"mallory"}
	d.want(d.post("/login-codes", own, ""), http.StatusForbidden, "banned")
	d.want(d.post("/login-codes", "admin", `{"user":"mallory"}`), http.StatusForbidden, "banned")
	d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusForbidden, "banned")
	d.banned = nil
	d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusGone, "code_used_or_expired")
}

// TestCodesAreLimited: of one player, and wrong ones of one address; good ones from there are taken all the same.
func TestCodesAreLimited(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorSecret)
	d.limits.most["logincode"], d.limits.most["wrong-code"] = 2, 1
	own := d.token("u", time.Hour)
	first := d.want(d.post("/login-codes", own, ""), http.StatusCreated, "")
	d.want(d.post("/login-codes", own, ""), http.StatusCreated, "")
	d.want(d.post("/login-codes", own, ""), http.StatusTooManyRequests, "too_many_requests")
	d.want(d.post("/login-codes", "admin", `{"user":"u"}`), http.StatusCreated, "")
	d.want(d.post("/login", "", `{"code":"x"}`), http.StatusGone, "code_used_or_expired")
	d.want(d.post("/login", "", `{"code":"x"}`), http.StatusTooManyRequests, "too_many_requests")
	d.want(d.post("/login", "", `{"code":"`+first.Code+`"}`), http.StatusOK, "")
}

// TestCodesWithoutRedis: nothing is decided, and the code is good when Redis is back. A text that is no code is
// answered without Redis.
func TestCodesWithoutRedis(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorSecret)
	own := d.token("u", time.Hour)
	made := d.want(d.post("/login-codes", own, ""), http.StatusCreated, "")
	d.store.away = true
	d.want(d.post("/login-codes", own, ""), http.StatusServiceUnavailable, "unavailable")
	d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusServiceUnavailable, "unavailable")
	d.want(d.post("/login", "", ``), http.StatusUnprocessableEntity, "invalid")
	d.want(d.post("/login", "", `{"code":7}`), http.StatusUnprocessableEntity, "invalid")
	d.want(d.post("/login", "", `{"token":"x"}`), http.StatusUnprocessableEntity, "invalid")
	d.want(d.post("/login", "", `[`), http.StatusBadRequest, "malformed")
	d.want(d.post("/login", "", `{"code":"`+strings.Repeat("A", 5_000)+`"}`), http.StatusRequestEntityTooLarge,
		"too_large")
	d.want(d.post("/login", "", `{"code":"`+strings.Repeat("A", 3_000)+`"}`), http.StatusGone,
		"code_used_or_expired")
	d.store.away = false
	d.want(d.post("/login", "", `{"code":"`+made.Code+`"}`), http.StatusOK, "")
}
