package e2e

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/testenv"

	"redrain/client"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server"
	"redrain/server/config"
)

// node is one redrain under test, seen from outside.
type node struct {
	url    string // of HTTP
	client *client.Client
}

func nodeAt(t *testing.T, base string) *node {
	t.Helper()
	api := testenv.Got(client.New(client.Options{Server: base, Token: operatorToken})).Must(t)
	t.Cleanup(api.Close)
	return &node{url: base, client: api}
}

func (n *node) ws() string { return "ws" + strings.TrimPrefix(n.url, "http") + "/ws" }

// startNode runs a node in this process, so that the race detector sees it, until the test ends.
func startNode(t *testing.T, cfg config.Config) *node {
	t.Helper()
	n, stop := startNodeStoppable(t, cfg)
	t.Cleanup(stop)
	return n
}

// startNodeStoppable is startNode, with the way to stop it before the test ends. stop can be called again.
func startNodeStoppable(t *testing.T, cfg config.Config) (_ *node, stop func()) {
	t.Helper()
	s := testenv.Got(newServer(t, cfg)).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	n := nodeAt(t, "http://"+s.Addr().String())
	stopped := false
	return n, func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		testenv.WantErr(t, <-ended, nil, "the node ended with")
	}
}

func newServer(t *testing.T, cfg config.Config) (*server.Server, error) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	return server.New(t.Context(), cfg, log, io.Discard)
}

// startNodes runs as many nodes as a set of back ends is tested with.
func startNodes(t *testing.T, cfg config.Config, count int) []*node {
	t.Helper()
	nodes := make([]*node, count)
	for i := range nodes {
		nodes[i] = startNode(t, cfg)
	}
	return nodes
}

// testLog sends a node's log to the test's.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// token is a player's token, as the user's platform would make it.
func token(t *testing.T, user string) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": user, "exp": time.Now().Add(2 * time.Hour).Unix()} // TestHostile plays for an hour
	return testenv.Got(jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(jwtSecret))).Must(t)
}

// within is a context for one step of a test, which takes no longer than d on a quiet machine.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patiently(d))
	t.Cleanup(cancel)
	return ctx
}

// httpClient keeps no connection, so that none is left when a test ends.
var httpClient = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	req := testenv.Got(http.NewRequestWithContext(within(t, 30*time.Second), http.MethodGet, url, nil)).Must(t)
	return httpClient.Do(req)
}

// fund makes a sponsor of the test's own with enough money, and a campaign spec of theirs.
func fund(t *testing.T, n *node, name string, budget rain.Money, packets int) rain.Spec {
	t.Helper()
	sponsor := "sponsor-" + name
	testenv.Must(t, testenv.Err(n.client.Deposit(within(t, 10*time.Second), sponsor, "first", budget)))
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Budget, spec.Packets = name, sponsor, budget, packets
	return spec
}

// createCampaign creates a campaign.
func createCampaign(t *testing.T, op *client.Client, spec rain.Spec) client.Campaign {
	t.Helper()
	return testenv.Got(op.CreateCampaign(within(t, 30*time.Second), spec, "")).Must(t)
}

// startRain starts a rain in a campaign.
func startRain(t *testing.T, op *client.Client, campaign string, spec rain.RainSpec) wire.Rain {
	t.Helper()
	return testenv.Got(op.StartRain(within(t, 20*time.Second), campaign, spec, "")).Must(t)
}

// longRain lasts longer than a test, and its drops stay in the air for 20 s.
func longRain(dropsPerSecond int) rain.RainSpec {
	spec := shortRain(200)
	spec.DurationMS, spec.FallMS, spec.DropsPerSecond = 600_000, 20_000, dropsPerSecond
	return spec
}

// shortRain is a rain that is over soon: a dense second, falling for another.
func shortRain(startsInMS int64) rain.RainSpec {
	spec := rain.DefaultRain()
	spec.StartsInMS, spec.DurationMS, spec.DropsPerSecond, spec.FallMS = &startsInMS, 2_000, 16, 1_500
	return spec
}

// hasCode reports whether an error is the server's answer with a code.
func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Code == code
}
