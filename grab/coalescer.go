package grab

import (
	"sync"
	"sync/atomic"
)

const (
	// maxBatch is the most taps of one call of the script. A larger batch would not be cheaper for each tap, and
	// would block Redis.
	maxBatch = 500
	// maxQueue is the most taps that wait for one shard. Another tap would wait for seconds, so it is unavailable and
	// the player may retry.
	maxQueue = 100_000
)

// coalescer gathers the taps on one shard into batches. One batch is in flight at any time; the taps that arrive
// meanwhile are the next one. So a lone tap leaves at once, and batches grow under load without a timer (tools/nodes
// simulates it).
type coalescer[E any] struct {
	workers *workers
	decide  func(batch []E) error // shard.decide: answers the batch, also if it fails
	giveUp  func(rest []E)        // shard.unavailable: answers taps that are not decided at all
	run     func()                // flush; kept, because making it is an allocation

	mu      sync.Mutex
	queue   []E // queue[:head] has been taken already
	head    int
	running bool // a goroutine is flushing

	batch []E // the flushing goroutine's
}

func newCoalescer[E any](w *workers, decide func(batch []E) error, giveUp func(rest []E)) *coalescer[E] {
	c := &coalescer[E]{workers: w, decide: decide, giveUp: giveUp}
	c.run = c.flush
	return c
}

// push queues a tap. It returns false, and does not take the tap, if the queue is full or the workers are closed.
func (c *coalescer[E]) push(e E) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue)-c.head >= maxQueue || c.workers.closed.Load() {
		return false
	}
	if !c.running && !c.workers.start(c.run) {
		return false
	}
	c.running = true // flush waits for the lock first
	c.queue = append(c.queue, e)
	return true
}

// flush decides batches until the queue is empty. A batch that fails takes all waiting taps with it. Redis, or the
// confirmation of a win, is away, and they would wait for one time-out after the other.
func (c *coalescer[E]) flush() {
	for c.next(maxBatch) {
		if c.decide(c.batch) == nil {
			continue
		}
		if !c.next(maxQueue) {
			return
		}
		c.giveUp(c.batch)
	}
}

// next moves up to limit taps from the queue to the batch. If there is none, it returns false, and the calling
// goroutine is no longer the flushing one.
func (c *coalescer[E]) next(limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.batch)
	n := min(len(c.queue)-c.head, limit)
	taken := c.queue[c.head : c.head+n]
	c.batch = append(c.batch[:0], taken...)
	clear(taken)
	c.head += n
	switch {
	case c.head == len(c.queue):
		c.queue, c.head = c.queue[:0], 0
	case c.head > len(c.queue)/2: // so that a queue that is never empty does not grow without limit
		rest := copy(c.queue, c.queue[c.head:])
		clear(c.queue[rest:])
		c.queue, c.head = c.queue[:rest], 0
	}
	c.running = n > 0
	return c.running
}

// workers are the goroutines that flush taps. Close waits for them.
type workers struct {
	closed atomic.Bool
	ending chan struct{} // closed after closed is set

	mu sync.RWMutex // no start between close's setting of closed and its waiting
	wg sync.WaitGroup
}

func newWorkers() *workers { return &workers{ending: make(chan struct{})} }

// start runs f in a goroutine. After close, it returns false and does not run f.
func (w *workers) start(f func()) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed.Load() {
		return false
	}
	w.wg.Go(f)
	return true
}

// close refuses new goroutines, and waits for the running ones.
func (w *workers) close() {
	w.mu.Lock()
	if !w.closed.Swap(true) {
		close(w.ending)
	}
	w.mu.Unlock()
	w.wg.Wait()
}
