package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestFrontDoor: the front page prefers a campaign in its rain, then one with a coming rain, then one that is ready,
// then the demo. The order in which the campaigns are found does not matter.
func TestFrontDoor(t *testing.T) {
	const now = 1_000_000
	campaign := func(id string, status rain.Status, created int64, starts ...int64) *rain.Campaign {
		c := &rain.Campaign{ID: id, Status: status, CreatedAt: created, ExpiresAt: now + 1}
		for _, at := range starts {
			c.Rains = append(c.Rains, rain.Rain{StartsAt: at, Settings: rain.Settings{DurationMS: 1_000, FallMS: 500}})
		}
		return c
	}
	expired := campaign("expired", rain.Open, 9, now-100)
	expired.ExpiresAt = now
	// Each is wanted more than all that follow.
	order := []*rain.Campaign{
		campaign("falls since now", rain.Open, 1, now),
		campaign("falls since long", rain.Open, 2, now-5_000, now-1_400),
		campaign("starts soon", rain.Open, 1, now+10),
		campaign("starts later", rain.Open, 9, now-1_400, now+10_000),
		campaign("new", rain.Open, 8),
		campaign("older, and has rained", rain.Open, 7, now-1_500),
		campaign("same age, a", rain.Open, 3),
		campaign("same age, b", rain.Open, 3),
		campaign("demo", rain.Open, 9, now-100),
		campaign("paused in its rain", rain.Paused, 9, now-100),
	}
	never := []*rain.Campaign{campaign("loading", rain.Loading, 9), campaign("closed", rain.Closed, 9, now-100),
		expired}
	random := testenv.Random(t)
	for i, want := range order {
		live := append(append([]*rain.Campaign{}, order[i:]...), never...)
		for range 10 {
			random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
			if got := frontDoor(live, "demo", now); got != want {
				t.Fatalf("%s is wanted before %s", got.ID, want.ID)
			}
		}
	}
	if got := frontDoor(never, "", now); got != nil {
		t.Errorf("%s is preferred, and cannot be played", got.ID)
	}
}

// TestStartsIn: the countdown ends with 0.
func TestStartsIn(t *testing.T) {
	t.Parallel()
	c := &rain.Campaign{Status: rain.Open}
	testenv.Equal(t, startsIn(c, 5), 0, "no rain")
	c.Rains = []rain.Rain{{StartsAt: 1_000, Settings: rain.Settings{DurationMS: 1_000, FallMS: 500}}}
	for now, want := range map[int64]int64{5: 995, 999: 1, 1_000: 0, 9_000: 0} {
		testenv.Equal(t, startsIn(c, now), want, "ms at %d", now)
	}
}

func TestJoinURL(t *testing.T) {
	const lan = "http://192.168.1.20:8080"
	for _, c := range []struct{ name, remote, host, lan, want string }{
		{"the screen runs on the server", "127.0.0.1:50000", "localhost:8080", lan, lan + "/"},
		{"the same by number", "127.0.0.1:50000", "127.0.0.1:8080", lan, lan + "/"},
		{"the same over IPv6", "[::1]:50000", "[::1]:8080", lan, lan + "/"},
		{"the server listens on this machine only", "127.0.0.1:50000", "localhost:8080", "", ""},
		{"the page has an address that phones know", "127.0.0.1:50000", "rain.example.com", lan, ""},
		{"somebody else who says localhost", "192.168.1.7:50000", "localhost:8080", lan, ""},
	} {
		a := newAPI(Options{JoinURL: func() string { return c.lan }})
		testenv.Equal(t, a.joinURL(&http.Request{RemoteAddr: c.remote, Host: c.host}), c.want, "%s", c.name)
		for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"} {
			passed := http.Header{}
			passed.Set(header, "203.0.113.7")
			testenv.Equal(t, a.joinURL(&http.Request{RemoteAddr: c.remote, Host: c.host, Header: passed}), "",
				"%s, passed on with %s", c.name, header)
		}
	}
}

// turns returns the same turn to each player.
type turns struct {
	turn store.Turn
	err  error
}

func (d turns) Ask(_ context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if c.ID != "c1" || user != "u" {
		return store.Turn{}, errors.New("asked for another one")
	}
	return d.turn, d.err
}

// oneCampaign is a registry with a campaign c1.
type oneCampaign struct{ Campaigns }

func (oneCampaign) Get(_ context.Context, id string) (*rain.Campaign, error) {
	if id != "c1" {
		return nil, posting.ErrUnknownCampaign
	}
	return &rain.Campaign{ID: id}, nil
}

// A player receives their turn, and the time of the next request also in the header. A long wait closes the connection.
func TestAdmission(t *testing.T) {
	waits := func(retry, wait time.Duration) store.Turn { return store.Turn{Position: 7, Retry: retry, Wait: wait} }
	for name, c := range map[string]struct {
		door             turns
		query            string
		status           int
		body, retry, end string
	}{
		"in": {turns{turn: store.Turn{Admitted: true, New: true}}, "?campaign=c1", 200,
			`{"admitted":true}`, "", ""},
		"soon": {turns{turn: waits(1100*time.Millisecond, -1)}, "?campaign=c1", 200,
			`{"admitted":false,"position":7,"retry_after_ms":1100}`, "2", ""},
		"later": {turns{turn: waits(8*time.Second, time.Minute)}, "?campaign=c1", 200,
			`{"admitted":false,"position":7,"retry_after_ms":8000,"wait_ms":60000}`, "8", "close"},
		"unknown": {turns{}, "?campaign=c2", 404, `"unknown_campaign"`, "", ""},
		"of none": {turns{}, "", 422, `"campaign"`, "", ""},
		"a fault": {turns{err: context.DeadlineExceeded}, "?campaign=c1", 503, `"unavailable"`, "1", ""},
	} {
		a := newAPI(Options{Campaigns: oneCampaign{}, Door: c.door, Players: minter{}, Log: paytest.Quiet})
		w := ask(a, "u", "GET", "/admission"+c.query, "")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) ||
			w.Header().Get("Retry-After") != c.retry ||
			w.Header().Get("Connection") != c.end {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
	}
}
