package e2e

import (
	"slices"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/openapi"
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
	for i, ahead := range []time.Duration{3 * time.Hour, 0, -time.Hour, 0} {
		set(ahead)
		if ahead != 0 {
			before := alarmsOf(t, nodes[0], "clock_step")
			testenv.Eventually(t, 30*time.Second, "an alarm", func() bool {
				return alarmsOf(t, nodes[0], "clock_step") > before
			})
		}
		g.goesOn(50)
		for _, p := range g.players {
			p.mu.Lock()
			if p.closed != nil {
				t.Errorf("with a clock %v ahead %s was signed out: %v", ahead, p.user, p.closed)
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

// alarmsOf is how often an alarm was raised.
func alarmsOf(t *testing.T, n *node, code string) int {
	t.Helper()
	all := testenv.Got(client.Get[client.List[openapi.OpenAlarm]](within(t, 10*time.Second), n.client, "alarms")).Must(t)
	at := slices.IndexFunc(all.Items, func(a openapi.OpenAlarm) bool { return a.Code == code })
	if at < 0 {
		return 0
	}
	return int(all.Items[at].Times)
}
