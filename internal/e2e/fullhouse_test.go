package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
)

const (
	houseSeats   = 100
	housePlayers = 300
	// houseLeaves is how many may have gone at once without somebody having come in for them: the seats that are free.
	houseLeaves = 10
)

// TestFullHouse: 300 players for 100 seats, through haproxy before two nodes of which one is killed while 200 wait.
// Nobody is ended for good, there are never more in the room than seats, all get in, in the order in which they came
// (order.check says how exactly), and those who wait cost the nodes next to nothing. One who sits on the node that is
// killed and two who wait, in zh and in en, do so in a browser.
func TestFullHouse(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelBrowser(t, testenv.Heavy)
	s := realSetting(t)
	a, b := watchedProcess(t, s), watchedProcess(t, s)
	proxy := testenv.StartHAProxy(t, fmt.Sprintf(`  mode http
  balance leastconn
  option redispatch
  retries 3
  default-server check inter 500ms fall 2 rise 1
  server a %s
  server b %s
`, strings.TrimPrefix(a.url, "http://"), strings.TrimPrefix(b.url, "http://")))
	spec := fund(t, a.node, "full-house", 1_000, 10)
	spec.Name, spec.Capacity = "Full house 满座", houseSeats
	c := createCampaign(t, a.client, spec)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	h := &house{ctx: ctx, t: t, front: nodeAt(t, "http://"+proxy.Addr), campaign: c.ID,
		goes: make(chan struct{}, housePlayers), allIn: make(chan struct{})}
	defer h.playing.Wait()
	defer cancel() // where it fails before the end

	sits := h.open("sits", browser.Options{Device: browser.Phone})
	sits.room()
	doomed, other := a, b
	if b.metric(t, "redrain_connections") == 1 {
		doomed, other = b, a
	}
	for h.comers() < houseSeats {
		h.arrive()
	}
	h.awaitIn(houseSeats)
	for h.comers() < 150 {
		h.arrive()
	}
	zh := h.open("waits-zh", browser.Options{Device: browser.Phone, Language: "zh-CN,zh"})
	for h.comers() < 220 {
		h.arrive()
	}
	en := h.open("waits-en", browser.Options{Device: browser.SmallPhone})
	for h.comers() < housePlayers {
		h.arrive()
	}
	waiting := []*housePage{zh, en}
	for _, p := range waiting {
		p.queued(1)
		p.State("queue-" + p.visit.user)
	}
	// A place that was asked for late is gone for a moment, and so is a line that has broken.
	testenv.Eventually(t, time.Minute, "all have a seat or a place", func() bool {
		stats, err := other.client.Stats(within(t, 20*time.Second), c.ID)
		return err == nil && stats.Waiting == housePlayers-houseSeats && stats.Seated == houseSeats
	})
	h.passersBy(a, b)
	testenv.Eventually(t, time.Minute, "as many sockets as seats", func() bool {
		return a.metric(t, "redrain_connections")+b.metric(t, "redrain_connections") == houseSeats
	})

	onDoomed, before := int64(doomed.metric(t, "redrain_connections")), h.returned()
	doomed.kill()
	sits.Until("a second welcome", "globalThis.welcomes >= 2")
	sits.room()
	sits.Shoot("back-" + sits.visit.user)
	testenv.Eventually(t, 2*time.Minute, "who sat on the killed node has come back", func() bool {
		return h.returned() >= before+onDoomed-1 // and the page
	})
	for _, p := range waiting {
		p.queued(len(p.answers()) + 2) // the first may have been under way
		p.Shoot("queue-after-the-kill-" + p.visit.user)
	}
	testenv.Eventually(t, time.Minute, "all are in the room of the node that is left", func() bool {
		return other.metric(t, "redrain_connections") == houseSeats
	})
	t.Logf("%d of %d were on the node that was killed, and came back", onDoomed, houseSeats)

	for range houseLeaves {
		h.goes <- struct{}{}
	}
	h.awaitPages(waiting)
	h.awaitIn(housePlayers)
	close(h.allIn)
	h.playing.Wait()
	for _, p := range waiting {
		p.room()
		p.State("in-" + p.visit.user)
		p.told()
	}
	h.check()
}
