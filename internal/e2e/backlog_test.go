package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/operator"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
)

// backlogVar sets how many entries wait in TestABacklogHoldsUpNothing, which then also measures how long Redis is held
// and how long taps take: REDRAIN_TEST_BACKLOG=600000, on a machine that does nothing else.
const backlogVar = "REDRAIN_TEST_BACKLOG"

const (
	backlogEntries = 8_000
	// longestReply is what Redis may have to say to one connection at a time, in bytes: less than the backlog.
	longestReply = "256kb"
	// slowestScript and slowestTap are the limits where it is measured.
	slowestScript = 10 * time.Millisecond
	slowestTap    = 50 * time.Millisecond
)

// TestABacklogHoldsUpNothing: NATS is away, and what is won waits in one shard's outbox. Whoever reads there does so in
// small steps: Redis cuts off who asks for much at once. Taps are answered meanwhile, the books are exact, and when
// NATS is back everything is paid.
func TestABacklogHoldsUpNothing(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.Parallel(t, testenv.Medium)
	entries, measured := backlogEntries, false
	if text := os.Getenv(backlogVar); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		entries, measured = n, true
	}
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
	for option, value := range map[string]string{
		"appendfsync": "everysec", "slowlog-log-slower-than": "30", "slowlog-max-len": "500000",
		"client-output-buffer-limit": "normal " + longestReply + " 0 0",
	} {
		if err := rdb.ConfigSet(t.Context(), option, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	nats.Kill()
	began := time.Now()
	backlog(t, g, s, rdb, entries)
	t.Logf("%d entries wait after %v", entries, time.Since(began).Round(time.Second))
	if err := rdb.Do(t.Context(), "SLOWLOG", "RESET").Err(); err != nil {
		t.Fatal(err)
	}

	taps := prove(t, g, entries)
	t.Logf("the books are proved after %v", time.Since(began).Round(time.Second))
	if rest, err := rdb.XLen(t.Context(), "rr:{"+g.campaign+".0}:outbox").Result(); err != nil || int(rest) < entries {
		t.Errorf("%d entries wait, %v", rest, err)
	}
	call, p99 := slowest(t, rdb), taps[len(taps)*99/100]
	t.Logf("%d taps meanwhile, p50 %v, p99 %v", len(taps), taps[len(taps)/2], p99)
	if measured && (p99 > slowestTap || call > slowestScript) {
		t.Errorf("longer than %v for a tap, or %v for a call", slowestTap, slowestScript)
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

// prove has the books proved in every way, while players tap, and returns how long their taps took, the shortest first.
func prove(t *testing.T, g *game, entries int) []time.Duration {
	t.Helper()
	const players = 4
	ctx, stop := context.WithCancel(t.Context())
	var tapping sync.WaitGroup
	took := make([][]time.Duration, players)
	for i, p := range g.players[:players] {
		tapping.Go(func() {
			for ctx.Err() == nil {
				drop := p.freshDrop(t)
				began := time.Now()
				p.answered(t, p.tap(drop))
				took[i] = append(took[i], time.Since(began))
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
		if all, err := g.op.ReconcileAll(within(t, 5*time.Minute)); err != nil {
			t.Errorf("all books: %+v, %v", all, err)
		}
		if stats, err := g.op.Stats(within(t, time.Minute), g.campaign); err != nil || stats.Paid > 0 {
			t.Errorf("the figures: %+v, %v", stats, err)
		}
		if _, err := g.op.Claims(within(t, time.Minute), g.campaign, operator.Page{}); err != nil {
			t.Errorf("the claims: %v", err)
		}
	}
	stop()
	tapping.Wait()
	return slices.Sorted(slices.Values(slices.Concat(took...)))
}

// backlog lets so many players win one packet each, in an entry of its own, as the scripts and the seals have it.
func backlog(t *testing.T, g *game, s setting, rdb *rds.Client, entries int) {
	t.Helper()
	db, err := sqldb.OpenMySQL(s.mysql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	clock := func() int64 { return time.Now().UnixMilli() }
	books := ledger.New(db, clock, rain.NewAmountsCache())
	if err := books.Seals.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := books.Campaigns.Campaign(t.Context(), g.campaign)
	if err != nil {
		t.Fatal(err)
	}
	amounts, err := rain.NewAmounts(c)
	if err != nil {
		t.Fatal(err)
	}
	hot := store.New(rdb, store.Options{Namespace: s.namespace, Clock: clock, Ring: books.Seals.Ring()})
	if err := hot.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
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
		if err := winning.Wait(); err != nil {
			t.Fatal(err)
		}
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

// slowest is how long one call in a thousand takes at least, of the kind of call that takes longest. Redis's clock goes
// on while it waits for a processor, so its very longest calls say more of the machine.
func slowest(t *testing.T, rdb *rds.Client) (slowest time.Duration) {
	t.Helper()
	err := rdb.ConfigSet(t.Context(), "client-output-buffer-limit", "normal 0 0 0").Err() // this is long
	if err != nil {
		t.Fatal(err)
	}
	calls, err := rdb.SlowLogGet(t.Context(), -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	took := map[string][]time.Duration{}
	for _, call := range calls {
		what := strings.ToLower(call.Args[0])
		took[what] = append(took[what], call.Duration)
	}
	for what, all := range took {
		slices.Sort(all)
		rare := all[len(all)*999/1000]
		t.Logf("%d calls of %s: median %v, one in a thousand %v, longest %v", len(all), what, all[len(all)/2], rare,
			all[len(all)-1])
		if len(all) > 1000 {
			slowest = max(slowest, rare)
		}
	}
	return slowest
}
