package e2e

import (
	"testing"

	"redrain/internal/testenv"
)

// TestADiskThatWasFull for seconds: with a data directory, redrain restarts its NATS server by itself.
func TestADiskThatWasFull(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	cfg := setting{}.config()
	cfg.DataDir = t.TempDir()
	testenv.SmallDisk(t, cfg.DataDir, 32)
	n := startNode(t, cfg)
	spec := fund(t, n, "full", 100_000, 1_000)
	spec.WinsPerUser = 1_000
	c := createCampaign(t, n.client, spec)
	startRain(t, n.client, c.ID, longRain(40))
	p := join(t, n, "u", c.ID)
	p.winOne(t)
	free := testenv.FillDisk(t, cfg.DataDir)
	p.untilAnswer(t, "unavailable")
	wantReady(t, n, 503, "unready", "nats")
	awaitAlarm(t, n, "backend_down", "nats does not work")
	free()
	p.untilAnswer(t, "won")
	awaitPaid(t, n, p)
	wantReady(t, n, 200, "ready")
}

// TestANATSServerWhoseDiskWasFull: an external server takes no message until it is restarted, as docs/use/operate.md
// says. The alarm comes meanwhile, and every reported win is paid after the restart.
func TestANATSServerWhoseDiskWasFull(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	server := testenv.StartNATS(t)
	s.nats = server.URL
	server.Stop()
	testenv.SmallDisk(t, server.Data(), 16)
	server.Start()
	n := startNode(t, s.config())
	spec := fund(t, n, "full", 100_000, 1_000)
	spec.WinsPerUser = 100
	c := createCampaign(t, n.client, spec)
	startRain(t, n.client, c.ID, longRain(40))
	p := join(t, n, "u", c.ID)
	p.winOne(t)
	awaitPaid(t, n, p)
	free := testenv.FillDisk(t, server.Data())
	for range 10 {
		p.winOne(t)
	}
	wantReady(t, n, 200, "degraded", "nats")
	free()
	p.winOne(t)
	awaitAlarm(t, n, "backend_down", "a server whose disk was full needs a restart")
	awaitAlarm(t, n, "unpaid", "a win of")
	server.Stop()
	server.Start()
	awaitPaid(t, n, p)
	wantReady(t, n, 200, "ready")
}
