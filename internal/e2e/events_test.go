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

	"redrain/internal/operator"
	"redrain/internal/wire"
	"redrain/rain"
)

// TestEvents: the operators' feed tells of a campaign, of each phase of its rain, and of its figures.
func TestEvents(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "events", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	resp := openFeed(t, n, "")
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	// The answer has begun, so the feed is open: nothing of what follows is missed.
	if _, err := n.client.StartRain(within(t, 10*time.Second), c.ID, shortRain(1_500), ""); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{
		"campaign": true, "stats": true, string(rain.PhaseCountdown): true, string(rain.PhaseFalling): true,
		string(rain.PhaseEnded): true,
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
			delete(wanted, string(parse[wire.Rain](t, []byte(data)).Phase))
		case operator.EventStats:
			var s struct {
				Campaign string `json:"campaign"`
				operator.Stats
			}
			if err := json.Unmarshal([]byte(data), &s); err != nil || s.Campaign != c.ID || s.Stock != 10 ||
				s.AmountLeft != 1_000 {
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

// openFeed opens an operators' feed, for its reader to close.
func openFeed(t *testing.T, n *node, query string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, n.url+"/api/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+viewerToken)
	resp, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// feedEvent is one event of a feed, with what of it says which campaign it is of.
type feedEvent struct {
	kind     string
	ID       string `json:"id"`       // of a campaign, or of a rain
	Campaign string `json:"campaign"` // in all that is no campaign
	State    string `json:"state"`
	Stock    *int   `json:"stock"`
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
		e := parse[feedEvent](t, []byte(data))
		e.kind = kind
		if handle(e) {
			return
		}
	}
}

// TestEventsOfOneCampaign: a feed of one campaign begins with how that stands, tells of nothing else, and has its
// figures every second without a rain, also when it is over.
func TestEventsOfOneCampaign(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	ours, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "ours", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "other", 2_000, 20), "")
	if err != nil {
		t.Fatal(err)
	}
	unknown := openFeed(t, n, "?campaign=nowhere")
	if _ = unknown.Body.Close(); unknown.StatusCode != http.StatusNotFound ||
		unknown.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a feed of no campaign: %d %s", unknown.StatusCode, unknown.Header.Get("Content-Type"))
	}
	all, one := openFeed(t, n, ""), openFeed(t, n, "?campaign="+ours.ID)
	defer func() { _ = all.Body.Close(); _ = one.Body.Close() }()
	// The other campaign rains; ours does not.
	if _, err := n.client.StartRain(within(t, 10*time.Second), other.ID, shortRain(100), ""); err != nil {
		t.Fatal(err)
	}
	var opening string
	stats, paused := 0, false
	readFeed(t, one, func(e feedEvent) bool {
		if opening == "" {
			opening = e.kind + " " + e.State
		}
		if e.ID != ours.ID && e.Campaign != ours.ID {
			t.Errorf("the feed of %s tells of another: %+v", ours.ID, e)
		}
		switch e.kind {
		case operator.EventStats:
			stats++
			if e.Stock == nil || *e.Stock != 10 {
				t.Errorf("%+v", e)
			}
			if stats == 2 {
				if _, err := n.client.Pause(within(t, 10*time.Second), ours.ID); err != nil {
					t.Fatal(err)
				}
			}
		case operator.EventCampaign:
			paused = e.State == "paused"
		}
		return stats > 2 && paused
	})
	if opening != "campaign ready" {
		t.Errorf("the feed began with %q", opening)
	}
	heard := map[string]bool{}
	readFeed(t, all, func(e feedEvent) bool {
		heard[e.kind+" "+cmp.Or(e.Campaign, e.ID)] = true
		return heard["campaign "+ours.ID] && heard["stats "+other.ID] && heard["rain "+other.ID]
	})
	if heard["stats "+ours.ID] {
		t.Error("the feed of all has figures of a campaign without a rain, because somebody else looks at it")
	}

	if _, err := n.client.CloseCampaign(within(t, 10*time.Second), other.ID); err != nil {
		t.Fatal(err)
	}
	over := openFeed(t, n, "?campaign="+other.ID)
	defer func() { _ = over.Body.Close() }()
	stats = 0
	readFeed(t, over, func(e feedEvent) bool {
		if e.kind == operator.EventStats {
			stats++
		}
		return stats == 5 // by then it is drained, and no node would keep it without the feed
	})
}
