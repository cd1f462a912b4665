package grab

import (
	"hash/maphash"
	"slices"
	"sync"

	"redrain/grab/outcome"
	"redrain/rain"
)

// stripes is how many locks the players are spread over: enough that a tap seldom waits for another player's.
const stripes = 256

// playerCache is what this node knows of the players who are on it. It may forget any of them at any time.
type playerCache[T any] struct {
	seed    maphash.Seed
	stripes [stripes]stripe[T]
}

// stripe holds some of the players. Its lock guards them and all that is in them.
type stripe[T any] struct {
	mu      sync.Mutex
	players map[string]*cachedPlayer[T]
	left    []leaver // in the order in which they left
}

// leaver is a player who has left within a second of their last tap: who comes back at once has no new burst of taps.
type leaver struct {
	user   string
	bucket bucket
}

func newPlayerCache[T any]() *playerCache[T] {
	c := &playerCache[T]{seed: maphash.MakeSeed()}
	for i := range c.stripes {
		c.stripes[i].players = map[string]*cachedPlayer[T]{}
	}
	return c
}

func (c *playerCache[T]) stripe(user string) *stripe[T] {
	return &c.stripes[maphash.String(c.seed, user)%stripes]
}

// addWins takes in what a player has won.
func (c *playerCache[T]) addWins(user string, wins []rain.Win) {
	if len(wins) == 0 {
		return
	}
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.known(user)
	for _, w := range wins {
		if ticket, ok := rain.ParseTicket(w.Drop); ok {
			p.remember(ticket, outcome.Result{Outcome: outcome.Won, Packet: w.Packet, Amount: w.Amount})
		}
	}
}

// settle takes in a win of a player that is in the ledger. It tells whether that is news.
func (c *playerCache[T]) settle(user string, w rain.Win) (news bool) {
	ticket, ok := rain.ParseTicket(w.Drop)
	if !ok {
		return true
	}
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.known(user)
	return p.settle(ticket, outcome.Result{Outcome: outcome.Won, Packet: w.Packet, Amount: w.Amount})
}

// addUnsure takes in wins of a player that may not be told yet: what the player asks for again is asked of the
// script, as long as the rain lasts.
func (c *playerCache[T]) addUnsure(user, ofRain string, wins []rain.Win) {
	if len(wins) == 0 {
		return
	}
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.known(user)
	p.enter(ofRain)
	for _, w := range wins {
		if ticket, ok := rain.ParseTicket(w.Drop); ok {
			p.unsure(ticket)
		}
	}
}

// forget drops a player; one with a tap under way when that is decided, unless the player has tapped again.
func (c *playerCache[T]) forget(user string) {
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p := s.players[user]; {
	case p == nil:
	case len(p.flying) > 0:
		p.gone = func() { s.remove(user, p) }
	default:
		s.remove(user, p)
	}
}

// remove drops a player, and keeps the bucket until it would be full again.
func (s *stripe[T]) remove(user string, p *cachedPlayer[T]) {
	delete(s.players, user)
	if p.bucket.at == 0 {
		return
	}
	s.left = slices.DeleteFunc(s.left, func(l leaver) bool { return l.bucket.at <= p.bucket.at-bucketFillsIn })
	s.left = append(s.left, leaver{user, p.bucket})
}

// known is a player who is here, with what is known of them.
func (s *stripe[T]) known(user string) *cachedPlayer[T] {
	p := s.players[user]
	if p == nil {
		return s.add(user)
	}
	p.gone = nil
	return p
}

func (s *stripe[T]) add(user string) *cachedPlayer[T] {
	p := &cachedPlayer[T]{mu: &s.mu}
	if i := slices.IndexFunc(s.left, func(l leaver) bool { return l.user == user }); i >= 0 {
		p.bucket = s.left[i].bucket
		s.left = slices.Delete(s.left, i, i+1)
	}
	s.players[user] = p
	return p
}
