package e2e

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/client"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
)

// longestReply is what Redis may have to say to one connection at a time, in bytes: less than the backlog.
const longestReply = "256kb"

// TestABacklogHoldsUpNothing: NATS is away, and what is won waits in one shard's outbox. Whoever reads there does so in
// small steps: Redis cuts off who asks for much at once. Taps are answered meanwhile, the books are exact, and when
// NATS is back everything is paid.
func TestABacklogHoldsUpNothing(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.Parallel(t, testenv.Medium)
	const entries = 8_000
	redis, nats := testenv.StartRedis(t), testenv.StartNATS(t)
	s := setting{redis: redis.Addr, nats: nats.URL, mysql: testenv.MySQL(t), namespace: "rr"}
	cfg := s.config()
	cfg.Confirm = "redis" // what else would wait for NATS
	g := newGame(t, []*node{startNode(t, cfg)},
		gameRules{name: "backlog", shards: 1, packets: entries + 100_000, limit: 100_000})
	g.resting.Store(true)
	g.join(g.nodes)
	rdb := rds.NewClient(&rds.Options{Addr: redis.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	must(t, rdb.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	must(t, rdb.ConfigSet(t.Context(), "client-output-buffer-limit", "normal "+longestReply+" 0 0").Err())
	nats.Kill()
	backlog(t, g, s, rdb, entries)
	prove(t, g, entries)
	if rest, err := rdb.XLen(t.Context(), "rr:{"+g.campaign+".0}:outbox").Result(); err != nil || int(rest) < entries {
		t.Errorf("%d entries wait, %v", rest, err)
	}
	nats.Start()
	testenv.Eventually(t, 10*time.Minute, "everything is paid", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		stats, err := g.op.Stats(ctx, g.campaign)
		if err == nil && stats.Dead > 0 {
			t.Fatalf("%d wins are dead letters", stats.Dead)
		}
		return err == nil && stats.Paid == stats.Won && int(stats.Paid) >= entries
	})
	rec, err := g.op.Reconciliation(within(t, 5*time.Minute), g.campaign)
	if err != nil || !rec.Balanced || rec.Dead > 0 || rec.Unsettled > 0 || rec.Paid+rec.Stock != rec.Funded ||
		len(rec.Findings) > 0 {
		t.Errorf("the books: %+v, %v", rec, err)
	}
}

// prove has the books proved in every way, while players tap and are answered.
func prove(t *testing.T, g *game, entries int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var tapping sync.WaitGroup
	for _, p := range g.players[:4] {
		tapping.Go(func() {
			for ctx.Err() == nil {
				p.answered(t, p.tap(p.freshDrop(t)))
			}
		})
	}
	defer tapping.Wait()
	defer stop()
	for range 2 {
		rec, err := g.op.Reconciliation(within(t, 5*time.Minute), g.campaign)
		if err != nil || !rec.Balanced || rec.Dead > 0 || len(rec.Findings) > 0 || rec.Paid > 0 ||
			rec.Unsettled+rec.Stock != rec.Funded || rec.Unsettled <= 0 {
			t.Errorf("the books with %d entries waiting: %+v, %v", entries, rec, err)
		}
		if all, err := g.op.ReconcileFull(within(t, 5*time.Minute), nil); err != nil {
			t.Errorf("all books: %+v, %v", all, err)
		}
		if stats, err := g.op.Stats(within(t, time.Minute), g.campaign); err != nil || stats.Paid > 0 {
			t.Errorf("the figures: %+v, %v", stats, err)
		}
		if _, err := g.op.Claims(within(t, time.Minute), g.campaign, client.Page{}); err != nil {
			t.Errorf("the claims: %v", err)
		}
	}
}

// backlog lets so many players win one packet each, in an entry of its own, as the scripts and the seals have it.
func backlog(t *testing.T, g *game, s setting, rdb *rds.Client, entries int) {
	t.Helper()
	db, err := sqldb.OpenMySQL(s.mysql)
	must(t, err)
	defer func() { _ = db.Close() }()
	clock := func() int64 { return time.Now().UnixMilli() }
	books := ledger.New(db, clock, rain.NewAmountsCache())
	must(t, books.Seals.Load(t.Context()))
	c, err := books.Campaigns.Campaign(t.Context(), g.campaign)
	must(t, err)
	amounts, err := rain.NewAmounts(c)
	must(t, err)
	hot := store.New(rdb, store.Options{Namespace: s.namespace, Clock: clock, Ring: books.Seals.Ring()})
	must(t, hot.Load(t.Context()))
	const hands, chunk = 8, 10
	for first := 0; first < entries; first += hands * chunk {
		drop := g.players[0].newestDrop(t) // stays in the air for longer than a chunk takes
		var winning errgroup.Group
		for hand := range hands {
			from := first + hand*chunk
			winning.Go(func() error {
				b := store.NewBatch(hot, g.campaign, 0)
				for i := from; i < min(from+chunk, entries); i++ {
					user := fmt.Sprintf("backlog-%d", i)
					b.Add(&user, drop.Ticket())
					a, err := b.Decide(t.Context(), c.Current(), amounts, clock())
					if err != nil || a.Results[0].Outcome != outcome.Won {
						return fmt.Errorf("%s on %s: %+v: %w", user, drop, a, cmp.Or(err, rain.ErrUnknownRain))
					}
				}
				return nil
			})
		}
		must(t, winning.Wait())
	}
}

// newestDrop is the packet that has come into the air last.
func (p *player) newestDrop(t *testing.T) (newest rain.DropID) {
	t.Helper()
	testenv.Eventually(t, time.Minute, "a packet in the air", func() (found bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		now, at := time.Now().UnixMilli()+p.offset-50, int64(0)
		for n, w := range p.waves {
			for _, d := range w.Drops {
				if d[2] == int(rain.Packet) && w.At <= now && w.At > at {
					at = w.At
					newest, found = rain.ParseDrop(fmt.Sprintf("%d.%d", n, d[0]))
				}
			}
		}
		return found
	})
	return newest
}
