package e2e

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/room"
)

// TestDrain: SIGTERM notifies every player when to come back, closes with 4000, and ends with exit code 0. The next
// process has the history of the rain.
func TestDrain(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	n := startProcess(t, s)
	c := createCampaign(t, n.client, fund(t, n.node, "drain", 1_000, 10))
	players := make([]*player, 20)
	for i := range players {
		players[i] = join(t, n.node, fmt.Sprintf("user-%d", i), c.ID)
	}
	startRain(t, n.client, c.ID, longRain(16))
	players[0].winOne(t)
	type history struct{ T, Online, Won, Taps []int64 }
	read := func(n *process) history {
		t.Helper()
		return parse[history](t, newAPIClient(t, n.node).call("GET", "/campaigns/"+c.ID+"/history", "").body)
	}
	var before history
	testenv.Eventually(t, time.Minute, "the win is in the history", func() bool {
		before = read(n)
		return slices.Contains(before.Won, 1) && slices.Contains(before.Online, 20) && slices.Contains(before.Taps, 1)
	})
	must(t, n.cmd.Process.Signal(syscall.SIGTERM))
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
	select {
	case <-n.exited:
	case <-time.After(30 * time.Second):
		t.Fatal("the process does not end")
	}
	if n.err != nil {
		t.Errorf("the process ended with %v", n.err)
	}
	after := read(startProcess(t, s))
	if len(after.T) < len(before.T) || !slices.Equal(after.T[:len(before.T)], before.T) ||
		!slices.Equal(after.Won[:len(before.Won)], before.Won) || slices.Max(after.Won) != 1 {
		t.Errorf("before the restart %+v, after it %+v", before, after)
	}
}
