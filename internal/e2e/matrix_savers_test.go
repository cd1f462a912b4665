package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/rain"
)

// savers are players of a crowd who withdraw their wins, a little at a time, through every fault. A request without an
// answer is sent again under its key, to any node, until there is one.
type savers struct {
	arena    *arena
	patience context.Context // of their requests; ends a while after stop
	lose     context.CancelFunc
	stopping chan struct{}
	wg       sync.WaitGroup
	made     atomic.Int64

	mu    sync.Mutex
	known map[string]saved // by withdrawal
}

type saved struct {
	user   string
	amount rain.Money
}

const (
	saverPause = 30 * time.Millisecond
	// saverAfter is the limit of a request without an answer after the savers are stopped: longer than its key may be
	// taken.
	saverAfter = 100 * time.Second
)

// save lets some players of a crowd withdraw. They may outlive the cell: the key of a request that was cut off is
// taken for a minute.
func (a *arena) save(c *crowd, count int) *savers {
	a.t.Helper()
	patience, lose := context.WithCancel(context.Background())
	s := &savers{arena: a, patience: patience, lose: lose, stopping: make(chan struct{}), known: map[string]saved{}}
	a.savers = append(a.savers, s)
	for i, f := range c.fans[:count] {
		s.wg.Go(func() { s.play(f, i) })
	}
	a.t.Cleanup(s.disperse)
	return s
}

// stop stops all savers, without waiting. It can be called again.
func (s *savers) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopping:
	default:
		close(s.stopping)
		time.AfterFunc(saverAfter, s.lose)
	}
}

// disperse waits until each request is answered.
func (s *savers) disperse() {
	s.stop()
	s.wg.Wait()
	s.lose()
}

func (s *savers) play(f *fan, number int) {
	for n := 0; ; n++ {
		key, amount := fmt.Sprintf("save %d", n), rain.Money(1+(n+number)%20)
		if err := s.withdraw(f, key, amount, n+number); err != nil {
			s.arena.t.Errorf("%s: withdrawal %q of %d is not answered: %v", f.user, key, amount, err)
			return
		}
		timer := time.NewTimer(saverPause)
		select {
		case <-s.stopping:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// withdraw asks until there is an answer that names the state of the withdrawal.
func (s *savers) withdraw(f *fan, key string, amount rain.Money, turn int) error {
	for try := 0; ; try++ {
		w, err := s.ask(s.patience, s.arena.node((turn+try)%2).node, f.token, amount, key)
		switch {
		case err == nil:
			s.mu.Lock()
			s.known[w.ID] = saved{f.user, amount}
			s.mu.Unlock()
			s.made.Add(1)
			return nil
		case hasCode(err, "insufficient_funds"):
			return nil
		case client.HasStatus(err, 422), client.HasStatus(err, 400), client.HasStatus(err, 401):
			return err
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-s.patience.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

func (s *savers) ask(ctx context.Context, n *node, token string, amount rain.Money,
	key string) (openapi.Withdrawn, error) {
	api, err := client.New(client.Options{Server: n.url, Token: token, HTTPClient: httpClient,
		Timeout: 10 * time.Second})
	if err != nil {
		return openapi.Withdrawn{}, err
	}
	return api.Withdraw(ctx, amount, key)
}

// awaitMade waits until so many more withdrawals are made.
func (s *savers) awaitMade(t *testing.T, more int64) {
	t.Helper()
	goal := s.made.Load() + more
	testenv.Eventually(t, time.Minute, fmt.Sprintf("%d more withdrawals", more),
		func() bool { return s.made.Load() >= goal })
}

// checkWithdrawals: the savers have gone and nothing is pending. Every withdrawal is as its player has heard and has
// ended once, and the bank's books are ours.
func (a *arena) checkWithdrawals(t *testing.T) {
	t.Helper()
	known := map[string]saved{}
	for _, s := range a.savers {
		s.disperse()
		maps.Copy(known, s.known)
	}
	testenv.Eventually(t, 90*time.Second, "no withdrawal is pending", func() bool {
		return a.count(t, "SELECT COUNT(*) FROM withdrawal WHERE state NOT IN ('paid', 'refused', 'returned')") == 0
	})
	paid := a.bank.Paid()
	rows, err := a.db.QueryContext(within(t, 20*time.Second), "SELECT id, user_id, amount, state FROM withdrawal")
	testenv.Must(t, err)
	defer func() { _ = rows.Close() }()
	ended := map[string]int{}
	for rows.Next() {
		var id, state string
		var w saved
		testenv.Must(t, rows.Scan(&id, &w.user, &w.amount, &state))
		ended[state]++
		testenv.Equal(t, known[id], w, "withdrawal %s, and the news of its player", id)
		delete(known, id)
		if amount, atBank := paid[id]; atBank != (state == "paid") || (atBank && amount != w.amount) {
			t.Errorf("withdrawal %s of %d is %s here; the bank has paid %d (%v)", id, w.amount, state, amount, atBank)
		}
		delete(paid, id)
	}
	testenv.Must(t, rows.Err())
	if len(known) > 0 || len(paid) > 0 {
		t.Errorf("not in the books: %v that players know, %v that the bank has paid", known, paid)
	}
	for _, fault := range a.bank.Faults() {
		t.Errorf("the bank complains: %s", fault)
	}
	t.Logf("withdrawals: %v", ended)
}
