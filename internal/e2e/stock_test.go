package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/bench"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestAHotCampaignIsWonWhole: six players on some of sixteen shards get every packet, from whichever shard. No player
// hears before that all are gone.
func TestAHotCampaignIsWonWhole(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			const packets, shards, crowd = 800, 16, 6
			spec := fund(t, nodes[0], "hot", 80_000, packets)
			spec.WinsPerUser, spec.Shards, spec.Split = packets, shards, rain.DoubleMean
			c := createCampaign(t, nodes[0].client, spec)
			dense := shortRain(500)
			dense.DurationMS, dense.FallMS, dense.DropsPerSecond = 600_000, 10_000, rain.MaxDropsPerSecond
			startRain(t, nodes[0].client, c.ID, dense)
			g := &game{t: t, campaign: c.ID, nodes: nodes, op: nodes[0].client, stop: func() {}}
			var tapping sync.WaitGroup
			for i := range crowd {
				p := join(t, nodes[i%len(nodes)], fmt.Sprintf("player-%d", i), c.ID)
				g.players = append(g.players, p)
				tapping.Go(func() { p.untilAnswer(t, "sold_out") })
			}
			tapping.Wait()
			g.awaitAllNotified(packets)
			g.end()
		})
	}
}

// TestEverybodyWinsOnce: there are as many packets as players on many shards. Most shards have more players than
// packets, or fewer. Each player wins one, and none hears that all are gone.
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
	crowd := testenv.Got(bench.Gather(within(t, 5*time.Minute), options)).Must(t)
	defer crowd.Leave()
	dense := shortRain(500)
	dense.DurationMS, dense.FallMS, dense.DropsPerSecond = 600_000, 10_000, 50
	startRain(t, nodes[0].client, c.ID, dense)
	crowd.AwaitRain(within(t, time.Minute))

	began, claims, reported := time.Now(), map[int]string{}, map[string]int64{}
	for len(claims) < players && time.Since(began) < 3*time.Minute {
		report := crowd.Play(t.Context(), bench.Plan{Duration: time.Second, Think: 200 * time.Millisecond})
		if report.Joined < players { // those who were ended for good can win nothing
			t.Fatalf("%d of %d are in; refused: %v; closed: %v", report.Joined, players, report.NotJoined,
				report.Closes)
		}
		for outcome, n := range report.Outcomes {
			reported[outcome] += n
		}
		for _, w := range report.Told {
			if claim, is := claims[w.Player]; is && claim != w.Claim {
				t.Errorf("player %d has %s and %s", w.Player, claim, w.Claim)
			}
			claims[w.Player] = w.Claim
		}
	}
	t.Logf("%d of %d have won after %v: %v", len(claims), players, time.Since(began).Round(time.Millisecond), reported)
	if len(claims) != players || reported["sold_out"] > 0 {
		t.Errorf("%d of %d players have won; %v", len(claims), players, reported)
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

// TestGuestsAndPlayersInLanes: a quarter of twelve packets is the guests'. Three of five guests win, and the others
// hear that it is sold out, while nine of eleven players win on. All is paid, and the rest goes nowhere else.
func TestGuestsAndPlayersInLanes(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			spec := fund(t, nodes[0], "lanes", 1_200, 12)
			spec.Shards, spec.GuestsShare, spec.Split = 4, 250_000, rain.Even
			c := createCampaign(t, nodes[0].client, spec)
			if c.GuestsShare != spec.GuestsShare || c.Shards != 4 {
				t.Fatalf("made: %+v", c)
			}
			long := shortRain(500)
			long.DurationMS, long.FallMS = 300_000, 5_000
			startRain(t, nodes[0].client, c.ID, long)
			layout := spec.Layout()
			// play lets a player tap until the tap has won or everything is won.
			play := func(n int, user string) string {
				p := join(t, nodes[n%len(nodes)], user, c.ID)
				defer p.hangUp()
				outcome := ""
				testenv.Eventually(t, time.Minute, user+" wins, or cannot", func() bool {
					r := p.answered(t, p.tap(p.freshDrop(t)))
					outcome = r.Outcome
					if packet, err := strconv.Atoi(r.Packet); outcome == "won" && (err != nil ||
						!layout.MayHave(user, packet)) {
						t.Errorf("%s has won packet %s", user, r.Packet)
					}
					return outcome == "won" || outcome == "sold_out"
				})
				return outcome
			}
			crowd := func(of, win int, name func(int) string) {
				for n := range of {
					want := "won"
					if n >= win {
						want = "sold_out"
					}
					testenv.Equal(t, play(n, name(n)), want, "%s, number %d", name(n), n)
				}
			}
			crowd(5, 3, func(n int) string { return fmt.Sprintf("%s%020x", rain.GuestPrefix, n) })
			stats, err := nodes[0].client.Stats(within(t, 10*time.Second), c.ID)
			if err != nil || stats.Stock != 9 || stats.StockGuests == nil || *stats.StockGuests != 0 {
				t.Errorf("the guests' part is won: %+v, %v", stats, err)
			}
			crowd(11, 9, func(n int) string { return fmt.Sprintf("player-%d", n) })
			testenv.Eventually(t, time.Minute, "all is paid", func() bool {
				stats, err := nodes[0].client.Stats(within(t, 10*time.Second), c.ID)
				return err == nil && stats.Paid == 12 && stats.Stock == 0
			})
			rec, err := nodes[0].client.Reconciliation(within(t, time.Minute), c.ID)
			if err != nil || !rec.Balanced || rec.Paid != rec.Funded || len(rec.Findings) > 0 {
				t.Errorf("the books: %+v, %v", rec, err)
			}
		})
	}
}
