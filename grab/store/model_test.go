package store_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv/property"
	"redrain/rain"
)

// model describes the work of the scripts a second time, in the plainest way.
type model struct {
	open, closed bool
	wins, taps   int     // allowed to a player; taps 0: no limit
	pace         float64 // the part of the rain's time that has passed; 0: no pacing
	shards       []*modelShard
	moves        []*modelMove
}

type modelShard struct {
	stock    []int
	base     int // stock at the start of the pacing; -1: not started
	won      map[string]map[string]outcome.Result
	tapped   map[string]map[string]bool // the drops that were counted
	order    []grabtest.Known           // the wins, in the order won
	gone     int                        // how many of them are in the outbox no more
	moves    int64
	lent     map[string]string // id of the move -> its ranges
	borrowed []string
}

type modelMove struct {
	lent     rain.Lent
	from     int
	written  bool // the ledger has it
	borrowed bool
	done     bool
	void     bool // the donor was lost before it was written
}

func (m *model) tap(shard int, user, drop string) outcome.Result {
	s := m.shards[shard]
	if s.won[user] == nil {
		s.won[user] = map[string]outcome.Result{}
	}
	if s.tapped[user] == nil {
		s.tapped[user] = map[string]bool{}
	}
	if r, ok := s.won[user][drop]; ok {
		return r
	}
	switch {
	case !m.open || m.closed:
		return outcome.Result{Outcome: outcome.NotOpen}
	case len(s.won[user]) >= m.wins:
		return outcome.Result{Outcome: outcome.Already}
	case m.taps > 0 && !s.tapped[user][drop] && len(s.tapped[user]) >= m.taps:
		return outcome.Result{Outcome: outcome.Limited}
	}
	s.tapped[user][drop] = true
	switch {
	case len(s.stock) == 0:
		return outcome.Result{Outcome: outcome.SoldOut}
	case m.pace > 0 && int(float64(s.base)*m.pace)-(s.base-len(s.stock)) < 1:
		return outcome.Result{Outcome: outcome.Empty}
	}
	r := outcome.Result{Outcome: outcome.Won, Packet: s.stock[0]}
	s.stock = s.stock[1:]
	s.won[user][drop] = r
	s.order = append(s.order, grabtest.Known{Win: rain.Win{User: user, Packet: r.Packet, Drop: drop}})
	return r
}

// begin is the effect of a rain's first batch on a shard.
func (m *model) begin(shard int) {
	if s := m.shards[shard]; m.open && !m.closed && m.pace > 0 && s.base < 0 {
		s.base = len(s.stock)
	}
}

// lend takes packets from the end of a stock.
func (m *model) lend(from, count int) []int {
	s := m.shards[from]
	if m.closed || count == 0 || len(s.stock) == 0 {
		return nil
	}
	at := max(0, len(s.stock)-count)
	lent := slices.Clone(s.stock[at:])
	s.stock = s.stock[:at]
	s.moves++
	if s.base >= 0 {
		s.base -= len(lent)
	}
	return lent
}

func (m *model) borrow(move *modelMove) {
	s := m.shards[move.lent.To]
	if slices.Contains(s.borrowed, move.lent.Move) {
		return
	}
	s.borrowed = append(s.borrowed, move.lent.Move)
	s.moves++
	if m.closed {
		return
	}
	s.stock = slices.AppendSeq(s.stock, move.lent.Numbers.Each())
	if s.base >= 0 {
		s.base += move.lent.Numbers.Count()
	}
}

// lose leaves the part of a shard that survives when Redis has forgotten it and it was restored.
func (m *model) lose(shard int, epoch int64) {
	s := m.shards[shard]
	for user, won := range s.won { // of others nothing is kept outside Redis
		s.tapped[user] = map[string]bool{}
		for drop := range won {
			s.tapped[user][drop] = true
		}
	}
	for user := range s.tapped {
		if len(s.won[user]) == 0 {
			delete(s.tapped, user)
		}
	}
	for _, move := range m.moves {
		if move.from == shard && s.lent[move.lent.Move] != "" && !move.written {
			move.void = true
			s.stock = slices.AppendSeq(s.stock, move.lent.Numbers.Each())
		}
	}
	s.base, s.lent, s.gone, s.moves = -1, map[string]string{}, len(s.order), max(s.moves, epoch)
}

func TestTheScriptsDoWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := 20
			if name == "in-process" {
				checks = 8 // its Lua is interpreted in this process, which is slow
			}
			property.Check(t, checks, func(rt *rapid.T) {
				shards := rapid.IntRange(1, 3).Draw(rt, "shards")
				s := grabtest.Setup{
					Shards: shards, Packets: rapid.SampledFrom([]int{3, 10, 30, 400}).Draw(rt, "packets"),
					Split: rain.DoubleMean, Wins: rapid.SampledFrom([]int{1, 2, 3, 8, 1_000}).Draw(rt, "wins"),
					Taps: rapid.SampledFrom([]int{0, 0, 1, 3, 25}).Draw(rt, "taps"),
				}
				m := &model{open: true, wins: s.Wins, taps: s.Taps}
				// A part of the time that no number of packets makes whole, of a rain so long that the test is no
				// part of it.
				if m.pace = rapid.SampledFrom([]float64{0, 0, 0.37023, 0.90007}).Draw(rt, "pace"); m.pace > 0 {
					s.Rain = func(r *rain.Rain) {
						const years = 10_000_000_000_000
						r.DurationMS, r.Pacing = years, rain.PacingEven
						r.StartsAt += 10_000 - int64(m.pace*years)
					}
				}
				p := &playing{t: t, rt: rt, gm: grabtest.New(t, rdb, s), m: m}
				for shard := range shards {
					first, n := rain.ShardRange(s.Packets, shards, shard)
					one := &modelShard{base: -1, won: map[string]map[string]outcome.Result{},
						tapped: map[string]map[string]bool{}, lent: map[string]string{}}
					for packet := range n {
						one.stock = append(one.stock, first+packet)
					}
					m.shards = append(m.shards, one)
					p.scripts = append(p.scripts, grabtest.ScriptOf(p.gm, shard))
					var users []string
					for _, name := range []string{"a", "b b", "张三", ";", "0.0=1=1", "1 1 1 1", "."} {
						for rain.HomeShard(name, shards) != shard {
							name += "'"
						}
						users = append(users, name)
					}
					p.users = append(p.users, users)
				}
				rt.Repeat(p.actions())
			})
		})
	}
}
