package posting_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestEightWorkersOnOneCampaign: each posts everything, in its own overlapping batches. Four use the order of the
// outbox, and four a random order.
func TestEightWorkersOnOneCampaign(t *testing.T) {
	paytest.OnEachInTurn(t, func(t *testing.T, b *paytest.Books) {
		log := eightWorkers(b, func() *posting.Poster { return b.Poster })
		log.CheckQuiet(t)
		log.CheckOrder(t)
	})
}

// TestEightNodesOnOneCampaign is the same with a worker in each of eight processes. Nodes do not know the others'
// batches, so they may meet in the database and try again. No error shows that.
func TestEightNodesOnOneCampaign(t *testing.T) {
	paytest.OnEachInTurn(t, func(t *testing.T, b *paytest.Books) {
		eightWorkers(b, func() *posting.Poster { return paytest.Node(t, b).Poster }).CheckQuiet(t)
	})
}

func eightWorkers(b *paytest.Books, poster func() *posting.Poster) *paytest.Logbook {
	t := b.T
	const entries, wins, budget = 120, 8, 120 * 8 * paytest.CrowdAmount
	b.OpenCampaign(t, "c1", rain.Spec{Budget: budget, Packets: entries * wins})
	all, paid := paytest.Crowd("c1", entries, wins)
	log := &paytest.Logbook{}
	b.DB.Log = slog.New(log)
	var wg sync.WaitGroup
	for w := range 8 {
		l := poster()
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 2))
			mine := paytest.Copies(all)
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
				mine = mine[max(n-3, 1):] // and the last ones again
			}
		})
	}
	wg.Wait()
	b.WantPaid(t, "c1", budget, entries*wins, paid)
	return log
}

// TestTheEscrowIsTakenLast: while another transaction holds the escrow's balance, eight workers do all their other
// writes, and wait for it concurrently. So a worker blocks the others only for one row's change.
func TestTheEscrowIsTakenLast(t *testing.T) {
	t.Parallel()
	const workers, wins = 8, 10
	dsn := testenv.MySQL(t) + "?innodb_lock_wait_timeout=60"
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	b.OpenCampaign(t, "c1", rain.Spec{Budget: workers * wins, Packets: workers * wins})
	beside := testenv.Got(sql.Open("mysql", dsn+"&tx_isolation=%27READ-UNCOMMITTED%27")).Must(t)
	defer func() {
		testenv.Must(t, beside.Close())
	}()
	holder := testenv.Got(beside.BeginTx(t.Context(), nil)).Must(t)
	testenv.Must(t, testenv.Err(holder.ExecContext(t.Context(),
		"UPDATE balance SET amount = amount WHERE account_id = 'escrow:c1'")))
	var wg sync.WaitGroup
	release := sync.OnceFunc(func() {
		testenv.Must(t, holder.Rollback())
		wg.Wait()
	})
	defer release()
	for w := range workers {
		wg.Go(func() {
			var list []rain.Win
			for i := range wins {
				list = append(list, paytest.Win(fmt.Sprintf("u%d-%d", w, i), w*wins+i, 1))
			}
			testenv.WantErr(t, testenv.Err(b.Post(t.Context(), []rain.Entry{paytest.Entry("c1", 1+w, list...)})), nil)
		})
	}
	testenv.Eventually(t, 30*time.Second, "all have written and wait", func() bool {
		var written int
		// also uncommitted rows
		err := beside.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM payout").Scan(&written)
		return err == nil && written == workers*wins
	})
	if n, _, err := b.Paid(t.Context(), "c1"); n != 0 || err != nil {
		t.Errorf("%d are paid while the escrow is held, %v", n, err)
	}
	release()
	b.WantBalance(t, booking.EscrowAccount("c1"), 0)
	b.CheckBooks(t)
}

// TestPlayersAppearEverywhereAtOnce: eight campaigns pay the same new players at once. Each posting returns another
// balance of a player, from the first win to the last.
func TestPlayersAppearEverywhereAtOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const campaigns, rounds, users = 8, 6, 12
		for c := range campaigns {
			b.OpenCampaign(t, fmt.Sprintf("c%d", c), rain.Spec{Budget: 5 * rounds * users, Packets: rounds * users})
		}
		for round := range rounds {
			var mu sync.Mutex
			told := map[string][]int{}
			start := make(chan struct{})
			var wg sync.WaitGroup
			for c := range campaigns {
				var wins []rain.Win
				for u := range users {
					wins = append(wins, paytest.Win(fmt.Sprintf("%d-%d", round, (u+c)%users), round*users+u, 5))
				}
				wg.Go(func() {
					<-start
					posted, err := b.Post(t.Context(),
						[]rain.Entry{paytest.Entry(fmt.Sprintf("c%d", c), round+1, wins...)})
					testenv.WantErr(t, err, nil)
					mu.Lock()
					defer mu.Unlock()
					for _, s := range posted.Settled {
						told[s.User] = append(told[s.User], int(s.Balance))
					}
				})
			}
			close(start)
			wg.Wait()
			for user, balances := range told {
				slices.Sort(balances)
				testenv.Equal(t, balances, []int{5, 10, 15, 20, 25, 30, 35, 40}, "%s's reported balances", user)
			}
		}
	})
}
