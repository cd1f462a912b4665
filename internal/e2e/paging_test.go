package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestPages walks through a list by cursor without losing or repeating anything.
func TestPages(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	c := newAPIClient(t, n)
	spec := fund(t, n, "pages", 700, 10)
	spec.Budget = 100
	want := map[string]bool{}
	for range 7 {
		made, err := n.client.CreateCampaign(within(t, 10*time.Second), spec, "")
		if err != nil {
			t.Fatal(err)
		}
		want[made.ID] = true
	}
	cursor, pages := "", 0
	for {
		a := c.call("GET", "/campaigns?limit=3&cursor="+cursor, "")
		var l struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
			Next string `json:"next_cursor"`
		}
		must(t, json.Unmarshal(a.body, &l))
		for _, item := range l.Items {
			if !want[item.ID] {
				t.Errorf("%s is repeated or unknown", item.ID)
			}
			delete(want, item.ID)
		}
		pages++
		if cursor = l.Next; cursor == "" {
			break
		}
	}
	if len(want) != 0 || pages != 3 {
		t.Errorf("%d pages, not seen: %v", pages, want)
	}
}
