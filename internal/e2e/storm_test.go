package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// TestStorm plays a whole rain: 300 players tap every drop, 200 packets, at most two wins for each. A player repeats an
// unavailable tap, which a busy machine causes. Every tap gets exactly one result, every packet is won once, every
// claim is settled once, and the money adds up.
func TestStorm(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	if testing.Short() {
		t.Skip("a rain of ten seconds, with 300 players")
	}
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Heavy)
			cfg := b.make(t).config()
			nodes := startNodes(t, cfg, b.nodes)
			const players, packets, budget = 300, 200, 123_457
			spec := fund(t, nodes[0], "storm", budget, packets)
			spec.WinsPerUser = 2
			if b.nodes > 1 {
				spec.Shards = 3
			}
			storm(t, nodes, spec, players)
		})
	}
}

// joinGreedy has players join, on one node after the other, who tap every drop in the air.
func joinGreedy(t *testing.T, nodes []*node, campaign string, count int) []*player {
	t.Helper()
	players := make([]*player, count)
	var joining sync.WaitGroup
	for i := range players {
		joining.Go(func() {
			p := join(t, nodes[i%len(nodes)], fmt.Sprintf("user-%03d", i), campaign)
			p.mu.Lock()
			p.greedy = true
			p.mu.Unlock()
			players[i] = p
		})
	}
	joining.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return players
}

func storm(t *testing.T, nodes []*node, spec rain.Spec, count int) {
	t.Helper()
	op := nodes[0].client
	c := createCampaign(t, op, spec)
	players := joinGreedy(t, nodes, c.ID, count)
	burst := shortRain(1_000)
	burst.DropsPerSecond = 8
	startRain(t, op, c.ID, burst)
	for _, p := range players {
		p.await(t, time.Minute, "end of the rain", func() bool { return ended(p.rains) })
	}
	for _, p := range players {
		p.taps.Wait()
	}
	checkResults(t, players)
	checkSameDrops(t, players)
	checkFigures(t, op, c.ID, players)
	checkMoney(t, op, c.ID, spec, players)
	checkTop(t, nodes, c.ID, players)
}

// checkTop: every room shows who has won most in all, and so does one that a player opens later.
func checkTop(t *testing.T, nodes []*node, campaign string, players []*player) {
	t.Helper()
	var want []rain.Money
	for _, p := range players {
		total := rain.Money(0)
		for _, w := range p.wins() {
			total += w.Amount
		}
		if total > 0 {
			want = append(want, total)
		}
	}
	slices.Sort(want)
	slices.Reverse(want)
	want = want[:min(len(want), 10)]
	for i, n := range nodes {
		late := join(t, n, fmt.Sprintf("late-%d", i), campaign)
		for _, p := range []*player{players[i], late} {
			p.await(t, 10*time.Second, "those who have won most", func() bool {
				if len(p.rooms) == 0 {
					return false
				}
				var got []rain.Money
				for _, w := range p.rooms[len(p.rooms)-1].Top {
					testenv.Equal(t, w.User, "u*", "the room is shown the name")
					got = append(got, w.Amount)
				}
				return slices.Equal(got, want)
			})
		}
		late.hangUp()
	}
}

func ended(rains []wire.Rain) bool {
	return len(rains) > 0 && rains[len(rains)-1].Phase == rain.PhaseEnded
}

// checkResults: each tap got exactly one result, and none was refused for a reason that is ours.
func checkResults(t *testing.T, players []*player) {
	t.Helper()
	outcomes := map[string]int{}
	for _, p := range players {
		p.await(t, 30*time.Second, "result for each tap", func() bool { return len(p.results) == len(p.tapped) })
		p.mu.Lock()
		for id, drop := range p.tapped {
			if got := p.results[id]; len(got) != 1 || got[0].Drop != drop {
				t.Errorf("%s: tap %s on %s got %v", p.user, id, drop, got)
			}
			outcomes[p.results[id][0].Outcome]++
		}
		if len(p.errors) > 0 {
			t.Errorf("%s: errors %v", p.user, p.errors)
		}
		p.mu.Unlock()
	}
	t.Logf("outcomes: %v", outcomes)
	for _, ours := range []string{"unknown_drop", "too_fast"} {
		if outcomes[ours] > 0 {
			t.Errorf("%d taps were %s", outcomes[ours], ours)
		}
	}
}

// checkSameDrops: everybody has seen the same rain, whichever node they were on. A node that had no processor for a
// while sends no waves of it; those that it sends are the others'.
func checkSameDrops(t *testing.T, players []*player) {
	t.Helper()
	seen := map[int64]string{}
	for _, p := range players {
		p.mu.Lock()
		if len(p.waves) == 0 {
			t.Errorf("%s has seen no wave", p.user)
		}
		for n, w := range p.waves {
			wave := fmt.Sprint(w)
			if seen[n] == "" {
				seen[n] = wave
			}
			testenv.Equal(t, seen[n], wave, "%s has seen other drops in wave %d than those before", p.user, n)
		}
		p.mu.Unlock()
	}
}

// checkMoney: exactly the budget was won, each win was reported once as settled, and the books agree.
func checkMoney(t *testing.T, op *client.Client, campaign string, spec rain.Spec, players []*player) {
	t.Helper()
	packets := map[string]string{}
	var won rain.Money
	for _, p := range players {
		wins := p.wins()
		if len(wins) > spec.WinsPerUser {
			t.Errorf("%s has won %d packets", p.user, len(wins))
		}
		var mine rain.Money
		for _, w := range wins {
			if other, taken := packets[w.Packet]; taken {
				t.Errorf("packet %s was won by %s and by %s", w.Packet, other, p.user)
			}
			packets[w.Packet] = p.user
			mine += w.Amount
		}
		won += mine
		p.await(t, 30*time.Second, "settlement of each win", func() bool { return len(p.settled) == len(wins) })
		p.mu.Lock()
		for claim, reported := range p.settled {
			if len(reported) != 1 || reported[0].Amount != wins[claim].Amount {
				t.Errorf("%s: claim %s was settled %v, won %v", p.user, claim, reported, wins[claim])
			}
		}
		if len(wins) > 0 && p.balance != mine {
			t.Errorf("%s: balance %d, won %d", p.user, p.balance, mine)
		}
		p.mu.Unlock()
	}
	if len(packets) != spec.Packets || won != spec.Budget {
		t.Errorf("%d packets of %d won, %d of %d", len(packets), spec.Packets, won, spec.Budget)
	}
	rec := testenv.Got(op.Reconciliation(within(t, 10*time.Second), campaign)).Must(t)
	if !rec.Balanced || rec.Difference != 0 || rec.Paid != spec.Budget || rec.Stock != 0 || rec.Unsettled != 0 {
		t.Errorf("the books: %+v", rec)
	}
	testenv.Eventually(t, 10*time.Second, "statistics of all nodes", func() bool {
		s, err := op.Stats(within(t, 5*time.Second), campaign)
		return err == nil && s.Won == int64(spec.Packets) && s.Paid == int64(spec.Packets) && s.Stock == 0 &&
			s.AmountPaid == spec.Budget && s.Online == int64(len(players))
	})
}

// checkFigures: the nodes' counts of outcomes equal the players', and the durations are known as long as they are news.
// An unavailable tap was not decided.
func checkFigures(t *testing.T, op *client.Client, campaign string, players []*player) {
	t.Helper()
	reported, taps := map[string]int64{}, int64(0)
	for _, p := range players {
		p.mu.Lock()
		for _, results := range p.results {
			if results[0].Outcome == "unavailable" {
				continue // not decided, and not counted
			}
			reported[results[0].Outcome]++
			taps++
		}
		p.mu.Unlock()
	}
	var s client.Stats
	testenv.Eventually(t, 10*time.Second, "the outcomes of all nodes", func() bool {
		var err error
		s, err = op.Stats(within(t, 5*time.Second), campaign)
		sum := int64(0)
		for outcome, n := range s.Outcomes {
			if n != reported[outcome] {
				return false
			}
			sum += n
		}
		return err == nil && sum == taps && s.Taps == taps && len(s.Outcomes) == 9
	})
	if s.TapP50MS == nil || s.TapP99MS == nil || *s.TapP50MS <= 0 || *s.TapP99MS < *s.TapP50MS || *s.TapP99MS > 60_000 {
		t.Errorf("half of the taps took %v ms, 99 of 100 took %v", s.TapP50MS, s.TapP99MS)
	}
	testenv.Eventually(t, 20*time.Second, "nothing on its way, and no news of taps", func() bool {
		s, err := op.Stats(within(t, 5*time.Second), campaign)
		return err == nil && s.Outbox == 0 && s.Dead == 0 && s.TapP50MS == nil && s.TapP99MS == nil
	})
}
