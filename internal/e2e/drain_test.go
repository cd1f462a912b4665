package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/room"
)

// TestDrain: SIGTERM notifies every player when to come back, closes with 4000, and ends with exit code 0.
func TestDrain(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startProcess(t, realSetting(t))
	c := createCampaign(t, n.client, fund(t, n.node, "drain", 1_000, 10))
	players := make([]*player, 20)
	for i := range players {
		players[i] = join(t, n.node, fmt.Sprintf("user-%d", i), c.ID)
	}
	startRain(t, n.client, c.ID, longRain(16))
	players[0].winOne(t)
	n.Signal(syscall.SIGTERM)
	times := map[int64]bool{}
	for _, p := range players {
		wantClose(t, p, room.CodeShutdown)
		p.mu.Lock()
		if p.goodbye == nil || p.goodbye.Reason != "shutdown" || p.goodbye.ReconnectAfterMS <= 0 {
			t.Errorf("%s: goodbye %+v", p.user, p.goodbye)
		} else {
			times[p.goodbye.ReconnectAfterMS] = true
		}
		p.mu.Unlock()
	}
	if len(times) < 5 {
		t.Errorf("20 players come back at %d different times", len(times))
	}
	if state := n.Wait(30 * time.Second); !state.Success() {
		t.Errorf("the process ended with %v", state)
	}
}

// TestADrainIsSeen: after SIGTERM an idle node stays open for --drain-delay. /readyz says draining, so that balancers
// notice, and players who still come are served.
func TestADrainIsSeen(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	n := startProcessWith(t, processOptions{flags: append(s.flags(), "--drain-delay", "4s")})
	c := createCampaign(t, n.client, fund(t, n.node, "seen", 1_000, 10))
	startRain(t, n.client, c.ID, longRain(16))
	wantReady(t, n.node, 200, "ready")
	n.Signal(syscall.SIGTERM)
	began := time.Now()
	wantReady(t, n.node, 503, "draining")
	p := join(t, n.node, "late", c.ID)
	p.winOne(t)
	wantClose(t, p, room.CodeShutdown)
	if open := time.Since(began); open < 4*time.Second {
		t.Errorf("players were sent away after %v", open)
	}
	if state := n.Wait(30 * time.Second); !state.Success() {
		t.Errorf("the process ended with %v", state)
	}
}
