package grab

import (
	"context"
	"strconv"
	"testing"

	"redrain/rain"
)

func TestAWinIsGivenAgain(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 2})
			drop := gm.drop(0)
			first := gm.want("张三", drop, Won)
			again := func(when string, gate *Gate) {
				t.Helper()
				if r := tapOn(gate, "张三", drop); r != first {
					t.Errorf("%s: %v, want %v", when, r, first)
				}
			}
			again("on the same node", gm.gate)
			again("on another node", gm.node().Gate(gm.c))

			gm.want("other", drop, Won)
			gm.want("third", drop, SoldOut)
			again("sold out, on the same node", gm.gate)
			again("sold out, on another node", gm.node().Gate(gm.c))

			// The other nodes have not heard what happens from here on, so that the script has to say it.
			stale := gm.c.Clone()
			gm.c.Status = rain.Paused
			gm.apply()
			again("paused", gm.node().Gate(stale))
			gm.c.Rains[0].StoppedAt = gm.options.Clock()
			gm.apply()
			again("the rain was stopped", gm.node().Gate(stale))
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			again("closed", gm.node().Gate(stale))

			node := gm.node().Gate(stale)
			node.Remember("张三", []rain.Win{{User: "张三", Packet: first.Packet, Amount: first.Amount, Drop: drop}})
			counted := countCalls(rdb)
			again("told at the join", node)
			if n := counted.of("evalsha"); n != 0 {
				t.Errorf("what the node knows cost %d calls", n)
			}
			gm.balance()
		})
	}
}

func TestTapsAreCounted(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{wins: 2, taps: 3})
			gm.want("p", gm.drop(0), Won)
			gm.want("p", gm.drop(1), Won)
			if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(1)); r.Outcome != Won {
				t.Errorf("a win asked for again: %v", r)
			}
			// Both wins are had: no further tap is counted.
			if r := tapOn(gm.node().Gate(gm.c), "p", gm.drop(2)); r.Outcome != Already {
				t.Errorf("%v, want already", r)
			}

			paced := newGame(t, rdb, setup{taps: 3, rain: func(r *rain.Rain) {
				// 1 s of 600: nothing of ten packets is released
				r.StartsAt, r.Pacing = r.StartsAt+9_000, rain.PacingEven
			}})
			for i := range 3 {
				paced.want("q", paced.drop(i), Empty)
			}
			// A tap that is repeated elsewhere is not counted again, nor refused.
			if r := tapOn(paced.node().Gate(paced.c), "q", paced.drop(0)); r.Outcome != Empty {
				t.Errorf("the same tap on another node: %v, want empty", r)
			}
			limited := paced.drop(3)
			paced.want("q", limited, Limited)
			counted := countCalls(rdb)
			paced.want("q", limited, Limited)
			paced.want("q", paced.drop(0), Empty)
			if n := counted.of("evalsha"); n != 0 {
				t.Errorf("results that are remembered cost %d calls", n)
			}
			// The allowance is over all rains.
			paced.letItRain(nil)
			paced.gate.Update(paced.c)
			paced.want("q", paced.drop(0), Limited)
		})
	}
}

func TestPacingReleasesTheStockOverTime(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			// Half of the rain's time has passed, in which nobody has tapped: 50 of 100 packets may go, one more
			// each six seconds.
			gm := newGame(t, rdb, setup{packets: 100, rain: func(r *rain.Rain) {
				r.StartsAt, r.Pacing = r.StartsAt+10_000-300_000, rain.PacingEven
			}})
			won := 0
			for p := range 80 {
				switch r := gm.tap("u"+strconv.Itoa(p), gm.drop(0)); r.Outcome {
				case Won:
					won++
				case Empty:
				default:
					t.Fatalf("tap %d: %v", p, r)
				}
			}
			if won < 50 || won > 52 {
				t.Errorf("%d packets went in half of the time, want 50", won)
			}

			// The next rain begins with what is left.
			left := 100 - won
			// a tenth
			gm.letItRain(func(r *rain.Rain) { r.StartsAt, r.Pacing = r.StartsAt+10_000-60_000, rain.PacingEven })
			gm.gate.Update(gm.c)
			won = 0
			for p := range 20 {
				if gm.tap("v"+strconv.Itoa(p), gm.drop(0)).Outcome == Won {
					won++
				}
			}
			if want := left / 10; won < want || won > want+1 {
				t.Errorf("%d of %d packets went in a tenth of the next rain", won, left)
			}
			gm.balance()
		})
	}
}

func TestTheScriptRefusesWhatANodeLetsThrough(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			for name, change := range map[string]func(gm *game){
				"paused":          func(gm *game) { gm.c.Status = rain.Paused },
				"stopped":         func(gm *game) { gm.c.Rains[0].StoppedAt = gm.options.Clock() },
				"over":            func(gm *game) { gm.c.Rains[0].StartsAt -= 700_000 },
				"not yet":         func(gm *game) { gm.c.Rains[0].StartsAt = gm.options.Clock() + 10_000 },
				"without a rain":  func(gm *game) { gm.c.Rains = nil },
				"closed for good": func(gm *game) { gm.c.Status = rain.Closed },
			} {
				t.Run(name, func(t *testing.T) {
					gm := newGame(t, rdb, setup{})
					drop := gm.drop(0)
					stale := gm.gate // hears of nothing
					gm.c = gm.c.Clone()
					change(gm)
					gm.apply()
					if r := tapOn(stale, "p", drop); r.Outcome != NotOpen {
						t.Errorf("%v, want not_open", r)
					}
					// It is not remembered: the next version may be another.
					if name != "closed for good" {
						gm.c.Status, gm.c.Rains = rain.Open, []rain.Rain{*stale.view.Load().rain}
						gm.apply()
						if r := tapOn(stale, "p", drop); r.Outcome != Won {
							t.Errorf("opened again: %v, want won", r)
						}
					}
					gm.balance()
				})
			}
		})
	}
}

// The largest budget there may be: Lua's own way to write numbers would round it.
func TestAmountsAreExact(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 3, budget: rain.MaxBudget - 1})
			first := gm.want("p", gm.drop(0), Won)
			if first.Amount != gm.amounts[first.Packet] || first.Amount < rain.MaxBudget/3-1 {
				t.Errorf("won %d, want %d", first.Amount, gm.amounts[first.Packet])
			}
			gm.balance()
			gm.want("q", gm.drop(0), Won)
			gm.balance()
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			gm.balance()
		})
	}
}

// wins is all that Redis knows a player to have won, confirmed or not.
func (g *Grabber) wins(ctx context.Context, c *rain.Campaign, user string) ([]rain.Win, error) {
	records, err := g.records(ctx, c, user)
	return winsOf(records), err
}
