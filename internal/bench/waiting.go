package bench

import (
	"slices"
	"sync"
	"time"
)

// Turn is a player's turn in the waiting room of a campaign that is full.
type Turn struct {
	Admitted bool
	Position int           // from 1
	Retry    time.Duration // until the position is to be asked for again, or it is lost
}

// waitingRoom has the players who had to wait for a slot, and the order in which they came in.
type waitingRoom struct {
	mu      sync.Mutex
	since   map[int]time.Time
	order   map[int]int // player → how many came before
	entered []int       // players
	waits   []time.Duration
}

// wait notes that a player was told to wait. It is true for the first time.
func (w *waitingRoom) wait(player int) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.since[player]; known {
		return false
	}
	if w.since == nil {
		w.since, w.order = map[int]time.Time{}, map[int]int{}
	}
	w.since[player], w.order[player] = time.Now(), len(w.order)
	return true
}

// enter notes that a player has come in for the first time; true for one who had to wait.
func (w *waitingRoom) enter(player int) (waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, waited := w.since[player]
	if waited {
		w.entered, w.waits = append(w.entered, player), append(w.waits, time.Since(since))
	}
	return waited
}

// report sums it up.
func (w *waitingRoom) report() Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Waiting{Waited: len(w.order), Admitted: len(w.entered)}
	n := len(w.entered)
	if n == 0 {
		return r
	}
	astray := make([]int, n)
	for i, p := range w.entered {
		astray[i] = max(w.order[p]-i, i-w.order[p])
	}
	waits := slices.Sorted(slices.Values(w.waits))
	slices.Sort(astray)
	r.P50, r.Max = waits[n/2].Milliseconds(), waits[n-1].Milliseconds()
	r.AstrayP90, r.AstrayMax = astray[n*9/10], astray[n-1]
	return r
}
