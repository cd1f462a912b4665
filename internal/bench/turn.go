package bench

import (
	"slices"
	"sync"
	"time"
)

// Turn is a player's turn in the waiting room of a campaign that is full.
type Turn struct {
	Admitted bool
	Place    int           // from 1
	Retry    time.Duration // until the place is to be asked for again, or it is lost
}

// codeFull is the close code of a room without a seat for the player: after goodbye.reconnect_after_ms.
const codeFull = 4003

// Waited is what became of the players who had to wait for a seat.
type Waited struct {
	Players  int             // who were told to wait
	Admitted int             // of them, who have come in
	Waits    []time.Duration // of those, in rising order
	// Astray is by how many places each of those came in away from the order in which they were told to wait first, in
	// rising order. Answers that are under way together overtake each other.
	Astray []int
}

// queue is who had to wait for a seat, in which order they came, and in which they came in.
type queue struct {
	mu      sync.Mutex
	came    []int // players
	at      map[int]time.Duration
	entered []int
	waits   []time.Duration
}

// wait notes that a player was told to wait. It is true for the first time.
func (q *queue) wait(player int, now time.Duration) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.at[player]; known {
		return false
	}
	if q.at == nil {
		q.at = map[int]time.Duration{}
	}
	q.at[player] = now
	q.came = append(q.came, player)
	return true
}

// enter notes that a player has come in for the first time; true for one who had to wait.
func (q *queue) enter(player int, now time.Duration) (waited bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	since, waited := q.at[player]
	if waited {
		q.entered = append(q.entered, player)
		q.waits = append(q.waits, now-since)
	}
	return waited
}

// waited sums it up.
func (q *queue) waited() Waited {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := Waited{Players: len(q.came), Admitted: len(q.entered), Waits: slices.Clone(q.waits)}
	turn := make(map[int]int, len(q.came))
	for i, p := range q.came {
		turn[p] = i
	}
	for i, p := range q.entered {
		w.Astray = append(w.Astray, max(turn[p]-i, i-turn[p]))
	}
	slices.Sort(w.Waits)
	slices.Sort(w.Astray)
	return w
}

// turnAway has a player wait for a seat: with a place, it is asked for as often as the server says; without one, the
// player comes back when the server says.
func (c *Crowd) turnAway(p *player, place int, d time.Duration, why error) {
	if c.queue.wait(p.id, time.Duration(c.clock())) {
		c.change(func() { c.told++ })
	}
	if place < 1 || c.options.Turn == nil {
		c.connectLater(p, d, why)
		return
	}
	c.work.Go(func() {
		for pause(c.ctx, d) && c.queueUp() {
			turn, err := c.options.Turn(c.ctx, p.id, p.token, p.campaign(c.options.Campaigns))
			if err != nil || turn.Admitted || turn.Place < 1 {
				c.connect(p) // the socket says the rest
				return
			}
			<-c.dialing
			d = turn.Retry
		}
	})
}

// leaveLater has a player go for good after some time.
func (c *Crowd) leaveLater(p *player, d time.Duration) {
	c.work.Go(func() {
		if pause(c.ctx, d) {
			l := c.loops[p.id%len(c.loops)]
			l.do(func() { l.leave(p) })
		}
	})
}
