package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// model is what grab.lua has to do, told a second time and in the plainest way.
type model struct {
	open       bool
	wins, taps int // allowed to a player; taps 0: no limit
	stock      []rain.Money
	first      int // number of the packet at the head of the stock
	won        map[string]map[string]outcome.Result
	tapped     map[string]map[string]bool // the drops that were counted
}

func (m *model) tap(user, drop string) outcome.Result {
	if m.won[user] == nil {
		m.won[user], m.tapped[user] = map[string]outcome.Result{}, map[string]bool{}
	}
	if r, ok := m.won[user][drop]; ok {
		return r
	}
	switch {
	case !m.open:
		return outcome.Result{Outcome: outcome.NotOpen}
	case len(m.won[user]) >= m.wins:
		return outcome.Result{Outcome: outcome.Already}
	case m.taps > 0 && !m.tapped[user][drop] && len(m.tapped[user]) >= m.taps:
		return outcome.Result{Outcome: outcome.Limited}
	}
	m.tapped[user][drop] = true
	if len(m.stock) == 0 {
		return outcome.Result{Outcome: outcome.SoldOut}
	}
	r := outcome.Result{Outcome: outcome.Won, Packet: m.first, Amount: m.stock[0]}
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

func someone(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b b", "张三", ";", "0.0=1=1", "1 1 1 1"}).Draw(rt, "user")
}

// board ranks the players, whose totals are known.
func board(gm *grabtest.Game, rt *rapid.T, totals map[string]rain.Money) {
	users := slices.Sorted(maps.Keys(totals))
	if len(users) == 0 {
		return
	}
	if err := gm.G.Rank(gm.T.Context(), []store.Winners{{gm.C.ID, 0, users}}); err != nil {
		rt.Fatal(err)
	}
	top, err := gm.G.Top(gm.T.Context(), gm.C)
	if err != nil {
		rt.Fatal(err)
	}
	for _, r := range top {
		if totals[r.User] != r.Amount {
			rt.Fatalf("%s has %d on the board, by the model %d", r.User, r.Amount, totals[r.User])
		}
		delete(totals, r.User)
	}
	if len(totals) > 0 {
		rt.Fatalf("%v are not on the board", totals)
	}
}

func TestTheScriptDoesWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	rdb := grabtest.Connect(t, testenv.Redis(t))
	rapid.Check(t, func(rt *rapid.T) {
		s := grabtest.Setup{
			Packets: rapid.SampledFrom([]int{1, 10, 30, 400}).Draw(rt, "packets"), Split: rain.DoubleMean,
			Wins: rapid.SampledFrom([]int{1, 2, 3, 4, 8, 9, 30, 1_000}).Draw(rt, "wins"), // more than 8 make blocks
			Taps: rapid.SampledFrom([]int{0, 0, 1, 3, 6, 25}).Draw(rt, "taps"),
		}
		gm := grabtest.New(t, rdb, s)
		m := &model{
			open: true, wins: s.Wins, taps: s.Taps, stock: gm.Amounts,
			won: map[string]map[string]outcome.Result{}, tapped: map[string]map[string]bool{},
		}
		script := gm.Script()
		var taps []*grabtest.Tap
		var want []outcome.Result
		add := func(user, drop string) {
			taps, want = append(taps, grabtest.TapOf(t, user, drop)), append(want, m.tap(user, drop))
		}
		decide := func(rt *rapid.T) {
			if len(taps) == 0 {
				return
			}
			if err := script.Call(t.Context(), taps); err != nil {
				rt.Fatal(err)
			}
			if a := script.Answer; fmt.Sprint(a.Results) != fmt.Sprint(want) || int(a.Left) != len(m.stock) {
				rt.Fatalf("the script says\n%v, %d left\nand the model\n%v, %d left", a.Results, a.Left, want,
					len(m.stock))
			}
			taps, want = nil, nil
		}
		rt.Repeat(map[string]func(*rapid.T){
			"taps": func(rt *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(rt, "size") {
					add(someone(rt), rapid.SampledFrom([]string{"0.0", "1.0", "0.1", "10.0", "1.1", "0.10"}).Draw(rt,
						"drop"))
				}
				decide(rt)
			},
			"a hungry player": func(rt *rapid.T) { // fills blocks, with waves that go up, down and back
				user, wave, up := someone(rt), rapid.IntRange(0, 40).Draw(rt, "wave"),
					rapid.IntRange(-1, 2).Draw(rt, "up")
				for i := range rapid.IntRange(8, 20).Draw(rt, "taps") {
					add(user, fmt.Sprintf("%d.%d", max(0, wave+i*up), i%3))
					if rapid.Bool().Draw(rt, "alone") {
						decide(rt)
					}
				}
				decide(rt)
			},
			"what was won before": func(rt *rapid.T) {
				user := someone(rt)
				for _, drop := range slices.Sorted(maps.Keys(m.won[user])) {
					add(user, drop)
				}
				decide(rt)
			},
			"pause or resume": func(*rapid.T) {
				m.open = !m.open
				gm.C.Status = map[bool]rain.Status{true: rain.Open, false: rain.Paused}[m.open]
				gm.Apply()
			},
			"lose all and restore it": func(*rapid.T) {
				wins := gm.Known(0)
				gm.Lose()
				if err := gm.G.Restore(t.Context(), gm.C, 0, gm.Restoration(0, wins)); err != nil {
					rt.Fatal(err)
				}
				gm.Apply()
				gm.Gone = len(wins)
				m.forgetTaps()
			},
			"": func(rt *rapid.T) {
				won := 0
				totals := map[string]rain.Money{}
				for user, wins := range m.won {
					won += len(wins)
					got, err := gm.Held(user)
					if err != nil || len(got) != len(wins) {
						rt.Fatalf("%s has won %v (%v), by the model %v", user, got, err, wins)
					}
					if !slices.IsSortedFunc(got, func(a, b rain.Win) int { return a.Packet - b.Packet }) {
						rt.Fatalf("%s has won %v; that is not the order", user, got)
					}
					for _, w := range got {
						totals[user] += w.Amount
						if wins[w.Drop] != (outcome.Result{Outcome: outcome.Won, Packet: w.Packet, Amount: w.Amount}) {
							rt.Fatalf("%s has won %v, by the model %v", user, w, wins)
						}
					}
				}
				if got := gm.Known(0); len(got) != won {
					rt.Fatalf("%d wins of all players, by the model %d", len(got), won)
				}
				board(gm, rt, totals)
				gm.Balance()
				if got := gm.Wins(); len(got)+gm.Gone != won || t.Failed() {
					rt.Fatalf("%d wins in the outbox and %d before, by the model %d", len(got), gm.Gone, won)
				}
			},
		})
	})
}
