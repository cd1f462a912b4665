package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestARainIsRememberedAfterARestart: the figures of a rain are there once every node was stopped and another begins.
func TestARainIsRememberedAfterARestart(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Medium)
	s := realSetting(t)
	a, b := startProcess(t, s), startProcess(t, s)
	c, err := a.client.CreateCampaign(within(t, 20*time.Second), fund(t, a.node, "remembered", 1_000, 10), "")
	must(t, err)
	p := join(t, b.node, "alice", c.ID)
	_, err = a.client.StartRain(within(t, 10*time.Second), c.ID, shortRain(100), "")
	must(t, err)
	if r := p.answered(t, p.tap(p.aDrop(t))); r.Outcome != "won" {
		t.Fatalf("%+v", r)
	}
	type history struct {
		T      []int64 `json:"t"`
		Online []int64 `json:"online"`
		Won    []int64 `json:"won"`
		Taps   []int64 `json:"taps"`
	}
	read := func(n *process) (h history) {
		t.Helper()
		must(t, json.Unmarshal(newAPIClient(t, n.node).call("GET", "/campaigns/"+c.ID+"/history", "").body, &h))
		return h
	}
	testenv.Eventually(t, time.Minute, "the win is in the history of the other node", func() bool {
		h := read(b)
		return slices.Contains(h.Won, 1) && slices.Contains(h.Online, 1) && slices.Contains(h.Taps, 1)
	})
	a.stop(t)
	before := read(b)
	b.stop(t)
	after := read(startProcess(t, s))
	if len(after.T) < len(before.T) || !slices.Equal(after.T[:len(before.T)], before.T) ||
		!slices.Equal(after.Won[:len(before.Won)], before.Won) {
		t.Errorf("before the restart %+v, after it %+v", before, after)
	}
	if !slices.IsSorted(after.T) || slices.Max(after.Won) != 1 {
		t.Errorf("%+v", after)
	}
}
