package grab

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"redrain/rain"
)

func TestARestoredShardGoesOn(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 40, shards: 2, wins: 2, taps: 3, split: rain.DoubleMean})
			told := map[string]Result{}
			for p := range 12 {
				user := fmt.Sprint("player ", p)
				told[user] = gm.want(user, gm.drop(p%3), Won)
			}
			before, wins := gm.levels(), [][]known{gm.known(0), gm.known(1)}
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || got != nil {
				t.Errorf("lost %v (%v), want nothing", got, err)
			}
			gm.lose()
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || !slices.Equal(got, []int{0, 1}) {
				t.Errorf("lost %v (%v), want both", got, err)
			}
			future := fmt.Sprintf("%d-7", gm.options.Clock()+3_600_000) // another node's clock was ahead
			for shard := range 2 {
				r := gm.restoration(shard, wins[shard])
				r.Barrier = future
				if err := gm.g.Restore(t.Context(), gm.c, shard, r); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || got != nil {
				t.Errorf("restored, and lost %v (%v)", got, err)
			}
			gm.gone = len(told)
			gm.balance()
			if l := gm.levels(); l != before {
				t.Errorf("levels %+v, before %+v", l, before)
			}
			snap, err := gm.g.Snapshot(t.Context(), gm.c)
			if err != nil || snap[0].LastEntry != future || snap[0].Entries != nil || gm.pending() != 0 {
				t.Errorf("snapshot %+v, %v", snap, err)
			}
			// Without a rain nothing is won; the campaign's version, which is older than the loss, brings it.
			node := gm.node().Gate(gm.c)
			if r := tapOn(node, "new", gm.drop(0)); r.Outcome != NotOpen {
				t.Errorf("before its version is applied: %v", r)
			}
			if err := gm.g.Apply(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			for _, k := range slices.Concat(wins...) {
				if again := tapOn(node, k.win.User, k.win.Drop); again != told[k.win.User] {
					t.Errorf("%s has %v again, was told %v", k.win.User, again, told[k.win.User])
				}
			}
			// One win more for each, and one tap more that wins nothing is left of three.
			for user := range told {
				r := tapOn(node, user, gm.drop(5))
				if r.Outcome != Won {
					t.Errorf("%s: the second win: %v", user, r)
				}
				if r := tapOn(gm.node().Gate(gm.c), user, gm.drop(6)); r.Outcome != Already {
					t.Errorf("%s: a third win: %v", user, r)
				}
			}
			for _, e := range gm.outbox() {
				if !above(t, e.Ref, future) {
					t.Errorf("entry %s is not above %s", e.Ref, future)
				}
				for _, w := range e.Wins {
					if slices.ContainsFunc(slices.Concat(wins...),
						func(k known) bool { return k.win.Packet == w.Packet }) {
						t.Errorf("packet %d was given twice", w.Packet)
					}
				}
			}
			gm.balance()
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil {
				t.Fatal(err)
			}
			gm.balance()
		})
	}
}

// above tells whether an entry's id is above another id.
func above(t *testing.T, ref rain.EntryRef, id string) bool {
	t.Helper()
	ms, seq, err := ref.Position()
	if err != nil {
		t.Fatal(err)
	}
	ms2, seq2, err := rain.EntryRef{ID: id}.Position()
	if err != nil {
		t.Fatal(err)
	}
	return ms > ms2 || (ms == ms2 && seq > seq2)
}

func TestAClosedShardIsRestoredClosed(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10})
			stale, drop := gm.c.Clone(), gm.drop(0)
			first := gm.want("p", drop, Won)
			if err := gm.c.Close(gm.options.Clock()); err != nil {
				t.Fatal(err)
			}
			gm.apply()
			wins, before := gm.known(0), gm.levels()
			gm.lose()
			r := gm.restoration(0, wins)
			r.Closed = true
			if err := gm.g.Restore(t.Context(), gm.c, 0, r); !errors.Is(err, errRestoration) {
				t.Errorf("closed, with a stock: %v", err)
			}
			r.Stock, r.Packets, r.Left = nil, 0, 0
			if err := gm.g.Restore(t.Context(), gm.c, 0, r); err != nil {
				t.Fatal(err)
			}
			if l := gm.levels(); l != before {
				t.Errorf("levels %+v, before %+v", l, before)
			}
			if r := tapOn(gm.node().Gate(stale), "p", drop); r != first {
				t.Errorf("the win again: %v, want %v", r, first)
			}
			if r := tapOn(gm.node().Gate(stale), "q", drop); r.Outcome != NotOpen {
				t.Errorf("another one: %v", r)
			}
			if err := gm.g.CloseCampaign(t.Context(), gm.c); err != nil || gm.pending() != 0 {
				t.Errorf("closed again: %v, %d entries", err, gm.pending())
			}
			newer := stale.Clone()
			newer.Revision += 100
			if err := gm.g.Apply(t.Context(), newer); err != nil ||
				tapOn(gm.node().Gate(stale), "q", drop).Outcome != NotOpen {
				t.Errorf("a version has opened it (%v)", err)
			}
			if err := gm.g.Open(t.Context(), stale, gm.amounts); !errors.Is(err, ErrClosed) {
				t.Errorf("loading it: %v", err)
			}
		})
	}
}

// A loading that Redis remembers by half, of a campaign that is open, is a loss too.
func TestAHalfRememberedLoadingIsRestored(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 10, notOpen: true})
			k := gm.g.keys.shard(gm.c.ID, 0)
			if err := gm.g.scripts.open.Run(t.Context(), rdb, k.loading(), "load", 0, 10, 0, 7, 7).Err(); err != nil {
				t.Fatal(err)
			}
			if got, err := gm.g.Lost(t.Context(), gm.c); err != nil || !slices.Equal(got, []int{0}) {
				t.Errorf("lost %v, %v", got, err)
			}
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, nil)); err != nil {
				t.Fatal(err)
			}
			if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err != nil { // loads nothing on top
				t.Error(err)
			}
			gm.balance()
			gm.letItRain(nil)
			gm.gate = gm.g.Gate(gm.c)
			gm.want("p", gm.drop(0), Won)
		})
	}
}

func TestAHundredThousandPacketsAreRestored(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			const packets = 100_000
			gm := newGame(t, rdb, setup{packets: packets, split: rain.DoubleMean, wins: 5, taps: 40, noRain: true})
			drop, wins := gm.anyDrops(), make([]known, 0, packets/2)
			for p := 0; p < packets; p += 2 { // every other packet, some players with up to five
				user := fmt.Sprint("player ", p/2%11_000)
				wins = append(wins, known{
					rain.Win{User: user, Packet: p, Amount: gm.amounts[p], Drop: drop[p/22_000]},
					rain.EntryRef{ID: fmt.Sprintf("%d-%d", 1_763_712_000_000+p, p%3)},
				})
			}
			gm.lose()
			began := time.Now()
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d packets in %v", packets, time.Since(began))
			gm.gone = len(wins)
			gm.balance()
			for i := range wins {
				wins[i].entry.Campaign = gm.c.ID
			}
			if got := gm.known(0); !slices.Equal(got, wins) {
				t.Errorf("%d wins, want the %d that were restored", len(got), len(wins))
			}
			gm.letItRain(nil)
			gm.gate = gm.g.Gate(gm.c)
			if r := gm.want("new", gm.drop(0), Won); r.Packet != 1 {
				t.Errorf("%v, want the first packet that nobody has won", r)
			}
			gm.balance()
		})
	}
}

// A restored player has all wins in one field, however many they are; the next win puts them into a block.
func TestAThousandWinsOfAPlayerAreRestored(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			const before = 1_000
			gm := newGame(t, rdb, setup{packets: 2 * before, wins: 2 * before, noRain: true})
			wins := make([]known, before)
			for p := range wins {
				wins[p] = known{
					rain.Win{User: "p", Packet: p, Amount: gm.amounts[p],
						Drop: rain.DropID{N: int64(p), K: 7}.String()},
					rain.EntryRef{ID: fmt.Sprintf("%d-0", 1_763_712_000_000+p)},
				}
			}
			gm.lose()
			if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, wins)); err != nil {
				t.Fatal(err)
			}
			gm.gone = len(wins)
			gm.letItRain(nil)
			gm.gate = gm.g.Gate(gm.c)
			for i := range 3 {
				if r := gm.want("p", gm.drop(i), Won); r.Packet != before+i {
					t.Errorf("%v, want the first packet that nobody has won", r)
				}
			}
			script := &batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}
			for _, p := range []int{0, 1, before / 2, before - 1} { // as from another node, which remembers nothing
				if err := script.call(t.Context(), []*Tap{tapOf("p", wins[p].win.Drop)}); err != nil {
					t.Fatal(err)
				}
				if r := script.answer.results[0]; r.Outcome != Won || r.Packet != p {
					t.Errorf("the win of packet %d, asked for again: %v", p, r)
				}
			}
			gm.balance()
		})
	}
}

// anyDrops are some names of drops.
func (gm *game) anyDrops() (names []string) {
	for n := range int64(5) {
		names = append(names, rain.DropID{N: n, K: 1}.String())
	}
	return names
}

func TestRestockedForgetsThatAShardWasSoldOut(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{packets: 1})
	gm.want("p", gm.drop(0), Won)
	gm.want("q", gm.drop(0), SoldOut)
	gm.lose()
	if err := gm.g.Restore(t.Context(), gm.c, 0, gm.restoration(0, nil)); err != nil {
		t.Fatal(err)
	}
	gm.apply()
	gm.want("r", gm.drop(0), SoldOut)
	gm.gate.Restocked()
	gm.want("s", gm.drop(0), Won)
	gm.want("t", gm.drop(0), SoldOut)
}
