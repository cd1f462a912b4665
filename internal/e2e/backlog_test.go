package e2e

import (
	"context"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/client"
	"redrain/internal/testenv"
)

// longestReply is the most that Redis may hold for one connection, in bytes: less than the backlog.
const longestReply = 256 << 10

// TestABacklogHoldsUpNothing: NATS is away, and wins wait in one shard's outbox. Its readers take small steps, because
// Redis closes a connection with a large reply. Meanwhile taps are answered and the books are exact. When NATS is back,
// everything is paid.
func TestABacklogHoldsUpNothing(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.Parallel(t, testenv.Medium)
	redis, nats := testenv.StartRedis(t), testenv.StartNATS(t)
	s := setting{redis: redis.Addr, nats: nats.URL, mysql: testenv.MySQL(t), namespace: testenv.Namespace(t)}
	cfg := s.config()
	cfg.Confirm = "redis" // what else would wait for NATS
	g := newGame(t, []*node{startNode(t, cfg)}, gameRules{name: "backlog", shards: 1, packets: 500_000, drops: 100})
	rdb := rds.NewClient(&rds.Options{Addr: redis.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	testenv.Must(t, rdb.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	testenv.Must(t, rdb.ConfigSet(t.Context(), "client-output-buffer-limit", "normal 256kb 0 0").Err())
	nats.Kill()
	players := joinGreedy(t, g.nodes, g.campaign, 20)
	testenv.Eventually(t, 2*time.Minute, "a backlog", func() bool {
		size, err := rdb.MemoryUsage(t.Context(), s.key(g.campaign, 0, "outbox")).Result()
		return err == nil && size > 4*longestReply
	})
	for range 2 {
		rec, err := g.op.Reconciliation(within(t, 5*time.Minute), g.campaign)
		if err != nil || !rec.Balanced || rec.Dead > 0 || len(rec.Findings) > 0 || rec.Paid > 0 ||
			rec.Unsettled+rec.Stock != rec.Funded || rec.Unsettled <= 0 {
			t.Errorf("the books with a backlog: %+v, %v", rec, err)
		}
		if all, err := g.op.ReconcileFull(within(t, 5*time.Minute), nil); err != nil {
			t.Errorf("all books: %+v, %v", all, err)
		}
		if stats, err := g.op.Stats(within(t, time.Minute), g.campaign); err != nil || stats.Paid > 0 {
			t.Errorf("the figures: %+v, %v", stats, err)
		}
		testenv.WantErr(t, testenv.Err(client.Get[client.List[client.Claim]](within(t, time.Minute), g.op,
			"campaigns", g.campaign, "claims")), nil,
			"the claims")
	}
	for _, p := range players {
		p.answered(t, p.tap(p.freshDrop(t)))
		p.hangUp()
	}
	nats.Start()
	testenv.Eventually(t, 10*time.Minute, "everything is paid", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		stats, err := g.op.Stats(ctx, g.campaign)
		if err == nil && stats.Dead > 0 {
			t.Fatalf("%d wins are dead letters", stats.Dead)
		}
		return err == nil && stats.Paid == stats.Won && stats.Outbox == 0
	})
	rec, err := g.op.Reconciliation(within(t, 5*time.Minute), g.campaign)
	if err != nil || !rec.Balanced || rec.Dead > 0 || rec.Unsettled > 0 || rec.Paid+rec.Stock != rec.Funded ||
		len(rec.Findings) > 0 {
		t.Errorf("the books: %+v, %v", rec, err)
	}
}
