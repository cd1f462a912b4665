package grab

import (
	"hash/maphash"
	"slices"
	"sync"

	"redrain/grab/outcome"
	"redrain/rain"
)

// stripes is the number of locks that the players share: enough that a tap seldom waits for another player's.
const stripes = 256

// playerCache holds the players who are on this node. It may drop any of them at any time.
type playerCache[T any] struct {
	seed    maphash.Seed
	stripes [stripes]stripe[T]
}

// stripe holds some of the players. Its lock guards them and all their state.
type stripe[T any] struct {
	mu      sync.Mutex
	players map[string]*cachedPlayer[T]
	left    []leaver // in the order in which they left
}

// leaver is a player who has left within a second of their last tap. If the player comes back at once, there is no
// new burst of taps.
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

// Remember gives the gate the player's wins in the campaign. So a winning tap that is sent again is answered here,
// and so are the taps of a player with all the wins allowed.
func (c *playerCache[T]) Remember(user string, wins []rain.Win) {
	if len(wins) == 0 {
		return
	}
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(user)
	for _, w := range wins {
		if ticket, ok := rain.ParseTicket(w.Drop); ok {
			p.remember(ticket, outcome.Result{Outcome: outcome.Won, Packet: w.Packet, Amount: w.Amount})
		}
	}
}

// Settled marks a win of a player on this node as in the ledger. It reports whether that is news: a settlement may be
// received more than once, and the player is notified once.
func (c *playerCache[T]) Settled(user string, w rain.Win) (news bool) {
	ticket, ok := rain.ParseTicket(w.Drop)
	if !ok {
		return true
	}
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(user)
	return p.settle(ticket, outcome.Result{Outcome: outcome.Won, Packet: w.Packet, Amount: w.Amount})
}

// addUnsure adds wins that the player may not be notified of yet: taps with their tickets go to the script while the
// rain lasts.
func (c *playerCache[T]) addUnsure(user, ofRain string, wins []rain.Win) {
	if len(wins) == 0 {
		return
	}
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(user)
	p.startRain(ofRain)
	for _, w := range wins {
		if ticket, ok := rain.ParseTicket(w.Drop); ok {
			p.unsure(ticket)
		}
	}
}

// Forget drops the cached state of a player who has left this node. If a tap is in flight, the player is dropped when
// it is decided, unless the player has tapped again.
func (c *playerCache[T]) Forget(user string) {
	s := c.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p := s.players[user]; {
	case p == nil:
	case len(p.undecidedTaps) > 0:
		p.onIdle = func() { s.remove(user, p) }
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

// find returns a player who is here, with the cached state.
func (s *stripe[T]) find(user string) *cachedPlayer[T] {
	p := s.players[user]
	if p == nil {
		return s.add(user)
	}
	p.onIdle = nil
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
