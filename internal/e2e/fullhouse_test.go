package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
)

const (
	houseSeats   = 100
	housePlayers = 300
	// houseLeaves is the largest number of free seats: as many players may have left before the next came in.
	houseLeaves = 10
)

// TestFullHouse: 300 players want 100 seats, through haproxy before two nodes. One node is killed while 200 wait. No
// player is closed for good, and the room never has more players than seats. All get in, in the order in which they
// came (see order.check). The waiting players cost the nodes next to nothing.
func TestFullHouse(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Heavy)
	s := realSetting(t)
	doomed, other := watchedProcess(t, s), watchedProcess(t, s)
	proxy := testenv.StartHAProxy(t, fmt.Sprintf(`  mode http
  balance leastconn
  option redispatch
  retries 3
  default-server check inter 500ms fall 2 rise 1
  server a %s
  server b %s
`, strings.TrimPrefix(doomed.url, "http://"), strings.TrimPrefix(other.url, "http://")))
	spec := fund(t, doomed.node, "full-house", 1_000, 10)
	spec.Capacity = houseSeats
	c := createCampaign(t, doomed.client, spec)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	h := &house{ctx: ctx, t: t, front: nodeAt(t, "http://"+proxy.Addr), campaign: c.ID,
		goes: make(chan struct{}, housePlayers), allIn: make(chan struct{})}
	defer h.playing.Wait()
	defer cancel() // if it fails before the end

	for len(h.visits) < houseSeats {
		h.arrive()
	}
	h.await("seats are taken", func() bool { return h.in >= houseSeats })
	for len(h.visits) < housePlayers {
		h.arrive()
	}
	// A place that was asked for late is gone for a moment, and so is a line that has broken.
	testenv.Eventually(t, time.Minute, "all have a seat or a place", func() bool {
		stats, err := other.client.Stats(within(t, 20*time.Second), c.ID)
		return err == nil && stats.Waiting == housePlayers-houseSeats && stats.Seated == houseSeats
	})
	h.passersBy(doomed, other)
	testenv.Eventually(t, time.Minute, "as many sockets as seats", func() bool {
		return doomed.metric(t, "redrain_connections")+other.metric(t, "redrain_connections") == houseSeats
	})

	h.mu.Lock()
	goal := h.back + int(doomed.metric(t, "redrain_connections"))
	h.mu.Unlock()
	doomed.Kill()
	h.await("players of the killed node are back", func() bool { return h.back >= goal })
	testenv.Eventually(t, time.Minute, "all are in the room of the node that is left", func() bool {
		return other.metric(t, "redrain_connections") == houseSeats
	})

	for range houseLeaves {
		h.goes <- struct{}{}
	}
	h.await("all are in", func() bool { return h.in >= housePlayers })
	close(h.allIn)
	h.playing.Wait()
	if h.most > houseSeats {
		t.Errorf("%d were in the room at once, for %d seats", h.most, houseSeats)
	}
	order{visits: h.visits, seats: houseSeats}.check(t)
}
