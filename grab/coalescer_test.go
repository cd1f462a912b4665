package grab

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// workbench is a coalescer of players' names, with a function from the test.
type workbench struct {
	*coalescer[string]

	batches [][]string
	mu      sync.Mutex
	answers map[string]string // "decided", or "given up"
}

func newWorkbench(decide func(b *workbench) error) *workbench {
	b := &workbench{answers: map[string]string{}}
	b.coalescer = newCoalescer(newWorkers(), func(batch []string) error {
		b.batches = append(b.batches, slices.Clone(batch))
		err := decide(b)
		b.answer(batch, "decided")
		return err
	}, func(rest []string) { b.answer(rest, "given up") })
	return b
}

func (b *workbench) answer(users []string, with string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, user := range users {
		if _, twice := b.answers[user]; twice && user != "" {
			panic("two answers for " + user)
		}
		b.answers[user] = with
	}
}

func nothing(*workbench) error { return nil }

func TestWhatComesMeanwhileIsTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWorkbench(func(*workbench) error {
			time.Sleep(time.Millisecond) //nolint:forbidigo // Redis takes a millisecond of fake time
			return nil
		})
		b.push("first")
		synctest.Wait() // it is away, alone
		for i := range 1201 {
			if !b.push(strconv.Itoa(i)) {
				t.Error("a tap was refused")
			}
		}
		synctest.Wait()
		b.workers.close()
		var sizes []int
		for _, batch := range b.batches {
			sizes = append(sizes, len(batch))
		}
		testenv.Equal(t, sizes, []int{1, maxBatch, maxBatch, 201}, "batches")
		for i, tap := range b.batches[3] {
			if want := strconv.Itoa(1000 + i); tap != want {
				t.Fatalf("tap %d of the last batch is %s, want %s: the order is that of coming", i, tap, want)
			}
		}
		if b.running || b.head != 0 || len(b.queue) != 0 {
			t.Errorf("left over: running %v, queue %d…%d", b.running, b.head, len(b.queue))
		}
		for _, tap := range slices.Concat(b.queue[:cap(b.queue)], b.batch[:cap(b.batch)]) {
			if tap != "" {
				t.Fatalf("%q is kept for ever", tap)
			}
		}
		if b.push("late") {
			t.Error("a tap was taken after the end")
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		b := newWorkbench(func(*workbench) error {
			<-hold
			return nil
		})
		b.push("first")
		synctest.Wait()
		const one = ""
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
		testenv.Equal(t, len(b.batches), 1+maxQueue/maxBatch, "batches")
	})
}

// If a batch fails, the waiting items fail with it. Earlier items keep their results, and the next tap is decided as
// usual.
func TestAFailureInTheMiddleOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batches := 0
		hold := make(chan struct{})
		b := newWorkbench(func(*workbench) error {
			<-hold
			if batches++; batches == 3 {
				return errors.New("away")
			}
			return nil
		})
		b.push("first")
		synctest.Wait()
		for i := range 6 * maxBatch {
			b.push(strconv.Itoa(i))
		}
		close(hold)
		synctest.Wait()
		b.push("next")
		b.workers.close()
		if got := b.answers["next"]; got != "decided" || batches != 4 {
			t.Errorf("after the failure: %s, in batch %d", got, batches)
		}
		for i := range 6 * maxBatch {
			want := "decided"
			if i >= 2*maxBatch {
				want = "given up"
			}
			if got := b.answers[strconv.Itoa(i)]; got != want {
				t.Fatalf("tap %d was %s, want %s", i, got, want)
			}
		}
	})
}

// A queue that never empties stays as short as its waiting items allow.
func TestAQueueThatNeverEmptiesDoesNotGrow(t *testing.T) {
	batches := 0
	b := newWorkbench(func(b *workbench) error {
		if batches++; batches < 100 {
			for range maxBatch {
				b.push("")
			}
		}
		return nil
	})
	for range 2 * maxBatch {
		b.push("")
	}
	b.workers.wg.Wait()
	if n := cap(b.queue); n > 10*maxBatch {
		t.Errorf("room for %d taps", n)
	}
}

// Pushing, flushing and closing at the same time: every tap that was taken has its result when close returns.
func TestCloseWaitsForWhatWasTaken(t *testing.T) {
	for range 50 {
		b := newWorkbench(nothing)
		var taken sync.Map
		var pushing sync.WaitGroup
		for g := range 4 {
			pushing.Go(func() {
				for i := range 200 {
					user := strconv.Itoa(g*1000 + i)
					if b.push(user) {
						taken.Store(user, true)
					}
				}
			})
		}
		b.workers.close()
		pushing.Wait() // items pushed after close are refused
		n := 0
		taken.Range(func(user, _ any) bool {
			n++
			b.mu.Lock()
			defer b.mu.Unlock()
			if _, ok := b.answers[user.(string)]; !ok {
				t.Errorf("%s was taken and has no result", user)
			}
			return true
		})
		testenv.Equal(t, n, len(b.answers), "taps that were taken, and results")
	}
}
