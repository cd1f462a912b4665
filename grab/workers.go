package grab

import (
	"sync"
	"sync/atomic"
)

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
