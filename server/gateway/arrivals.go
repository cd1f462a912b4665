package gateway

import (
	"sync"

	"redrain/internal/wire"
	"redrain/payout/ledger"
)

// arrivals closes the gap between a welcome and the room: what is settled after the welcome has read the ledger,
// and heard before the player sits in the lobby, would never be told on that connection. It is kept for those who
// are on their way, and handed over as they take their seat. One lock makes a notice come either before that or
// after it, and so once.
type arrivals struct {
	mu     sync.Mutex
	coming map[string]map[*arrival]struct{} // by player; only while they are on their way
}

// arrival is a connection on its way to its seat, and what it has missed.
type arrival struct {
	user   string
	missed *wire.Settled // nil: nothing
}

func newArrivals() *arrivals { return &arrivals{coming: map[string]map[*arrival]struct{}{}} }

// expect begins an arrival, before anything is read for the welcome. It ends with arrive, or with giveUp.
func (a *arrivals) expect(user string) *arrival {
	c := &arrival{user: user}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.coming[user] == nil {
		a.coming[user] = map[*arrival]struct{}{}
	}
	a.coming[user][c] = struct{}{}
	return c
}

// giveUp ends an arrival that led nowhere. It is safe for one that has ended.
func (a *arrivals) giveUp(c *arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(c)
}

// forget needs a.mu.
func (a *arrivals) forget(c *arrival) {
	delete(a.coming[c.user], c)
	if len(a.coming[c.user]) == 0 {
		delete(a.coming, c.user)
	}
}

// arrive ends an arrival: take gets what it has missed, nil for nothing, and seats the player. Nobody is told
// anything meanwhile.
func (a *arrivals) arrive(c *arrival, take func(missed *wire.Settled)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(c)
	take(c.missed)
}

// expects tells whether a player is on the way.
func (a *arrivals) expects(user string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.coming[user]) > 0
}

// unlessExpected has something done to what is known of a player, unless the player is on the way: who comes back
// has just brought it. Nobody begins to arrive meanwhile.
func (a *arrivals) unlessExpected(user string, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.coming[user]) == 0 {
		do()
	}
}

// tell keeps a message for a player's connections that are on their way, and has it handed to those that are there. The
// message may not be changed afterwards.
func (a *arrivals) tell(user string, m *wire.Settled, hand func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.coming[user] {
		c.hear(m)
	}
	hand()
}

func (c *arrival) hear(m *wire.Settled) {
	if c.missed == nil {
		c.missed = &wire.Settled{Type: wire.TypeSettled}
	}
	c.missed.Claims = append(c.missed.Claims, m.Claims...)
	c.missed.Balance = m.Balance // the newer one
}

// news is what of the missed claims the welcome has not said already; nil where that is nothing.
func news(missed *wire.Settled, welcome []wire.Claim) *wire.Settled {
	if missed == nil {
		return nil
	}
	known := make(map[string]bool, len(welcome))
	for _, c := range welcome {
		known[c.Claim] = c.State == string(ledger.StateSettled)
	}
	fresh := &wire.Settled{Type: wire.TypeSettled, Balance: missed.Balance}
	for _, c := range missed.Claims {
		if !known[c.Claim] {
			fresh.Claims = append(fresh.Claims, c)
		}
	}
	if len(fresh.Claims) == 0 {
		return nil
	}
	return fresh
}
