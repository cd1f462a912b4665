package e2e

import (
	"bytes"
	"testing"
	"time"

	"redrain/internal/cli"
	"redrain/internal/operator"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestOddsThatAreSetWhileItRains plays a rain with the odds "auto" and two players for each packet. Every tap gets its
// one answer, what was won is paid once, each player's beats are as the seed says, and the odds of the first half
// leave packets for the second. How exactly the stock ends with the rain is a matter of package campaigns.
func TestOddsThatAreSetWhileItRains(t *testing.T) {
	if testing.Short() {
		t.Skip("a rain of ten seconds")
	}
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Heavy)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			playOdds(t, nodes)
		})
	}
}

func playOdds(t *testing.T, nodes []*node) {
	t.Helper()
	const packets, count = 100, 50
	op := nodes[0].client
	spec := fund(t, nodes[0], "odds", 100_000, packets)
	spec.WinsPerUser, spec.Shards = packets, 2
	c, err := op.CreateCampaign(within(t, 30*time.Second), spec, "")
	if err != nil {
		t.Fatal(err)
	}
	players := joinGreedy(t, nodes, c.ID, count) // the first tap of a beat takes the draw
	slow := shortRain(5_000)
	slow.DurationMS, slow.DropsPerSecond, slow.Odds, slow.Pacing = 10_000, 8, rain.OddsAuto, rain.PacingEven
	r, err := op.StartRain(within(t, 10*time.Second), c.ID, slow, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range players {
		p.await(t, time.Minute, "end of the rain", func() bool { return ended(p.rains) })
	}
	for _, p := range players {
		p.taps.Wait()
	}
	checkResults(t, players)
	checkFigures(t, op, c.ID, players) // at once: those of the taps' times are of the last seconds

	var f operator.Fairness
	testenv.Eventually(t, 30*time.Second, "the seed", func() bool {
		f, err = op.Fairness(within(t, 10*time.Second), c.ID, r.ID)
		return err == nil && f.Seed != ""
	})
	if len(f.Schedule.OddsRecord) == 0 {
		t.Error("nobody has set odds")
	}
	half := f.Schedule.FirstWave + f.Schedule.Waves/2
	won, early := 0, 0
	for _, p := range players {
		wins := p.wins()
		for _, w := range wins {
			if drop, ok := rain.ParseDrop(w.Drop); !ok || drop.N < half {
				early++
			}
		}
		won += len(wins)
		p.await(t, 30*time.Second, "settlement of each win", func() bool { return len(p.settled) == len(wins) })
		verifyPlayer(t, nodes[0], c.ID, r.ID, p.user, len(wins))
	}
	t.Logf("%d of %d packets won, %d in the first half; odds %v", won, packets, early, f.Schedule.OddsRecord)
	if won == 0 || early > 3*packets/4 {
		t.Errorf("%d of %d packets won, %d in the first half; odds %v", won, packets, early, f.Schedule.OddsRecord)
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
	if code != 0 {
		t.Errorf("verify --user %s: exit %d, %s%s", user, code, stdout.String(), stderr.String())
	}
	if got := bytes.Count(stdout.Bytes(), []byte(`"claim"`)); got != wins {
		t.Errorf("verify knows %d claims of %s, who has won %d: %s", got, user, wins, stdout.String())
	}
}
