package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/internal/operator"
	"redrain/internal/wire"
	"redrain/rain"
)

// TestEvents: the operators' feed tells of a campaign, of each phase of its rain, and of its figures.
func TestEvents(t *testing.T) {
	n := startNode(t, setting{}.config())
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "events", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, n.url+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+viewerToken)
	resp, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	// The answer has begun, so the feed is open: nothing of what follows is missed.
	if _, err := n.client.StartRain(within(t, 10*time.Second), c.ID, shortRain(1_500), ""); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{
		"campaign": true, "stats": true, string(rain.PhaseCountdown): true, string(rain.PhaseFalling): true, string(rain.PhaseEnded): true,
	}
	lines, kind := bufio.NewScanner(resp.Body), ""
	for len(wanted) > 0 && lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		switch kind {
		case operator.EventRain:
			delete(wanted, string(parse[wire.Rain]([]byte(data)).Phase))
		case operator.EventStats:
			var s struct {
				Campaign string `json:"campaign"`
				operator.Stats
			}
			if err := json.Unmarshal([]byte(data), &s); err != nil || s.Campaign != c.ID || s.Stock != 10 || s.AmountLeft != 1_000 {
				t.Errorf("stats (%v): %s", err, data)
			}
			delete(wanted, kind)
		default:
			delete(wanted, kind)
		}
	}
	if len(wanted) > 0 {
		t.Errorf("the feed ended (%v) without %v", lines.Err(), wanted)
	}
}
