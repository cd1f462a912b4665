package grab

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// workbench is a coalescer with taps to push, and a decider that does what the test says.
type workbench struct {
	*coalescer
	mem     *memory
	batches [][]*Tap
	results map[string]Result
	mu      sync.Mutex
}

func newWorkbench(decide func(b *workbench, batch []*Tap) error) *workbench {
	b := &workbench{mem: newMemory(nil), results: map[string]Result{}}
	b.coalescer = newCoalescer(&workers{}, func(batch []*Tap) error {
		b.batches = append(b.batches, append([]*Tap(nil), batch...))
		return decide(b, batch)
	})
	return b
}

func (b *workbench) tap(user string) *Tap {
	return &Tap{User: user, stripe: b.mem.stripe(user), player: &player{}, Asker: &asker{func(r Result) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, twice := b.results[user]; twice {
			panic("two results for " + user)
		}
		b.results[user] = r
	}}}
}

func (b *workbench) settleAll(batch []*Tap) error {
	for _, t := range batch {
		t.settle(Result{Outcome: Empty})
	}
	return nil
}

func TestWhatComesMeanwhileIsTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWorkbench(func(b *workbench, batch []*Tap) error {
			time.Sleep(time.Millisecond) //nolint:forbidigo // Redis takes a millisecond of fake time
			return b.settleAll(batch)
		})
		b.push(b.tap("first"))
		synctest.Wait() // it is away, alone
		for i := range 1201 {
			if !b.push(b.tap(strconv.Itoa(i))) {
				t.Error("a tap was refused")
			}
		}
		synctest.Wait()
		b.workers.close()
		var sizes []int
		for _, batch := range b.batches {
			sizes = append(sizes, len(batch))
		}
		if len(sizes) != 4 || sizes[0] != 1 || sizes[1] != maxBatch || sizes[2] != maxBatch || sizes[3] != 201 {
			t.Errorf("batches of %v, want 1, 500, 500, 201", sizes)
		}
		for i, tap := range b.batches[3] {
			if want := strconv.Itoa(1000 + i); tap.User != want {
				t.Fatalf("tap %d of the last batch is %s, want %s: the order is that of coming", i, tap.User, want)
			}
		}
		if b.running || b.head != 0 || len(b.queue) != 0 {
			t.Errorf("left over: running %v, queue %d…%d", b.running, b.head, len(b.queue))
		}
		if b.push(b.tap("late")) {
			t.Error("a tap was taken after the end")
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newWorkbench(func(b *workbench, batch []*Tap) error {
			<-hold
			return b.settleAll(batch)
		})
		b.push(b.tap("first"))
		synctest.Wait()
		one := b.tap("one")
		one.Asker = &asker{func(Result) {}}
		for i := range maxQueue {
			if !b.push(one) {
				t.Fatalf("refused tap %d", i)
			}
		}
		if b.push(one) {
			t.Error("taken beyond the limit")
		}
		close(hold)
		b.workers.close()
		if len(b.batches) != 1+maxQueue/maxBatch {
			t.Errorf("%d batches", len(b.batches))
		}
	})
}

func TestABatchThatFailsTakesTheQueueWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		b := newWorkbench(func(b *workbench, batch []*Tap) error {
			time.Sleep(2 * time.Second) //nolint:forbidigo // the time-out, in fake time
			if fail {
				return errors.New("away")
			}
			return b.settleAll(batch)
		})
		began := time.Now()
		for i := range 3 * maxBatch {
			b.push(b.tap(strconv.Itoa(i)))
		}
		for {
			synctest.Wait()
			b.mu.Lock()
			n := len(b.results)
			b.mu.Unlock()
			if n == 3*maxBatch {
				break
			}
			time.Sleep(time.Second) //nolint:forbidigo // fake time
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the last one waited %v", took)
		}
		for user, r := range b.results {
			if r.Outcome != Unavailable {
				t.Errorf("%s: %v", user, r)
			}
		}
		// It goes on as before.
		fail = false
		b.push(b.tap("next"))
		b.workers.close()
		if r := b.results["next"]; r.Outcome != Empty {
			t.Errorf("the next one: %v", r)
		}
	})
}

// Pushing, flushing and closing at the same time: every tap that was taken has its result when close returns.
func TestCloseWaitsForWhatWasTaken(t *testing.T) {
	for range 50 {
		b := newWorkbench(func(b *workbench, batch []*Tap) error { return b.settleAll(batch) })
		var taken sync.Map
		var pushing sync.WaitGroup
		for g := range 4 {
			pushing.Go(func() {
				for i := range 200 {
					user := strconv.Itoa(g*1000 + i)
					if b.push(b.tap(user)) {
						taken.Store(user, true)
					}
				}
			})
		}
		b.workers.close()
		pushing.Wait() // what is pushed after close is refused
		n := 0
		taken.Range(func(user, _ any) bool {
			n++
			b.mu.Lock()
			defer b.mu.Unlock()
			if _, ok := b.results[user.(string)]; !ok {
				t.Errorf("%s was taken and has no result", user)
			}
			return true
		})
		if n != len(b.results) {
			t.Errorf("%d taken, %d results", n, len(b.results))
		}
	}
}
