package grab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"redrain/rain"
)

// A player who wins often has blocks; what was won is given again from wherever it is kept, and counts.
func TestManyWinsOfOnePlayer(t *testing.T) {
	const most = 90
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 4 * most, wins: most, split: rain.DoubleMean})
			script := &batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}
			tap := func(user string, drops ...string) []Result {
				t.Helper()
				taps := make([]*Tap, len(drops))
				for i, drop := range drops {
					taps[i] = tapOf(user, drop)
				}
				if err := script.call(t.Context(), taps); err != nil {
					t.Fatal(err)
				}
				return slices.Clone(script.answer.results)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for user, mixed := range map[string]int{"one after the other": 0, "here and there": 12, "all over": most} {
				drops := make([]string, most)
				for i := range drops {
					drops[i] = fmt.Sprintf("%d.%d", 100+i/2, i%2)
				}
				for i := range drops {
					j := min(most-1, i+random.IntN(mixed+1))
					drops[i], drops[j] = drops[j], drops[i]
				}
				var told []Result
				for len(told) < most {
					n := min(most-len(told), 1+random.IntN(3))
					told = append(told, tap(user, drops[len(told):len(told)+n]...)...)
					again := random.IntN(len(told))
					if r := tap(user, drops[again]); r[0] != told[again] || r[0].Outcome != Won {
						t.Fatalf("%s: after %d wins the one of drop %s is %v, was told %v", user, len(told),
							drops[again], r[0], told[again])
					}
				}
				if got := tap(user, drops...); !slices.Equal(got, told) {
					t.Errorf("%s: all again: %v, was told %v", user, got, told)
				}
				if r := tap(user, "7.7", "1000.0"); r[0].Outcome != Already || r[1].Outcome != Already {
					t.Errorf("%s: one more than allowed: %v", user, r)
				}
				gm.wantHeld(user, drops, told)
			}
			if got := gm.known(0); len(got) != 3*most {
				t.Errorf("%d wins in all", len(got))
			}
			gm.balance()
		})
	}
}

// wantHeld compares what is kept of a player with what the player was told.
func (gm *game) wantHeld(user string, drops []string, told []Result) {
	gm.t.Helper()
	wins, err := gm.g.wins(gm.t.Context(), gm.c, user)
	if err != nil || len(wins) != len(told) {
		gm.t.Fatalf("%s: %d wins, %v", user, len(wins), err)
	}
	for i, w := range wins {
		if want := (rain.Win{User: user, Packet: told[i].Packet, Amount: told[i].Amount, Drop: drops[i]}); w != want {
			gm.t.Errorf("%s: win %d is %v, want %v", user, i, w, want)
		}
	}
	if h := gm.holding(user); h.blocks < len(told)/12 || h.blocks > len(told)/7 || len(h.records) > 12 {
		gm.t.Errorf("%s: %d wins are in %d blocks, and %d in none", user, h.wins, h.blocks, len(h.records))
	}
}

// holding is what the player's own field holds, which is read for each of their taps.
func (gm *game) holding(user string) holding {
	gm.t.Helper()
	text, err := gm.rdb.HGet(gm.t.Context(), gm.g.keys.shard(gm.c.ID, 0).wins, user).Result()
	if err != nil {
		gm.t.Fatal(err)
	}
	h, err := parseHolding(user, text)
	if err != nil {
		gm.t.Fatal(err)
	}
	return h
}

// Where few wins are allowed the record is that of the versions before, which may run on other nodes.
func TestEightWinsMakeNoBlock(t *testing.T) {
	gm := newGame(t, inProcess(t), setup{packets: 20, wins: 8, budget: 20_000_000_000_000})
	script := &batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}
	for i := range 9 {
		if err := script.call(t.Context(), []*Tap{tapOf("p", fmt.Sprintf("123456789.%d", 100+i))}); err != nil {
			t.Fatal(err)
		}
	}
	if r := script.answer.results[0]; r.Outcome != Already {
		t.Errorf("the ninth: %v", r)
	}
	fields, err := gm.rdb.HGetAll(t.Context(), script.keys[2]).Result()
	if err != nil || len(fields) != 1 || strings.Count(fields["p"], ";") != 8 {
		t.Errorf("%q, %v", fields, err)
	}
	gm.wantAllowed("8")
}

// wantAllowed looks at how the state says how many wins are allowed: versions without blocks take nothing but a number.
func (gm *game) wantAllowed(want string) {
	gm.t.Helper()
	got, err := gm.rdb.HGet(gm.t.Context(), gm.g.keys.shard(gm.c.ID, 0).state, fieldWinsPerUser).Result()
	if err != nil || got != want {
		gm.t.Errorf("wins_per_user is %q (%v), want %q", got, err, want)
	}
}

// A campaign of a version without blocks goes on.
func TestALongRecordBecomesABlock(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 100, wins: 60})
			key := gm.g.keys.shard(gm.c.ID, 0).wins
			var told []Result
			var drops []string
			var text strings.Builder
			for i := range 50 {
				drops = append(drops, fmt.Sprintf("%d.0", (i*7)%50))
				told = append(told, Result{Won, 1_000 + i, 3})
				text.WriteString(record{rain.Win{Packet: 1_000 + i, Amount: 3, Drop: drops[i]},
					"1763712000000-0"}.text())
			}
			if err := rdb.HSet(t.Context(), key, "p", text.String()).Err(); err != nil {
				t.Fatal(err)
			}
			script := &batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}
			for i := range 11 {
				taps := []*Tap{tapOf("p", fmt.Sprintf("%d.1", 90-i*5)), tapOf("p", drops[i]), tapOf("p", drops[49-i])}
				if err := script.call(t.Context(), taps); err != nil {
					t.Fatal(err)
				}
				want := []Result{{Won, i, 100}, told[i], told[49-i]}
				if i == 10 {
					want[0] = Result{Outcome: Already}
				}
				if got := script.answer.results; !slices.Equal(got, want) {
					t.Errorf("%d: %v, want %v", i, got, want)
				}
			}
			gm.wantAllowed("60 in blocks") // on a node of that version nobody wins any more, which is better than twice
			if wins, err := gm.g.wins(t.Context(), gm.c, "p"); err != nil || len(wins) != 60 {
				t.Errorf("%d wins, %v", len(wins), err)
			}
		})
	}
}

// A win in a block is confirmed as any other when it is asked for again.
func TestAWinInABlockIsConfirmed(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, to := streaming(t, rdb, setup{packets: 40, wins: 30})
			drop := gm.drop(0)
			to.refuse(true)
			gm.want("p", drop, Unavailable)
			to.refuse(false)
			for i := range 19 {
				gm.batchOf([2]string{"p", fmt.Sprintf("%d.100", 1_000+i)})
			}
			if h := gm.holding("p"); h.blocks < 2 {
				t.Fatalf("%d blocks", h.blocks)
			}
			gm.want("p", drop, Won)
			if got := gm.confirmed("p"); len(got) != 20 {
				t.Errorf("%d wins may be told, want 20", len(got))
			}
			// What Redis has forgotten is not.
			if err := rdb.HDel(t.Context(), gm.g.keys.shard(gm.c.ID, 0).wins, "p\n1").Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := gm.g.ConfirmedWins(t.Context(), gm.c, "p"); err == nil {
				t.Error("a block is missing, and nobody says so")
			}
		})
	}
}

// A tap on a newer drop reads no block, also where the drop is of the same wave as those in the blocks; an older
// one reads it.
func TestANewerDropReadsNoBlock(t *testing.T) {
	for name, rdb := range backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: 100, wins: 90})
			script := &batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}
			tap := func(drop string) error { return script.call(t.Context(), []*Tap{tapOf("p", drop)}) }
			for k := range 30 {
				if err := tap(fmt.Sprintf("12.%d", k)); err != nil {
					t.Fatal(err)
				}
			}
			h := gm.holding("p")
			if err := rdb.HDel(t.Context(), script.keys[2], h.fields("p")...).Err(); h.blocks < 2 || err != nil {
				t.Fatal(h.blocks, err)
			}
			for _, newer := range []string{"12.30", "12.100", "13.0", "100.0"} {
				if err := tap(newer); err != nil {
					t.Errorf("%s: %v; it was looked for in a block", newer, err)
				}
			}
			for _, older := range []string{"12.7", "9.99"} {
				if err := tap(older); err == nil {
					t.Errorf("%s was looked for in no block", older)
				}
			}
		})
	}
}
