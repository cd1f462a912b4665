package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// BenchmarkRelayToCommit lets three ways from Redis to the ledger take turns: from the first win read to the last
// one gone from Redis.
//
//   - redrain: the whole path with its default settings: entries of 50 wins in Redis and in the memory of the node that
//     has decided them, JetStream with files, settlement workers, ledger, the entry deleted, the message acknowledged;
//   - naive: eight workers, each of which pops one win at a time from a list and posts it in a transaction. (What it
//     has popped is lost if it dies.)
//   - bare: two INSERTs for the payouts and the entries of 500 wins, with nothing read and nothing checked.
//
// Each has a database of its own. Known players have won before; of new ones every win makes an account. Where others
// use the machine too, only the processor time can be compared.
func BenchmarkRelayToCommit(b *testing.B) {
	eachCrowd(b, func(b *testing.B, user func(int) string, known bool) {
		b.Helper()
		redrain, naive, bare := newPath(b, user), newNaiveLoop(b, user), newBare(b, user)
		contest(b, known, redrain, naive, bare)
		reportRates(b, redrain, naive, bare)
		redrain.reportShares(b)
	})
}

// BenchmarkPath is redrain's way alone, for profiles and for what it allocates: an op is 20,000 wins of known players.
func BenchmarkPath(b *testing.B) {
	const wins = 20_000
	c := newPath(b, func(n int) string { return fmt.Sprintf("player-%d", n*7919%wins) })
	c.turn(b, wins)
	c.forget()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c.fill(b, wins)
		b.StartTimer()
		c.measured(b, wins)
	}
	c.reportShares(b)
	b.ReportMetric(c.rate(), "wins/s")
}

// benchRedis is the tests' Redis.
func benchRedis(b *testing.B) (rdb *redis.Client, proc string) {
	b.Helper()
	rdb = redis.NewClient(&redis.Options{Addr: testenv.Redis(b)})
	b.Cleanup(func() { _ = rdb.Close() })
	info, err := rdb.InfoMap(b.Context(), "server").Result()
	paytest.Must(b, err)
	return rdb, "/proc/" + info["Server"]["process_id"]
}

// countdown is an outbox that tells when all that was put into it is removed. What comes twice is counted once.
type countdown struct {
	Outbox
	mu      sync.Mutex
	removed map[rain.EntryRef]bool
	most    int // entries; more come with the next turn
	empty   chan struct{}
}

func (c *countdown) begin(entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed, c.most = make(map[rain.EntryRef]bool, entries), entries
}

func (c *countdown) Remove(ctx context.Context, refs []rain.EntryRef) error {
	if err := c.Outbox.Remove(ctx, refs); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.removed)
	for _, ref := range refs {
		c.removed[ref] = true
	}
	if before < c.most && len(c.removed) == c.most {
		c.empty <- struct{}{}
	}
	return nil
}

type nobody struct{}

func (nobody) Settled(context.Context, []posting.Settlement) {}

type onlyCampaign struct{ c *rain.Campaign }

func (o onlyCampaign) Live() []*rain.Campaign { return []*rain.Campaign{o.c} }

func newPath(b *testing.B, user func(int) string) *contender {
	b.Helper()
	books := paytest.OnMySQL(b)
	campaign := books.OpenCampaign(b, "c1", rain.Spec{Budget: rain.MaxBudget / 2, Packets: rain.MaxPackets,
		Split: rain.DoubleMean})
	rdb, redisProc := benchRedis(b)
	namespace := testenv.Namespace(b)
	redis1 := store.New(rdb, store.Options{Namespace: namespace})
	outbox := &countdown{Outbox: confirm.NewOutbox(confirm.New(redis1, confirm.Redis, nil, nil)),
		empty: make(chan struct{}, 1)}
	server := testenv.StartNATS(b)
	nc, err := nats.Connect(server.URL)
	paytest.Must(b, err)
	b.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	paytest.Must(b, err)
	c := &contender{name: "redrain", round: benchKnown}
	c.takesPart("redrain", self)
	c.takesPart("mariadbd", serverOf(b, books.DB))
	c.takesPart("redis", redisProc)
	c.takesPart("nats", "/proc/"+strconv.Itoa(server.PID()))
	next := 0
	var decided []rain.Entry
	c.fill = func(b *testing.B, n int) {
		b.Helper()
		from := len(decided)
		key := namespace + ":{c1.0}:outbox" // as in grab/store/keys.go; the fields are those of lua/grab.lua
		_, err := rdb.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			for end := next + n; next < end; next += benchEntry {
				lines := make([]string, benchEntry)
				e := paytest.Entry("c1", 1, benchWins(next, user)...)
				for i, w := range e.Wins {
					lines[i] = w.Seal + " " + w.Drop + " " + w.User
				}
				decided = append(decided, e)
				p.XAdd(b.Context(), &redis.XAddArgs{Stream: key,
					Values: []string{"at", strconv.FormatInt(e.SealedAt, 10),
						"packets", e.Packets().String(), "wins", strings.Join(lines, "\n")}})
			}
			return nil
		})
		paytest.Must(b, err)
		ids, err := rdb.XRange(b.Context(), key, "-", "+").Result()
		if err != nil || len(ids) != len(decided)-from {
			b.Fatalf("%d entries wait, %v", len(ids), err)
		}
		for i := range ids {
			decided[from+i].Ref.ID = ids[i].ID
		}
	}
	c.settle = func(b *testing.B, n int) {
		b.Helper()
		outbox.begin(n / benchEntry)
		publisher, err := NewPublisher(js, namespace, books.Seals.Ring(), paytest.Quiet)
		paytest.Must(b, err)
		relay := NewRelay(publisher, outbox, onlyCampaign{campaign}, RelayOptions{Log: paytest.Quiet})
		deciders := NewDeciders(publisher, DecidersOptions{Log: paytest.Quiet})
		settler := NewSettler(js, books.Seals.Ring(), books.Poster, books.DeadLetters, outbox, nobody{},
			SettlerOptions{Namespace: namespace, Log: paytest.Quiet})
		ctx, cancel := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		for _, run := range []func(context.Context) error{relay.Run, deciders.Run, settler.Run} {
			wg.Go(func() {
				if err := run(ctx); err != nil {
					b.Error(err)
				}
			})
		}
		for i := range decided {
			deciders.Publish(&decided[i])
		}
		decided = decided[:0]
		<-outbox.empty
		cancel()
		wg.Wait()
		if paid, _, err := books.Paid(b.Context(), "c1"); err != nil || paid != int64(next) {
			b.Errorf("%d of %d wins are in the ledger, %v", paid, next, err)
		}
	}
	return c
}

// naiveWin is a win as a textbook sends it.
type naiveWin struct {
	User   string     `json:"user"`
	Packet int        `json:"packet"`
	Amount rain.Money `json:"amount"`
}

func newNaiveLoop(b *testing.B, user func(int) string) *contender {
	b.Helper()
	rdb, redisProc := benchRedis(b)
	list := testenv.Namespace(b) + ":payouts"
	c := &contender{name: "naive", round: benchKnown / 10}
	post := naivePost(b, c, user)
	c.takesPart("redis", redisProc)
	next := 0
	c.fill = func(b *testing.B, n int) {
		b.Helper()
		_, err := rdb.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			for end := next + n; next < end; next++ {
				text, err := json.Marshal(naiveWin{user(next), next, 88})
				if err != nil {
					return err
				}
				p.LPush(b.Context(), list, text)
			}
			return nil
		})
		paytest.Must(b, err)
	}
	c.settle = func(b *testing.B, _ int) {
		b.Helper()
		var wg sync.WaitGroup
		for range benchWorkers {
			wg.Go(func() {
				for {
					text, err := rdb.RPop(b.Context(), list).Bytes()
					if errors.Is(err, redis.Nil) {
						return
					}
					var w naiveWin
					if err = errors.Join(err, json.Unmarshal(text, &w)); err == nil {
						err = post(w.Packet)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	return c
}
