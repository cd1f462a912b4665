package store_test

import (
	"strconv"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestAWinIsGivenAgain(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 2})
		drop := gm.Drop(0)
		first := gm.Want("张三", drop, outcome.Won)
		again := func(when string, gate *grabtest.Gate) {
			t.Helper()
			testenv.Equal(t, grabtest.TapOn(gate, "张三", drop), first, "%s", when)
		}
		again("on the same node", gm.Gate)
		again("on another node", gm.Node().Gate(gm.C))

		gm.Want("other", drop, outcome.Won)
		gm.Want("third", drop, outcome.SoldOut) // with one shard, empty is sold out
		again("sold out, on the same node", gm.Gate)
		again("sold out, on another node", gm.Node().Gate(gm.C))

		// The other nodes get no notice from here on, so that the script has to report it.
		stale := gm.C.Clone()
		gm.C.Status = rain.Paused
		gm.Apply()
		again("paused", gm.Node().Gate(stale))
		gm.C.Rains[0].StoppedAt = gm.Options.Clock()
		gm.Apply()
		again("the rain was stopped", gm.Node().Gate(stale))
		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		again("closed", gm.Node().Gate(stale))

		node := gm.Node().Gate(stale)
		node.Remember("张三", []rain.Win{{User: "张三", Packet: first.Packet, Amount: first.Amount, Drop: drop}})
		counted := grabtest.CountCalls(rdb)
		again("told at the join", node)
		testenv.Equal(t, counted.Of("evalsha"), 0, "calls for what the node knows")
		gm.Balance()
	})
}

func TestTapsAreCounted(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		paced := grabtest.New(t, rdb, grabtest.Setup{Taps: 3, Rain: func(r *rain.Rain) {
			// 1 s of 600: nothing of ten packets is released
			r.StartsAt, r.Pacing = r.StartsAt+9_000, rain.PacingEven
		}})
		for i := range 3 {
			paced.Want("q", paced.Drop(i), outcome.Empty)
		}
		// A tap that is repeated elsewhere is not counted again, nor refused.
		paced.WantOn(paced.Node().Gate(paced.C), "q", paced.Drop(0), outcome.Empty)
		limited := paced.Drop(3)
		paced.Want("q", limited, outcome.Limited)
		counted := grabtest.CountCalls(rdb)
		paced.Want("q", limited, outcome.Limited)
		paced.Want("q", paced.Drop(0), outcome.Empty)
		testenv.Equal(t, counted.Of("evalsha"), 0, "calls for results that are remembered")
		// The limit of taps is over all rains.
		paced.LetItRain(nil)
		paced.Gate.Update(paced.C)
		paced.Want("q", paced.Drop(0), outcome.Limited)
	})
}

func TestPacingReleasesTheStockOverTime(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		// Half of the rain's time has passed without a tap. So 50 of 100 packets may go, and one more each six seconds.
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Rain: func(r *rain.Rain) {
			r.StartsAt, r.Pacing = r.StartsAt+10_000-300_000, rain.PacingEven
		}})
		won := 0
		for p := range 80 {
			switch r := gm.Tap("u"+strconv.Itoa(p), gm.Drop(0)); r.Outcome {
			case outcome.Won:
				won++
			case outcome.Empty:
			default:
				t.Fatalf("tap %d: %v", p, r)
			}
		}
		if won < 50 || won > 52 {
			t.Errorf("%d packets went in half of the time, want 50", won)
		}

		// The next rain begins with the rest.
		left := 100 - won
		// a tenth
		gm.LetItRain(func(r *rain.Rain) { r.StartsAt, r.Pacing = r.StartsAt+10_000-60_000, rain.PacingEven })
		gm.Gate.Update(gm.C)
		won = 0
		for p := range 20 {
			if gm.Tap("v"+strconv.Itoa(p), gm.Drop(0)).Outcome == outcome.Won {
				won++
			}
		}
		if want := left / 10; won < want || won > want+1 {
			t.Errorf("%d of %d packets went in a tenth of the next rain", won, left)
		}
		gm.Balance()
	})
}

// If luck decides, the pacing runs ahead of a beat's beginning, by four beats and a tenth of the rain. So the moment of
// a draw in its beat makes no difference.
func TestPacingIsAheadOfDraws(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		// 600 s in beats of ten. The eleventh beat began a while ago. The packets of 100 s, 40 s and 60 s may go, a
		// third.
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 90, Rain: func(r *rain.Rain) {
			r.StartsAt, r.Pacing = r.StartsAt+10_000-102_000, rain.PacingEven
			r.Odds, r.BeatMS = rain.OddsOne-1, 10_000
		}})
		won := 0
		for p := range 60 {
			switch r := gm.Tap("u"+strconv.Itoa(p), gm.Drop(0)); r.Outcome {
			case outcome.Won:
				won++
			case outcome.Empty:
			default:
				t.Fatalf("tap %d: %v", p, r)
			}
		}
		testenv.Equal(t, won, 30, "packets that went, of 90")
		gm.Balance()
	})
}

func TestTheScriptRefusesWhatANodeLetsThrough(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		for name, change := range map[string]func(gm *grabtest.Game){
			"paused":          func(gm *grabtest.Game) { gm.C.Status = rain.Paused },
			"stopped":         func(gm *grabtest.Game) { gm.C.Rains[0].StoppedAt = gm.Options.Clock() },
			"over":            func(gm *grabtest.Game) { gm.C.Rains[0].StartsAt -= 700_000 },
			"not yet":         func(gm *grabtest.Game) { gm.C.Rains[0].StartsAt = gm.Options.Clock() + 3_000 },
			"without a rain":  func(gm *grabtest.Game) { gm.C.Rains = nil },
			"closed for good": func(gm *grabtest.Game) { gm.C.Status = rain.Closed },
		} {
			t.Run(name, func(t *testing.T) {
				gm := grabtest.New(t, rdb, grabtest.Setup{})
				drop, before := gm.Drop(0), *gm.C.Current()
				stale := gm.Gate // receives no notices
				gm.C = gm.C.Clone()
				change(gm)
				gm.Apply()
				gm.WantOn(stale, "p", drop, outcome.NotOpen)
				// It is not remembered: the next version may be another.
				if name != "closed for good" {
					gm.C.Status, gm.C.Rains = rain.Open, []rain.Rain{before}
					gm.Apply()
					gm.WantOn(stale, "p", drop, outcome.Won)
				}
				gm.Balance()
			})
		}
	})
}

// The largest budget and the largest numbers there may be: Lua's own way to write numbers would round some.
func TestNumbersAndAmountsAreExact(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{Packets: rain.MaxPackets, Budget: rain.MaxBudget - 1, Shards: 2,
			Split: rain.DoubleMean})
		lent, err := gm.G.Lend(t.Context(), gm.C.ID, 1, 0, "m", rain.MaxPackets)
		if err != nil || lent == nil || lent.Numbers.Count() != rain.MaxPackets/2 {
			t.Fatal(lent, err)
		}
		testenv.Must(t, testenv.Err(gm.G.Borrow(t.Context(), gm.C.ID, *lent)))
		gm.Balance()
		testenv.Must(t, testenv.Err(gm.G.Lend(t.Context(), gm.C.ID, 0, 1, "n", rain.MaxPackets-2)))
		gm.Balance()
		user := ofShard(0, 2)
		if r := gm.Want(user, gm.Drop(0), outcome.Won); r.Packet != 0 || r.Amount != gm.Amounts.Of(0) {
			t.Errorf("won %+v", r)
		}
		gm.Balance()
		testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
		gm.Balance()
	})
}

// ofShard is a player whose home a shard is.
func ofShard(shard, shards int) string {
	user := "p"
	for rain.HomeShard(user, shards) != shard {
		user += "p"
	}
	return user
}

// TestARainBeginsALittleEarly: the script takes taps a quarter of a second before the start by Redis's clock, because
// the nodes' clocks differ a little. It takes none seconds before the start.
func TestARainBeginsALittleEarly(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		for startsInMS, want := range map[int64]outcome.Outcome{
			200: outcome.Won, 3_000: outcome.NotOpen,
		} {
			gm := grabtest.New(t, rdb, grabtest.Setup{NoRain: true})
			gm.LetItRain(func(r *rain.Rain) { r.StartsAt = gm.Options.Clock() + startsInMS })
			testenv.Equal(t, gm.BatchOf([2]string{"u", "0.0"})[0].Outcome, want, "%d ms before the start", startsInMS)
		}
	})
}
