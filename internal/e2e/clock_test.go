package e2e

import (
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestAWrongClockOfRedisStopsNothing: in a rain Redis's clock goes three hours ahead, back, and an hour behind. Players
// go on winning, none is signed out, new ones come, a campaign is made, and an alarm names the fault. When the clock
// is right again, Redis loses all, and is rebuilt. The books agree.
func TestAWrongClockOfRedisStopsNothing(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	redis, set := testenv.StartRedisAhead(t)
	s := realSetting(t)
	s.redis = redis.Addr
	nodes := startNodes(t, streamConfig(s), 2)
	g := play(t, nodes, 2)
	g.goesOn(30)
	for i, step := range []struct {
		ahead time.Duration
		alarm string // part of it; "" for none
	}{{3 * time.Hour, "is wrong by +3h0m0s"}, {0, ""}, {-time.Hour, "is wrong by -1h0m0s"}, {0, ""}} {
		set(step.ahead)
		if step.alarm != "" {
			awaitAlarm(t, nodes[0], "clock_step", step.alarm)
		}
		g.goesOn(50)
		for _, p := range g.players {
			p.mu.Lock()
			if p.closed != nil {
				t.Errorf("with a clock %v ahead %s was signed out: %v", step.ahead, p.user, p.closed)
			}
			p.mu.Unlock()
		}
		other := newGame(t, nodes, gameRules{name: "other-" + string(rune('a'+i)), shards: 1})
		other.join(nodes)
		other.goesOn(10)
		other.end()
	}
	flush(t, redis)
	g.rebuilt()
	g.goesOn(50)
	g.end()
}
