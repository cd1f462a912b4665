package e2e

import (
	"bytes"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestOddsThatAreSetWhileItRains plays a long rain with the odds "auto" and more players than packets. It stops the
// rain when odds were set three times and a player has won. Every tap gets one answer, every win is paid once, and each
// player's beats follow from the seed. The stock sinks no faster than the rain goes on, within a factor of four.
func TestOddsThatAreSetWhileItRains(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Heavy)
	nodes := startNodes(t, clusterSetting(t).config(), 2)
	const packets, count = 40, 50
	op := nodes[0].client
	spec := fund(t, nodes[0], "odds", 100_000, packets)
	spec.WinsPerUser, spec.Shards = packets, 2
	c := createCampaign(t, op, spec)
	players := joinGreedy(t, nodes, c.ID, count) // the first tap of a beat takes the draw
	long := shortRain(1_000)
	long.DurationMS, long.DropsPerSecond, long.Odds, long.Pacing = 600_000, 8, rain.OddsAuto, rain.PacingEven
	began := time.Now()
	r := startRain(t, op, c.ID, long)
	var f client.Fairness
	var err error
	won := func() (sum int) {
		for _, p := range players {
			sum += len(p.wins())
		}
		return sum
	}
	testenv.Eventually(t, time.Minute, "odds are set three times, and a player has won", func() bool {
		f, err = op.Fairness(within(t, 10*time.Second), c.ID, r.ID)
		return err == nil && len(f.Schedule.OddsRecord) >= 3 && won() > 0
	})
	testenv.Must(t, testenv.Err(op.StopRain(within(t, 10*time.Second), c.ID, r.ID)))
	for _, p := range players {
		p.await(t, time.Minute, "end of the rain", func() bool { return ended(p.rains) })
	}
	for _, p := range players {
		p.taps.Wait()
	}
	share := float64(time.Since(began).Milliseconds()) / float64(long.DurationMS)
	if most := 5 + 4*int(packets*share); won() > most {
		t.Errorf("%d of %d packets are won in %.1f %% of the rain; odds %v", won(), packets, 100*share,
			f.Schedule.OddsRecord)
	}
	checkResults(t, players)
	checkFigures(t, op, c.ID, players) // at once: those of the taps' times are of the last seconds

	testenv.Eventually(t, 30*time.Second, "the seed", func() bool {
		f, err = op.Fairness(within(t, 10*time.Second), c.ID, r.ID)
		return err == nil && f.Seed != ""
	})
	for _, p := range players {
		wins := len(p.wins())
		p.await(t, 30*time.Second, "settlement of each win", func() bool { return len(p.settled) == wins })
		verifyPlayer(t, nodes[0], c.ID, r.ID, p.user, wins)
	}
	rec, err := op.Reconciliation(within(t, 10*time.Second), c.ID)
	if err != nil || !rec.Balanced || rec.Unsettled != 0 {
		t.Errorf("the books: %+v, %v", rec, err)
	}
}

// verifyPlayer has a player's beats checked by the command, which must know of all that they have won.
func verifyPlayer(t *testing.T, n *node, campaign, rainID, user string, wins int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Main([]string{"verify", campaign, rainID, "--user", user, "--server", n.url, "--token", viewerToken,
		"--json"},
		func(string) (string, bool) { return "", false }, &stdout, &stderr)
	testenv.Equal(t, code, 0, "verify --user %s, which says %s%s, exits with", user, stdout.String(), stderr.String())
	testenv.Equal(t, bytes.Count(stdout.Bytes(), []byte(`"claim"`)), wins,
		"claims of %s that verify knows: %s", user, stdout.String())
}
