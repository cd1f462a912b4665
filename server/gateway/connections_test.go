package gateway

import (
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/room"
)

// A connection that is one too many ends with 4004, and the others of its player stay; each is known from hello to the
// end, and a tap says on how many nodes its player is.
func TestConnectionsThatAreTooMany(t *testing.T) {
	var mu sync.Mutex
	var nodes []int
	n := &neighbours{tap: func(tap *grab.Tap[Asked]) (outcome.Result, bool) {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, tap.Nodes)
		return outcome.Result{Outcome: outcome.Empty}, true
	}}
	d := openDoor(t, n, nil)
	first, second := d.play("u"), d.play("u")
	other := d.play("other")
	list := func() []uint64 { return n.connections.of("u") }
	testenv.Eventually(t, 10*time.Second, "both are known", func() bool { return len(list()) == 2 })
	d.gateway.TooMany("u", list()[0])
	if code := first.closed(); code != room.CodeTooManySeats {
		t.Errorf("closed with %d", code)
	}
	testenv.Eventually(t, 10*time.Second, "one is known", func() bool { return len(list()) == 1 })
	d.gateway.TooMany("other", list()[0]) // another player's number
	d.gateway.TooMany("nobody", 1)
	tap := func(c *client) {
		c.say(`{"type":"tap","id":1,"drop":"1.1"}`)
		if r := c.hear("result"); !strings.Contains(r, "empty") {
			t.Error(r)
		}
	}
	tap(second)
	d.gateway.Among("u", 3)
	d.gateway.Among("nobody", 3)
	tap(second)
	tap(other)
	mu.Lock()
	defer mu.Unlock()
	if len(nodes) != 3 || nodes[0] > 1 || nodes[1] != 3 || nodes[2] > 1 {
		t.Errorf("taps of players who are on %v nodes", nodes)
	}
}
