package e2e

import (
	"testing"

	"redrain/internal/testenv"
)

// TestAClusterOverTLS: one address of a Cluster whose nodes have a certificate each, of an authority in SSL_CERT_FILE.
func TestAClusterOverTLS(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	c := testenv.StartSecureCluster(t, "")
	p := startProcessWith(t, processOptions{flags: []string{"--redis", "rediss://" + c.Addrs[0]},
		env: []string{"SSL_CERT_FILE=" + c.CA}})
	spec := fund(t, p.node, "tls", 10_000, 100)
	spec.Shards, spec.WinsPerUser = 8, 100
	campaign := createCampaign(t, p.client, spec)
	startRain(t, p.client, campaign.ID, longRain(16))
	u := join(t, p.node, "u", campaign.ID)
	for range 5 {
		u.winOne(t)
	}
	awaitBooks(t, p.client, campaign.ID)
}
