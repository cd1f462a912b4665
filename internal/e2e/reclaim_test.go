package e2e

import (
	"fmt"
	"testing"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
)

// TestKillNineInTheMiddleOfReclaiming kills the node that ends expired campaigns, right after it has closed one. It
// holds the lease; one campaign is half done, and the others are not begun. Another node takes over after the lease,
// and every sponsor has their money back, once.
func TestKillNineInTheMiddleOfReclaiming(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	s := realSetting(t)
	doomed := startProcess(t, s, "REDRAIN_FAULT_AT=reclaim.after_close:4")
	expiring := func(by *node, name string, afterMS int64) client.Campaign {
		t.Helper()
		spec := fund(t, by, name, 1_000, 10)
		spec.ExpiresInMS, spec.Shards = afterMS, 2
		return createCampaign(t, by.client, spec)
	}
	first := expiring(doomed.node, "first", 1_000)
	testenv.Eventually(t, 20*time.Second, "the doomed node has the lease, and ends campaigns", func() bool {
		c, err := doomed.client.Campaign(t.Context(), first.ID)
		return err == nil && c.State == "closed"
	})
	heir := startProcess(t, s) // it has no lease as long as the other one lives
	const campaigns = 8
	made := make([]client.Campaign, campaigns)
	for i := range made {
		made[i] = expiring(heir.node, fmt.Sprintf("expiring-%d", i), 3_000)
	}
	doomed.awaitDeath(t, 30*time.Second)
	testenv.Eventually(t, time.Minute, "every sponsor has their money back", func() bool {
		for i := range made {
			if a, err := client.Get[openapi.Sponsor](t.Context(), heir.client, "sponsors",
				fmt.Sprintf("sponsor-expiring-%d", i)); err != nil ||
				a.Balance != 1_000 {
				return false
			}
		}
		return true
	})
	for _, c := range made {
		rec, err := heir.client.Reconciliation(within(t, 10*time.Second), c.ID)
		if err != nil || !rec.Balanced || rec.Reclaimed != 1_000 || rec.Unsettled != 0 {
			t.Errorf("campaign %s: %+v, %v", c.ID, rec, err)
		}
	}
}
