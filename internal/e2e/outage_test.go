package e2e

import (
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestCreationWithoutRedis: a campaign that cannot be stocked is refused, and its money is back at the sponsor.
func TestCreationWithoutRedis(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	redis := testenv.StartRedis(t)
	s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t), namespace: testenv.Namespace(t)}
	n := startNode(t, s.config())
	spec := fund(t, n, "unstocked", 1_000, 10)
	redis.Kill()
	if _, err := n.client.CreateCampaign(within(t, time.Minute), spec, ""); !hasCode(err, "unavailable") {
		t.Errorf("without Redis: %v", err)
	}
	left, err := n.client.Sponsor(within(t, 10*time.Second), spec.Sponsor)
	if err != nil || left.Balance != spec.Budget {
		t.Errorf("the sponsor has %d of %d (%v)", left.Balance, spec.Budget, err)
	}
	redis.Start()
	testenv.Eventually(t, 30*time.Second, "creation after the outage", func() bool {
		c, err := n.client.CreateCampaign(within(t, time.Minute), spec, "second try")
		return err == nil && c.State == "ready"
	})
}
