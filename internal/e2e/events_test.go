package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"

	"redrain/rain"
)

// openFeed opens an operators' feed, for its reader to close.
func openFeed(t *testing.T, n *node, query string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, n.url+"/api/v1/events"+query, nil)
	testenv.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+viewerToken)
	return testenv.Got(httpClient.Do(req)).Must(t)
}

// feedEvent is one event of a feed, with the fields that name its campaign.
type feedEvent struct {
	kind     string
	ID       string `json:"id"`       // of a campaign, or of a rain
	Campaign string `json:"campaign"` // in all that is no campaign
	State    string `json:"state"`
	Phase    string `json:"phase"` // of a rain
	Stock    *int   `json:"stock"`

	AmountLeft rain.Money `json:"amount_left"`
}

// readFeed hands each event to handle until that returns true. It fails the test where the feed ends before.
func readFeed(t *testing.T, resp *http.Response, handle func(feedEvent) bool) {
	t.Helper()
	kind := ""
	for lines := bufio.NewScanner(resp.Body); ; {
		if !lines.Scan() {
			t.Fatalf("the feed has ended: %v", lines.Err())
		}
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		e := feedEvent{kind: kind}
		testenv.Must(t, json.Unmarshal([]byte(data), &e))
		if handle(e) {
			return
		}
	}
}

// TestEvents: the feed of all campaigns has each phase of a rain. The feed of one campaign begins with its state and
// has only its events. Its figures come every second, also without a rain and after the end.
func TestEvents(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	ours := createCampaign(t, n.client, fund(t, n, "ours", 1_000, 10))
	other := createCampaign(t, n.client, fund(t, n, "other", 2_000, 20))
	unknown := openFeed(t, n, "?campaign=nowhere")
	if _ = unknown.Body.Close(); unknown.StatusCode != http.StatusNotFound ||
		unknown.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a feed of no campaign: %d %s", unknown.StatusCode, unknown.Header.Get("Content-Type"))
	}
	all, one := openFeed(t, n, ""), openFeed(t, n, "?campaign="+ours.ID)
	defer func() { _ = all.Body.Close(); _ = one.Body.Close() }()
	if got := all.Header.Get("Content-Type"); all.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", all.StatusCode, got)
	}
	// The other campaign rains; ours does not.
	startRain(t, n.client, other.ID, shortRain(1_500))
	var opening string
	stats, paused := 0, false
	readFeed(t, one, func(e feedEvent) bool {
		if opening == "" {
			opening = e.kind + " " + e.State
		}
		if e.ID != ours.ID && e.Campaign != ours.ID {
			t.Errorf("the feed of %s has an event of another: %+v", ours.ID, e)
		}
		switch e.kind {
		case "stats":
			stats++
			if e.Stock == nil || *e.Stock != 10 || e.AmountLeft != 1_000 {
				t.Errorf("%+v", e)
			}
			if stats == 2 {
				testenv.Must(t, testenv.Err(n.client.Pause(within(t, 10*time.Second), ours.ID)))
			}
		case "campaign":
			paused = e.State == "paused"
		}
		return stats > 2 && paused
	})
	testenv.Equal(t, opening, "campaign ready", "the feed began with")
	heard := map[string]bool{}
	readFeed(t, all, func(e feedEvent) bool {
		heard[e.kind+" "+cmp.Or(e.Campaign, e.ID)] = true
		heard[e.Phase] = true
		return heard["campaign "+ours.ID] && heard["stats "+other.ID] && heard[string(rain.PhaseCountdown)] &&
			heard[string(rain.PhaseFalling)] && heard[string(rain.PhaseEnded)]
	})
	if heard["stats "+ours.ID] {
		t.Error("the feed of all has figures of a campaign without a rain, because somebody else looks at it")
	}

	testenv.Must(t, testenv.Err(n.client.CloseCampaign(within(t, 10*time.Second), other.ID)))
	over := openFeed(t, n, "?campaign="+other.ID)
	defer func() { _ = over.Body.Close() }()
	stats = 0
	readFeed(t, over, func(e feedEvent) bool {
		if e.kind == "stats" {
			stats++
		}
		return stats == 5 // by then it is drained, and no node would keep it without the feed
	})
}
