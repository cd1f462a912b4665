package payout

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/rain"
)

// logbook keeps what is logged, and counts the transactions that were tried again.
type logbook struct {
	mu        sync.Mutex
	loud      []string // info and above
	deadlocks int
	retries   int // for other reasons: somebody was faster
}

func (*logbook) Enabled(context.Context, slog.Level) bool { return true }
func (k *logbook) WithAttrs([]slog.Attr) slog.Handler     { return k }
func (k *logbook) WithGroup(string) slog.Handler          { return k }

func (k *logbook) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case r.Level >= slog.LevelInfo:
		k.loud = append(k.loud, text)
	case !strings.HasPrefix(r.Message, "transaction is tried again"):
	case strings.Contains(text, "Deadlock") || strings.Contains(text, "Lock wait"):
		k.deadlocks++
	default:
		k.retries++
	}
	return nil
}

// checkQuiet fails if anything louder than debug was said.
func (k *logbook) checkQuiet(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	t.Logf("%d deadlocks, %d other retries", k.deadlocks, k.retries)
	if len(k.loud) > 0 {
		t.Errorf("%d records above debug: %s", len(k.loud), strings.Join(k.loud, "\n"))
	}
}

// checkOrder fails if locks were waited for crosswise.
func (k *logbook) checkOrder(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deadlocks > 0 {
		t.Errorf("%d deadlocks: some lock is not taken in the order that book says", k.deadlocks)
	}
}

// crowd is what a rain leaves for its settlement: entries in which some players win again and again, and others for the
// first time ever.
func crowd(campaign string, entries, wins int) (all []rain.Entry, paid map[string]rain.Money) {
	r := rand.New(rand.NewPCG(7, 7))
	paid = map[string]rain.Money{}
	for e := range entries {
		var list []rain.Win
		for w := range wins {
			user := fmt.Sprintf("regular-%d", r.IntN(60))
			if r.IntN(3) == 0 {
				user = fmt.Sprintf("new-%d", r.IntN(entries*wins))
			}
			w := win(user, e*wins+w, rain.Money(1+r.IntN(20)))
			paid[user] += w.Amount
			list = append(list, w)
		}
		all = append(all, entry(campaign, e+1, list...))
	}
	return all, paid
}

func (b *books) wantPaid(t *testing.T, campaign string, budget rain.Money, packets int64, paid map[string]rain.Money) {
	t.Helper()
	var sum rain.Money
	for user, want := range paid {
		b.wantBalance(t, userAccount(user), want)
		sum += want
	}
	b.wantBalance(t, escrowAccount(campaign), budget-sum)
	if n, amount, err := b.Paid(t.Context(), campaign); n != packets || amount != sum || err != nil {
		t.Errorf("%d packets and %d are paid, want %d and %d (%v)", n, amount, packets, sum, err)
	}
	b.audit(t)
}

// TestEightWorkersOnOneCampaign: each of them posts everything, in batches of its own that overlap those of the
// others: four in the order of the outbox, side by side, and four in any order.
func TestEightWorkersOnOneCampaign(t *testing.T) {
	onEach(t, func(b *books) {
		log := b.eightWorkers(func() *Ledger { return b.Ledger })
		log.checkQuiet(b.t)
		log.checkOrder(b.t)
	})
}

// TestEightNodesOnOneCampaign is the same with a worker in each of eight processes. Nodes do not know what others
// have in hand, so they may meet in the database and try again; nobody hears of it.
func TestEightNodesOnOneCampaign(t *testing.T) {
	onEach(t, func(b *books) {
		b.eightWorkers(func() *Ledger { return NewLedger(b.db, b.clock.Now) }).checkQuiet(b.t)
	})
}

func (b *books) eightWorkers(ledger func() *Ledger) *logbook {
	t := b.t
	const entries, wins, budget = 120, 8, 100_000
	b.campaign(t, "c1", rain.Spec{Budget: budget, Packets: entries * wins})
	all, paid := crowd("c1", entries, wins)
	log := &logbook{}
	b.db.Log = slog.New(log)
	var wg sync.WaitGroup
	for w := range 8 {
		l := ledger()
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 2))
			mine := slices.Clone(all)
			if w%2 == 1 {
				r.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			}
			for len(mine) > 0 {
				n := min(len(mine), 5+r.IntN(30))
				posted, err := l.Post(t.Context(), mine[:n])
				if err != nil || len(posted.Settled) != n*wins || len(posted.Dead) > 0 {
					t.Errorf("%d settled of %d, %d dead, %v", len(posted.Settled), n*wins, len(posted.Dead), err)
					return
				}
				mine = mine[max(n-3, 1):] // and the last ones once more
			}
		})
	}
	wg.Wait()
	b.wantPaid(t, "c1", budget, entries*wins, paid)
	return log
}

// TestSettlerWithEightWorkers is the same with the real thing: eight workers pull from JetStream, where each
// entry is three times, and more come while they work.
func TestSettlerWithEightWorkers(t *testing.T) {
	p := onServers(t)
	const entries, wins, budget = 150, 8, 100_000
	p.campaign(t, "c1", rain.Spec{Budget: budget, Packets: entries * wins})
	all, paid := crowd("c1", entries, wins)
	var log logbook
	p.db.Log = slog.New(&log)
	p.publish(t, 2, all...)
	s, err := NewSettler(p.js, p.Ledger, p.redis, p.told, SettlerOptions{
		Namespace: p.namespace, Workers: 8, BatchWins: 64, Log: slog.New(&log),
		OnDead: func(d []DeadLetter) { t.Errorf("dead: %+v", d) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer cancel()
	r := rand.New(rand.NewPCG(5, 5))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	p.publish(t, 1, all...)
	testenv.Eventually(t, 60*time.Second, "every copy is acknowledged", func() bool {
		info := p.consumer(t)
		return info.NumPending == 0 && info.NumAckPending == 0
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	log.checkQuiet(t)
	log.checkOrder(t)
	if n := p.told.distinct(); n != entries*wins {
		t.Errorf("%d claims were told", n)
	}
	p.wantPaid(t, "c1", budget, entries*wins, paid)
}

// TestTheEscrowIsTakenLast: while somebody else holds the escrow's balance, eight workers write all that they have
// to, and wait for it side by side. So a worker keeps the others waiting for a single row's change and no longer.
func TestTheEscrowIsTakenLast(t *testing.T) {
	const workers, wins = 8, 10
	dsn := testenv.MySQL(t) + "?innodb_lock_wait_timeout=60"
	b := newBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	b.campaign(t, "c1", rain.Spec{Budget: 1000, Packets: workers * wins})
	beside, err := sql.Open("mysql", dsn+"&tx_isolation=%27READ-UNCOMMITTED%27")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := beside.Close(); err != nil {
			t.Error(err)
		}
	}()
	holder, err := beside.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "UPDATE balance SET amount = amount WHERE account_id = 'escrow:c1'"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	release := sync.OnceFunc(func() {
		if err := holder.Rollback(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	defer release()
	for w := range workers {
		wg.Go(func() {
			var list []rain.Win
			for i := range wins {
				list = append(list, win(fmt.Sprintf("u%d-%d", w, i), w*wins+i, 1))
			}
			if _, err := b.Post(t.Context(), []rain.Entry{entry("c1", 1+w, list...)}); err != nil {
				t.Error(err)
			}
		})
	}
	testenv.Eventually(t, 30*time.Second, "all have written and wait", func() bool {
		var written int
		// of what is not committed, too
		err := beside.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM payout").Scan(&written)
		return err == nil && written == workers*wins
	})
	if n, _, err := b.Paid(t.Context(), "c1"); n != 0 || err != nil {
		t.Errorf("%d are paid while the escrow is held, %v", n, err)
	}
	release()
	b.wantBalance(t, escrowAccount("c1"), 1000-workers*wins)
	b.audit(t)
}
