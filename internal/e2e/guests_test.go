package e2e

import (
	"testing"

	"redrain/internal/testenv"
)

// TestGuests: a guest gets a token that works; where guests are off it is 403.
func TestGuests(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	cfg := setting{}.config()
	c := newAPIClient(t, startNode(t, cfg))
	g := c.call("POST", "/guests", "")
	c.want(g, 201, "")
	c.token = g.field("token")
	if a := c.call("GET", "/me", ""); a.field("user") != g.field("user") || a.field("user") == "" {
		t.Errorf("me: %s", a.body)
	}
	off := false
	cfg.Guests = &off
	c = newAPIClient(t, startNode(t, cfg))
	c.want(c.call("POST", "/guests", ""), 403, "guests_off")
}
