package grab

import (
	"hash/maphash"
	"slices"
	"sync"

	"redrain/rain"
)

const (
	// stripes is how many locks the players are spread over: enough that a tap seldom waits for another player's.
	stripes = 256
	// keptResults is how many results of taps that won nothing are kept of a player; the oldest go first. At 20 taps a second it
	// is more than a drop is in the air.
	keptResults = 512
)

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

// player is what is remembered of one player. Its stripe's lock guards it.
type player struct {
	bucket  bucket
	wins    int          // how many of the results are wins
	results []remembered // in the order decided
	flying  []*tap       // with the script just now

	undecided []rain.DropID // of taps that the script may have decided, or has without confirmation, and the player was told nothing
}

// remembered is the result of a player's tap on one drop.
type remembered struct {
	drop   rain.DropID
	result Result
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
		for user, wins := range before.stripes[i].winners() {
			p := &player{wins: len(wins), results: wins}
			m.stripe(user).players[user] = p // nobody else has m yet
		}
	}
	return m
}

// winners is what the stripe's players have won.
func (s *stripe) winners() map[string][]remembered {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]remembered{}
	for user, p := range s.players {
		if p.wins > 0 {
			all[user] = slices.DeleteFunc(slices.Clone(p.results), func(r remembered) bool { return r.result.Outcome != Won })
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

// recall finds the result of the player's tap on a drop.
func (p *player) recall(drop rain.DropID) (Result, bool) {
	// From the newest: who taps twice does it at once.
	for _, r := range slices.Backward(p.results) {
		if r.drop == drop {
			return r.result, true
		}
	}
	return Result{}, false
}

// underWay finds the player's tap on a drop that the script has not decided yet.
func (p *player) underWay(drop rain.DropID) *tap {
	for _, t := range p.flying {
		if t.id == drop {
			return t
		}
	}
	return nil
}

// landed takes a tap back from under way, with its result.
func (p *player) landed(t *tap, r Result) {
	if i := slices.Index(p.flying, t); i >= 0 {
		p.flying = slices.Delete(p.flying, i, i+1)
	}
	known := slices.Index(p.undecided, t.id)
	if r.Outcome == Unavailable {
		// One that was given up unsent leaves an earlier one of the same drop as undecided as it was.
		if t.sent && known < 0 && len(p.undecided) < keptResults {
			p.undecided = append(p.undecided, t.id)
		}
		return
	}
	if known >= 0 {
		p.undecided = slices.Delete(p.undecided, known, known+1)
	}
	switch r.Outcome {
	case Won, Already, Limited, Empty, SoldOut:
		p.remember(t.id, r)
	}
	// NotOpen may be another the next moment.
}

// remember keeps a result. The first one of a drop stays, except that a win is stronger than anything.
func (p *player) remember(drop rain.DropID, r Result) {
	for i := range p.results {
		if p.results[i].drop != drop {
			continue
		}
		if r.Outcome == Won && p.results[i].result.Outcome != Won {
			p.results[i].result = r
			p.wins++
		}
		return
	}
	if len(p.results)-p.wins >= keptResults {
		oldest := slices.IndexFunc(p.results, func(r remembered) bool { return r.result.Outcome != Won })
		p.results = slices.Delete(p.results, oldest, oldest+1)
	}
	p.results = append(p.results, remembered{drop, r})
	if r.Outcome == Won {
		p.wins++
	}
}

// bucket lets a player tap at a rate, and in one burst as often as in one second. It runs on the cluster's time.
type bucket struct {
	tokens float64
	at     int64 // when they were counted; 0: never, and the bucket is full
}

// take takes one token if there is one. rate is tokens per second and in one burst.
func (b *bucket) take(now int64, rate int) bool {
	full := float64(rate)
	switch {
	case b.at == 0:
		b.tokens, b.at = full, now
	default: // a clock that was set back costs the time it was set back by, and no more
		b.tokens = min(full, b.tokens+float64(max(now-b.at, 0))*full/1000)
		b.at = now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
