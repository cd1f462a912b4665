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

// playerCache is what this node knows of its players during one rain.
type playerCache[T any] struct {
	seed    maphash.Seed
	stripes [stripes]stripe[T]
}

// stripe holds some of the players. Its lock guards them and all that is in them.
type stripe[T any] struct {
	mu      sync.Mutex
	players map[string]*cachedPlayer[T]
}

// newPlayerCache takes over what was won from the cache before, which may be nil.
func newPlayerCache[T any](before *playerCache[T]) *playerCache[T] {
	c := &playerCache[T]{seed: maphash.MakeSeed()}
	for i := range c.stripes {
		c.stripes[i].players = map[string]*cachedPlayer[T]{}
	}
	if before == nil {
		return c
	}
	for i := range before.stripes {
		for user, won := range before.stripes[i].winners() {
			c.stripe(user).add(user).won = won // nobody else has c yet
		}
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
	p := s.players[user]
	if p == nil {
		p = s.add(user)
	}
	for _, w := range wins {
		if drop, ok := rain.ParseDrop(w.Drop); ok {
			p.remember(drop, outcome.Result{Outcome: outcome.Won, Packet: w.Packet, Amount: w.Amount})
		}
	}
}

// winners is what the stripe's players have won.
func (s *stripe[T]) winners() map[string][]wonDrop {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]wonDrop{}
	for user, p := range s.players {
		if len(p.won) > 0 {
			all[user] = slices.Clone(p.won)
		}
	}
	return all
}

func (s *stripe[T]) add(user string) *cachedPlayer[T] {
	p := &cachedPlayer[T]{mu: &s.mu}
	s.players[user] = p
	return p
}
