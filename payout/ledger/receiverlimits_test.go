package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// TestARatePerReceiverOverAllNodes: three nodes lease concurrently as much as they can. The tries of all of them keep
// the rate's distance, none is far in the future, and another receiver has its own rate.
func TestARatePerReceiverOverAllNodes(t *testing.T) {
	const count, rate = 60, 15
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", count)
		for i := range count {
			b.MustWithdraw(t, fmt.Sprintf("w%02d", i), "u1", 1)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		var begins []int64
		nodes := make([]*ledger.Withdrawals, 3)
		for i := range nodes {
			nodes[i] = paytest.Node(t, b).Withdrawals.Paced(ledger.ReceiverLimits{Rate: rate})
		}
		for second := range 6 {
			for _, node := range nodes {
				wg.Go(func() {
					for range 4 {
						taken, err := node.LeaseDue(t.Context(), paytest.Bank, 8, 24*time.Hour)
						testenv.WantErr(t, err, nil)
						mu.Lock()
						for _, w := range taken {
							begins = append(begins, w.NotBefore)
							if wait := w.NotBefore - b.Clock.Load(); wait > 1000 {
								t.Errorf("a try waits %d ms", wait)
							}
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if most := (second + 1) * (rate + 1); len(begins) > most {
				t.Errorf("after %d s there were %d tries", second+1, len(begins))
			}
			b.Clock.Add(1000)
		}
		slices.Sort(begins)
		for i := rate; i < len(begins); i++ {
			if apart := begins[i] - begins[i-rate]; apart < 999 { // each time is rounded to a millisecond
				t.Errorf("%d tries within %d ms", rate+1, apart)
			}
		}
		if len(begins) != count {
			t.Errorf("%d tries, want %d: the rate is not used", len(begins), count)
		}
	})
}

// TestABudgetOfTriesAtOnce: for any number of nodes, no more tries are in flight than allowed. The end of one, of any
// kind, makes room for another.
func TestABudgetOfTriesAtOnce(t *testing.T) {
	const count, most = 40, 3
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", count)
		for i := range count {
			b.MustWithdraw(t, fmt.Sprintf("w%02d", i), "u1", 1)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		underWay, peak, tries := 0, 0, 0
		giveUp := time.Now().Add(time.Minute)
		ends := []func(n *ledger.Withdrawals, w ledger.Withdrawal) error{
			func(n *ledger.Withdrawals, w ledger.Withdrawal) error { return n.RecordPaid(t.Context(), w, "x") },
			func(n *ledger.Withdrawals, w ledger.Withdrawal) error { return n.RecordRefused(t.Context(), w, "x") },
			func(n *ledger.Withdrawals, w ledger.Withdrawal) error {
				return n.RecordRetry(t.Context(), w, 48*time.Hour, "x")
			},
			func(n *ledger.Withdrawals, w ledger.Withdrawal) error { return n.RecordDead(t.Context(), w, "x") },
			func(n *ledger.Withdrawals, w ledger.Withdrawal) error {
				return n.RecordWaiting(t.Context(), w,
					ledger.Waiting{State: ledger.WithdrawalSent, After: 48 * time.Hour})
			},
		}
		for range 3 {
			node := paytest.Node(t, b).Withdrawals.Paced(ledger.ReceiverLimits{InFlight: most})
			for range 2 {
				wg.Go(func() {
					for ended := false; !ended; {
						taken, err := node.LeaseDue(t.Context(), paytest.Bank, 8, time.Hour)
						testenv.WantErr(t, err, nil)
						mu.Lock()
						underWay += len(taken)
						peak = max(peak, underWay)
						ended = tries+underWay >= count || t.Failed() || time.Now().After(giveUp)
						mu.Unlock()
						for _, w := range taken {
							mu.Lock()
							underWay-- // just before its end is written
							end := ends[tries%len(ends)]
							tries++
							mu.Unlock()
							testenv.WantErr(t, end(node, w), nil)
						}
					}
				})
			}
		}
		wg.Wait()
		if peak > most || tries != count {
			t.Errorf("%d at once, want %d at most; %d tries, want %d", peak, most, tries, count)
		}
	})
}

// TestWhatIsDatedFarAheadKeepsNobodyFromAReceiver: a turn, and a try, that lie too far ahead come from a tampered
// row, and are ignored. Up to the limit they count.
func TestWhatIsDatedFarAheadKeepsNobodyFromAReceiver(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u1", 9)
		for i := range 9 {
			b.MustWithdraw(t, fmt.Sprintf("w%d", i), "u1", 1)
		}
		node := b.Paced(ledger.ReceiverLimits{Rate: 1, InFlight: 1})
		lease := func(when string, want int) {
			t.Helper()
			taken, err := node.LeaseDue(t.Context(), paytest.Bank, 1, time.Minute)
			if err != nil || len(taken) != want {
				t.Errorf("%s: %+v, %v", when, taken, err)
			}
			for _, w := range taken {
				if w.NotBefore > b.Clock.Load()+1000 {
					t.Errorf("%s: not before %d, and it is %d", when, w.NotBefore, b.Clock.Load())
				}
			}
		}
		date := func(column string, perMS int64, ahead time.Duration) {
			table, name, _ := strings.Cut(column, ".")
			b.Statement(t, fmt.Sprintf("UPDATE %s SET %s = %d", table, name,
				(b.Clock.Load()+ahead.Milliseconds())*perMS))
		}
		lease("the first", 1)
		b.Clock.Add(30_000)
		date("withdrawal.try_ends", 1, ledger.LongestWait)
		lease("a try is under way", 0)
		date("withdrawal.try_ends", 1, 48*time.Hour)
		lease("no try lasts as long", 1)
		b.Clock.Add(2 * time.Minute.Milliseconds())
		date("provider_pace.next_turn", 1000, ledger.LongestTurn)
		lease("it is not the turn", 0)
		date("provider_pace.next_turn", 1000, 48*time.Hour)
		lease("no turn is as far away", 1)
		b.Clock.Add(2 * time.Minute.Milliseconds())
		lease("mended", 1)
	})
}
