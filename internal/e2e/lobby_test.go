package e2e

import (
	"testing"

	"redrain/internal/testenv"
)

// TestLobby: who is not signed in yet is told what the event is, the one that is on or the one that the address names.
func TestLobby(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	c := newAPIClient(t, n)
	if a := c.call("GET", "/lobby", ""); a.status != 200 || a.field("campaign") != "" || a.field("guests") != "true" {
		t.Errorf("while nothing is on: %d %s", a.status, a.body)
	}
	c.want(c.call("POST", "/sponsors/acme/deposits", `{"amount":1000,"reference":"r1"}`), 201, "")
	made := c.call("POST", "/campaigns", `{"name":"Gala","sponsor":"acme","budget":100,"packets":10,"wins_per_user":3}`)
	c.want(made, 201, "")
	c.token = ""
	for _, path := range []string{"/lobby", "/lobby?campaign=" + made.field("id")} {
		a := c.call("GET", path, "")
		c.want(a, 200, "")
		if a.field("campaign") != made.field("id") || a.field("name") != "Gala" || a.field("wins_per_user") != "3" ||
			a.field("guests") != "true" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	c.want(c.call("GET", "/lobby?campaign=nowhere", ""), 404, "unknown_campaign")
}
