package gateway

import (
	"sync"

	"redrain/internal/wire"
	"redrain/payout/ledger"
)

// arrivals closes the gap between a welcome and the room. A settlement may come after the welcome has read the ledger
// and before the player sits in the lobby. The connection would miss it. So the message is kept for players who are
// joining, and delivered when they take their seat. One lock puts each notice either before that moment or after it,
// so it is delivered once.
type arrivals struct {
	mu     sync.Mutex
	coming map[string]map[*arrival]struct{} // by player; only while they are joining
}

// arrival is a connection that is joining, and the notices that it has missed.
type arrival struct {
	user   string
	missed *wire.Settled // nil: nothing
}

func newArrivals() *arrivals { return &arrivals{coming: map[string]map[*arrival]struct{}{}} }

// expect begins an arrival. Call it before anything is read for the welcome, and end it with arrive or giveUp.
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

// giveUp ends an abandoned arrival. It is safe for one that has ended.
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

// arrive ends an arrival: take gets the missed notices, nil for none, and seats the player. No player is notified
// meanwhile.
func (a *arrivals) arrive(c *arrival, take func(missed *wire.Settled)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(c)
	take(c.missed)
}

// expects reports whether a player is joining.
func (a *arrivals) expects(user string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.coming[user]) > 0
}

// unlessExpected runs a function on the cached state of a player, unless the player is joining: a returning player
// has just brought new state. No arrival begins meanwhile.
func (a *arrivals) unlessExpected(user string, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.coming[user]) == 0 {
		do()
	}
}

// deliver keeps a message for a player's joining connections, and has it sent to the seated ones. The message must
// not be changed afterwards.
func (a *arrivals) deliver(user string, m *wire.Settled, hand func()) {
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

// news returns the missed claims that the welcome does not have already, or nil.
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
