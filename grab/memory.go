package grab

import (
	"hash/maphash"
	"slices"
	"sync"

	"redrain/rain"
)

// stripes is how many locks the players are spread over: enough that a tap seldom waits for another player's.
const stripes = 256

// memory is what this node remembers of its players during one rain.
type memory struct {
	seed    maphash.Seed
	stripes [stripes]stripe
}

// stripe holds some of the players. Its lock guards them and all that is in them.
type stripe struct {
	mu      sync.Mutex
	players map[string]*player
}

// newMemory takes over what was won in the memory before, which may be nil.
func newMemory(before *memory) *memory {
	m := &memory{seed: maphash.MakeSeed()}
	for i := range m.stripes {
		m.stripes[i].players = map[string]*player{}
	}
	if before == nil {
		return m
	}
	for i := range before.stripes {
		for user, won := range before.stripes[i].winners() {
			m.stripe(user).players[user] = &player{won: won} // nobody else has m yet
		}
	}
	return m
}

// winners is what the stripe's players have won.
func (s *stripe) winners() map[string][]wonDrop {
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

func (m *memory) stripe(user string) *stripe {
	return &m.stripes[maphash.String(m.seed, user)%stripes]
}

func (m *memory) rememberWins(user string, wins []rain.Win) {
	if len(wins) == 0 {
		return
	}
	s := m.stripe(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.players[user]
	if p == nil {
		p = s.add(user)
	}
	for _, w := range wins {
		if drop, ok := rain.ParseDrop(w.Drop); ok {
			p.remember(drop, Result{Outcome: Won, Packet: w.Packet, Amount: w.Amount})
		}
	}
}

func (s *stripe) add(user string) *player {
	p := &player{}
	s.players[user] = p
	return p
}
