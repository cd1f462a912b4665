package grab

import "sync"

const (
	// maxBatch is the most taps of one call of the script. More would not be cheaper for each, and would hold Redis up.
	maxBatch = 500
	// maxQueue is the most taps that wait for one shard. Who comes then would wait for seconds, and is told to try
	// again.
	maxQueue = 100_000
)

// coalescer gathers what comes for one shard into batches. One batch is away at any time; what comes meanwhile is the
// next one. So a lone tap leaves at once, and under load the batches grow by themselves: no timer, and no time lost.
// The batches of hundreds of nodes are small, and grow too when Redis has to have them wait (tools/nodes simulates
// it).
type coalescer[E any] struct {
	workers *workers
	decide  func(batch []E) error // answers the whole batch, also where it fails
	giveUp  func(rest []E)        // answers what is not decided at all
	run     func()                // flush; kept, because to make it is an allocation

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

// push puts a tap in the queue. It is false, and the tap is not taken, when the queue is full or the workers are
// closed.
func (c *coalescer[E]) push(e E) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue)-c.head >= maxQueue || c.workers.closed.Load() {
		return false
	}
	if !c.running && !c.workers.start(c.run) {
		return false
	}
	c.running = true // flush waits for the lock before it looks
	c.queue = append(c.queue, e)
	return true
}

// flush decides batches until nothing waits any more. Its goroutine lives only as long as there is work.
//
// A batch that fails takes with it all that waits: Redis, or what has to confirm a win, is away, and the ones
// behind would otherwise wait for one time-out after the other, the last of a long queue for minutes.
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

// next moves up to limit taps from the queue to the batch. When there is none it is false, and the goroutine that
// called it is no longer the flushing one.
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
	case c.head > len(c.queue)/2: // so that a queue that never empties does not grow for ever
		rest := copy(c.queue, c.queue[c.head:])
		clear(c.queue[rest:])
		c.queue, c.head = c.queue[:rest], 0
	}
	c.running = n > 0
	return c.running
}
