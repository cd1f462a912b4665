package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/internal/bench"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestEverybodyWinsOnce: as many packets as players on many shards, where most shards have more players at home than
// packets, or fewer. Each player wins one, and nobody is told that all are gone.
func TestEverybodyWinsOnce(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	const shards, players = 128, 400
	s := clusterSetting(t)
	nodes := []*node{startProcess(t, s).node, startProcess(t, s).node}
	spec := fund(t, nodes[0], "everybody", rain.Money(100*players), players)
	spec.WinsPerUser, spec.Shards, spec.Split = 1, shards, rain.DoubleMean
	c := createCampaign(t, nodes[0].client, spec)
	tokens := make([]string, players)
	for i := range tokens {
		tokens[i] = token(t, fmt.Sprintf("player-%d", i))
	}
	options := bench.Options{
		Campaigns: []string{c.ID}, Players: players, JoinWithin: 5 * time.Minute,
		Token: func(_ context.Context, player int) (string, error) { return tokens[player], nil },
	}
	for _, n := range nodes {
		options.Targets = append(options.Targets, "ws"+strings.TrimPrefix(n.url, "http")+"/ws")
	}
	crowd, err := bench.Gather(within(t, 5*time.Minute), options)
	must(t, err)
	defer crowd.Leave()
	dense := shortRain(500)
	dense.DurationMS, dense.FallMS, dense.DropsPerSecond = 600_000, 10_000, 50
	startRain(t, nodes[0].client, c.ID, dense)
	crowd.AwaitRain(within(t, time.Minute))

	began, claims, told := time.Now(), map[int]string{}, map[string]int64{}
	for len(claims) < players && time.Since(began) < 3*time.Minute {
		report := crowd.Play(t.Context(), bench.Plan{Duration: time.Second, Think: 200 * time.Millisecond})
		if report.Joined < players { // those who were ended for good can win nothing
			t.Fatalf("%d of %d are in; refused: %v; closed: %v", report.Joined, players, report.NotJoined,
				report.Closes)
		}
		for outcome, n := range report.Outcomes {
			told[outcome] += n
		}
		for _, w := range report.Told {
			if claim, is := claims[w.Player]; is && claim != w.Claim {
				t.Errorf("player %d has %s and %s", w.Player, claim, w.Claim)
			}
			claims[w.Player] = w.Claim
		}
	}
	t.Logf("%d of %d have won after %v: %v", len(claims), players, time.Since(began).Round(time.Millisecond), told)
	if len(claims) != players || told["sold_out"] > 0 {
		t.Errorf("%d of %d players have won; %v", len(claims), players, told)
	}
	testenv.Eventually(t, time.Minute, "all is paid", func() bool {
		stats, err := nodes[0].client.Stats(within(t, 10*time.Second), c.ID)
		return err == nil && int(stats.Paid) == players && stats.Stock == 0
	})
	rec, err := nodes[0].client.Reconciliation(within(t, time.Minute), c.ID)
	if err != nil || !rec.Balanced || rec.Paid != rec.Funded {
		t.Errorf("the books: %+v, %v", rec, err)
	}
}
