package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/room"
)

// TestDrain: SIGTERM says goodbye to every player with a time to come back, closes with 4000, and ends with exit
// code 0.
func TestDrain(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	n := startProcess(t, s)
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n.node, "drain", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	players := make([]*player, 20)
	for i := range players {
		players[i] = join(t, n.node, fmt.Sprintf("user-%d", i), c.ID)
	}
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
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
	if resp, err := get(t, n.url+"/healthz"); err == nil {
		_ = resp.Body.Close()
		t.Error("somebody still answers")
	}
}
