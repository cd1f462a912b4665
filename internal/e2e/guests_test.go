package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"redrain/client"
	"redrain/internal/testenv"
)

// TestGuestsWork: where a guest costs work, a node takes what was done for another's challenge, once.
func TestGuestsWork(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	cfg := realSetting(t).config()
	cfg.GuestChallenge, cfg.ChallengeWork = "work", 1000
	one, other := startNode(t, cfg), startNode(t, cfg)
	// The asked node changes with every request, so that each proof goes to another one than has asked for it.
	var proof string
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	turn := 0
	api, err := client.New(client.Options{Server: one.url, HTTPClient: &http.Client{
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if turn++; turn%2 == 0 {
				r.URL.Host = strings.TrimPrefix(other.url, "http://")
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				proof, r.Body = string(body), io.NopCloser(bytes.NewReader(body))
			}
			return transport.RoundTrip(r)
		})}})
	must(t, err)
	guest, err := api.Guest(t.Context())
	if err != nil || turn != 2 {
		t.Fatalf("%v after %d requests", err, turn)
	}
	c := newAPIClient(t, one)
	c.token = guest.Token
	if a := c.call("GET", "/me", ""); a.field("user") != guest.User {
		t.Errorf("me: %s", a.body)
	}
	c.token = ""
	c.want(c.call("POST", "/guests", ""), 403, "challenge_required")
	c.want(c.call("POST", "/guests", proof), 403, "challenge_failed")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
