package pipeline

import "sync"

// Wakes is a queue of outboxes that a relay should read now instead of at its next sweep. Whoever wins packets puts
// them in and the relay takes them out; neither needs to know the other. It is safe for concurrent use.
type Wakes struct {
	queue chan outboxKey

	mu     sync.Mutex
	queued map[outboxKey]bool
}

// outboxKey names one outbox.
type outboxKey struct {
	campaign string
	shard    int
}

// NewWakes makes an empty queue.
func NewWakes() *Wakes {
	return &Wakes{queue: make(chan outboxKey, 4096), queued: map[outboxKey]bool{}}
}

// Wake queues a shard's outbox, unless it is queued already. It never blocks.
func (w *Wakes) Wake(campaign string, shard int) {
	key := outboxKey{campaign, shard}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queued[key] {
		return
	}
	select {
	case w.queue <- key:
		w.queued[key] = true
	default: // more is waiting than can be read before the next sweep
	}
}

// taken notes that a key has left the queue: from here on a Wake means something newer.
func (w *Wakes) taken(key outboxKey) {
	w.mu.Lock()
	delete(w.queued, key)
	w.mu.Unlock()
}
