package grab_test

import (
	"strconv"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// beatDrops returns the drops of the first beat that stays in the air for a while, by kind.
func beatDrops(t *testing.T, gm *grabtest.Game) (ticket rain.Ticket, packets, decoys []string) {
	t.Helper()
	r, now := gm.C.Current(), gm.Options.Clock()
	first := r.FirstWave + (now-r.StartsAt-r.FallMS/2)/rain.WaveMS
	beat := r.Beat(first) + 1
	for n := first; r.Beat(n) <= beat; n++ {
		if r.Beat(n) < beat {
			continue
		}
		for _, d := range r.Wave(n).Drops {
			id := rain.DropID{N: n, K: d.K}
			if ticket = r.TicketOf(id); d.Kind == rain.Decoy {
				decoys = append(decoys, id.String())
			} else {
				packets = append(packets, id.String())
			}
		}
	}
	return ticket, packets, decoys
}

func drawingGame(t *testing.T, rdbOf grabtest.Setup) grabtest.Setup {
	t.Helper()
	rdbOf.Rain = func(r *rain.Rain) {
		r.Odds, r.BeatMS, r.DecoyPercent, r.FallMS = rain.OddsOne/4, 1_000, 30, 20_000
	}
	return rdbOf
}

// A player has one draw in a beat, on any node. A player without luck costs Redis nothing. All others get the script's
// result.
func TestOneDrawInABeat(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, drawingGame(t, grabtest.Setup{Packets: 1_000, Wins: 10, Shards: 3}))
		other := gm.Node().Gate(gm.C)
		r := gm.C.Current()
		ticket, packets, decoys := beatDrops(t, gm)
		for i := range 40 {
			user := "player " + strconv.Itoa(i)
			gm.Want(user, decoys[0], outcome.Empty) // takes no draw
			if !r.Lucky(user, ticket) {
				for _, drop := range packets[:3] {
					gm.Want(user, drop, outcome.Empty)
					gm.WantOn(other, user, drop, outcome.Empty)
				}
				continue
			}
			won := gm.Want(user, packets[1], outcome.Won)
			gm.Want(user, packets[0], outcome.Empty) // the draw is taken
			gm.Want(user, packets[2], outcome.Empty)
			gm.Want(user, decoys[1], outcome.Empty)
			testenv.Equal(t, gm.Want(user, packets[1], outcome.Won), won, "%s won, and asked again", user)
			testenv.Equal(t, grabtest.TapOn(other, user, packets[1]), won,
				"%s won, and asked again on another node", user)
			if r := grabtest.TapOn(other, user, packets[2]); r.Outcome == outcome.Won && r != won ||
				r.Outcome != outcome.Won && r.Outcome != outcome.Empty {
				t.Errorf("%s has won twice in a beat: %v and %v", user, won, r)
			}
			gm.WantOn(other, user, decoys[1], outcome.Empty)
		}
		for _, w := range gm.Wins() {
			testenv.Equal(t, w.Drop, ticket.String(), "%s has won with", w.User)
		}
		gm.Balance()
	})
}

// A new node knows a player's earlier wins by their beats.
func TestAWinOfABeatIsRemembered(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), drawingGame(t, grabtest.Setup{Packets: 100, Wins: 10}))
	ticket, packets, decoys := beatDrops(t, gm)
	user := ""
	for i := 0; user == ""; i++ {
		if one := "p" + strconv.Itoa(i); gm.C.Current().Lucky(one, ticket) {
			user = one
		}
	}
	won := gm.Want(user, packets[0], outcome.Won)
	fresh := gm.Node().Gate(gm.C)
	win := rain.Win{User: user, Packet: won.Packet, Amount: won.Amount, Drop: ticket.String()}
	fresh.Remember(user, []rain.Win{win})
	fresh.SoldOut(rain.LanePlayers)
	testenv.Equal(t, grabtest.TapOn(fresh, user, packets[0]), won, "a win asked for again")
	testenv.Equal(t, grabtest.TapOn(fresh, user, decoys[0]).Outcome, outcome.Empty, "a decoy of the beat is")
	if !fresh.Settled(user, win) || fresh.Settled(user, win) {
		t.Error("a settlement is news once")
	}
}

// The storm shrinks by the odds: of the taps of one beat, Redis sees the lucky ones only.
func TestRedisSeesTheLuckyOnly(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, drawingGame(t, grabtest.Setup{Packets: 10_000, Wins: 10}))
	ticket, packets, _ := beatDrops(t, gm)
	gm.Tap("first", gm.Drop(0)) // the script is loaded
	counted := grabtest.CountCalls(rdb)
	const players = 1_000
	lucky := 0
	for i := range players {
		user := "p" + strconv.Itoa(i)
		if gm.C.Current().Lucky(user, ticket) {
			lucky++
		}
		for _, drop := range packets[:4] {
			gm.Tap(user, drop)
		}
	}
	if n := counted.Of("evalsha"); n != lucky || lucky < players/5 || lucky > players*3/10 {
		t.Errorf("%d taps of %d players made %d calls; %d were lucky at odds of a quarter", 4*players, players, n,
			lucky)
	}
}

// New odds change beats to come, and nothing that this node remembers.
func TestOddsThatAreSetLater(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 1_000, Wins: 10, Rain: func(r *rain.Rain) {
		r.Odds, r.BeatMS, r.FallMS, r.OddsRecord = rain.OddsAuto, 1_000, 20_000, "0:1"
	}})
	ticket, packets, _ := beatDrops(t, gm)
	gm.Want("p", packets[0], outcome.Empty)
	gm.C = gm.C.Clone()
	r := gm.C.Current()
	r.OddsRecord += rain.OddsRecord(" " + strconv.FormatInt(r.Beat(ticket.N), 10) + ":1000000000")
	gm.Apply()
	gm.Gate.Update(gm.C)
	gm.Want("p", packets[0], outcome.Empty) // the first result stays
	gm.Want("q", packets[0], outcome.Won)
}
