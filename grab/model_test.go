package grab

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

// model is what grab.lua has to do, told a second time and in the plainest way.
type model struct {
	open       bool
	wins, taps int // allowed to a player; taps 0: no limit
	stock      []rain.Money
	first      int // number of the packet at the head of the stock
	won        map[string]map[string]Result
	tapped     map[string]map[string]bool // the drops that were counted
}

func (m *model) tap(user, drop string) Result {
	if m.won[user] == nil {
		m.won[user], m.tapped[user] = map[string]Result{}, map[string]bool{}
	}
	if r, ok := m.won[user][drop]; ok {
		return r
	}
	switch {
	case !m.open:
		return Result{Outcome: NotOpen}
	case len(m.won[user]) >= m.wins:
		return Result{Outcome: Already}
	case m.taps > 0 && !m.tapped[user][drop] && len(m.tapped[user]) >= m.taps:
		return Result{Outcome: Limited}
	}
	m.tapped[user][drop] = true
	if len(m.stock) == 0 {
		return Result{Outcome: SoldOut}
	}
	r := Result{Outcome: Won, Packet: m.first, Amount: m.stock[0]}
	m.first, m.stock = m.first+1, m.stock[1:]
	m.won[user][drop] = r
	return r
}

// forgetTaps leaves those that have won: of others nothing is kept outside Redis.
func (m *model) forgetTaps() {
	for user, won := range m.won {
		m.tapped[user] = map[string]bool{}
		for drop := range won {
			m.tapped[user][drop] = true
		}
	}
}

func TestTheScriptDoesWhatTheModelDoes(t *testing.T) {
	rdb := connect(t, testenv.Redis(t))
	rapid.Check(t, func(rt *rapid.T) {
		s := setup{
			packets: rapid.IntRange(1, 30).Draw(rt, "packets"), split: rain.DoubleMean,
			wins: rapid.IntRange(1, 4).Draw(rt, "wins"), taps: rapid.IntRange(0, 6).Draw(rt, "taps"),
		}
		gm := newGame(t, rdb, s)
		m := &model{
			open: true, wins: s.wins, taps: s.taps, stock: gm.amounts,
			won: map[string]map[string]Result{}, tapped: map[string]map[string]bool{},
		}
		script := &batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}
		rt.Repeat(map[string]func(*rapid.T){
			"taps": func(rt *rapid.T) {
				var taps []*Tap
				var want []Result
				for range rapid.IntRange(1, 12).Draw(rt, "size") {
					user := rapid.SampledFrom([]string{"a", "b b", "张三", ";", "0.0=1=1"}).Draw(rt, "user")
					drop := rapid.SampledFrom([]string{"0.0", "1.0", "0.1", "10.0", "1.1", "0.10"}).Draw(rt, "drop")
					taps = append(taps, &Tap{User: user, text: drop})
					want = append(want, m.tap(user, drop))
				}
				if err := script.call(t.Context(), taps); err != nil {
					rt.Fatal(err)
				}
				if a := script.answer; fmt.Sprint(a.results) != fmt.Sprint(want) || int(a.stock) != len(m.stock) {
					rt.Fatalf("the script says\n%v, %d left\nand the model\n%v, %d left", a.results, a.stock, want, len(m.stock))
				}
			},
			"pause or resume": func(*rapid.T) {
				m.open = !m.open
				gm.c.Status = map[bool]rain.Status{true: rain.Open, false: rain.Paused}[m.open]
				gm.apply()
			},
			"lose all and restore it": func(*rapid.T) {
				wins := gm.known(0)
				gm.lose()
				if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
					rt.Fatal(err)
				}
				gm.apply()
				gm.gone = len(wins)
				m.forgetTaps()
			},
			"": func(rt *rapid.T) {
				won := 0
				for user, wins := range m.won {
					won += len(wins)
					got, err := gm.g.wins(t.Context(), gm.c, user)
					if err != nil || len(got) != len(wins) {
						rt.Fatalf("%s has won %v (%v), by the model %v", user, got, err, wins)
					}
					for _, w := range got {
						if wins[w.Drop] != (Result{Won, w.Packet, w.Amount}) {
							rt.Fatalf("%s has won %v, by the model %v", user, w, wins)
						}
					}
				}
				gm.balance()
				if got := gm.wins(); len(got)+gm.gone != won || t.Failed() {
					rt.Fatalf("%d wins in the outbox and %d before, by the model %d", len(got), gm.gone, won)
				}
			},
		})
	})
}
