package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/rain"
)

// A player who wins often has blocks; what was won is given again from wherever it is kept, and counts.
func TestManyWinsOfOnePlayer(t *testing.T) {
	t.Parallel()
	const most = 90
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 4 * most, Wins: most, Split: rain.DoubleMean})
			script := gm.Script()
			tap := func(user string, drops ...string) []outcome.Result {
				t.Helper()
				taps := make([]*grabtest.Tap, len(drops))
				for i, drop := range drops {
					taps[i] = grabtest.TapOf(t, user, drop)
				}
				if err := script.Call(t.Context(), taps); err != nil {
					t.Fatal(err)
				}
				return slices.Clone(script.Answer.Results)
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
				var told []outcome.Result
				for len(told) < most {
					n := min(most-len(told), 1+random.IntN(3))
					told = append(told, tap(user, drops[len(told):len(told)+n]...)...)
					again := random.IntN(len(told))
					if r := tap(user, drops[again]); r[0] != told[again] || r[0].Outcome != outcome.Won {
						t.Fatalf("%s: after %d wins the one of drop %s is %v, was told %v", user, len(told),
							drops[again], r[0], told[again])
					}
				}
				if got := tap(user, drops...); !slices.Equal(got, told) {
					t.Errorf("%s: all again: %v, was told %v", user, got, told)
				}
				if r := tap(user, "7.7", "1000.0"); r[0].Outcome != outcome.Already || r[1].Outcome != outcome.Already {
					t.Errorf("%s: one more than allowed: %v", user, r)
				}
				wantHeld(gm, user, drops, told)
			}
			if got := gm.Known(0); len(got) != 3*most {
				t.Errorf("%d wins in all", len(got))
			}
			gm.Balance()
		})
	}
}

// wantHeld compares what is kept of a player with what the player was told.
func wantHeld(gm *grabtest.Game, user string, drops []string, told []outcome.Result) {
	gm.T.Helper()
	wins, err := gm.Held(user)
	if err != nil || len(wins) != len(told) {
		gm.T.Fatalf("%s: %d wins, %v", user, len(wins), err)
	}
	for i, w := range wins {
		if want := (rain.Win{User: user, Packet: told[i].Packet, Amount: told[i].Amount, Drop: drops[i]}); w != want {
			gm.T.Errorf("%s: win %d is %v, want %v", user, i, w, want)
		}
	}
	if blocks, n, records := holding(gm, user); blocks < len(told)/12 || blocks > len(told)/7 || len(records) > 12 {
		gm.T.Errorf("%s: %d wins are in %d blocks, and %d in none", user, n, blocks, len(records))
	}
}

// holding is what the player's own field holds, which is read for each of their taps.
func holding(gm *grabtest.Game, user string) (blocks, wins int, records []store.Record) {
	gm.T.Helper()
	text, err := gm.RDB.HGet(gm.T.Context(), gm.G.Keys(gm.C.ID, 0).Wins, user).Result()
	if err != nil {
		gm.T.Fatal(err)
	}
	blocks, wins, records, err = store.Holding(user, text)
	if err != nil {
		gm.T.Fatal(err)
	}
	return blocks, wins, records
}

// Where few wins are allowed the record is that of the versions before, which may run on other nodes.
func TestEightWinsMakeNoBlock(t *testing.T) {
	gm := grabtest.New(t, grabtest.InProcess(t), grabtest.Setup{Packets: 20, Wins: 8, Budget: 20_000_000_000_000})
	script := gm.Script()
	for i := range 9 {
		if err := script.Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "p",
			fmt.Sprintf("123456789.%d", 100+i))}); err != nil {
			t.Fatal(err)
		}
	}
	if r := script.Answer.Results[0]; r.Outcome != outcome.Already {
		t.Errorf("the ninth: %v", r)
	}
	fields, err := gm.RDB.HGetAll(t.Context(), gm.G.Keys(gm.C.ID, 0).Wins).Result()
	if err != nil || len(fields) != 1 || strings.Count(fields["p"], ";") != 8 {
		t.Errorf("%q, %v", fields, err)
	}
	wantAllowed(gm, "8")
}

// wantAllowed looks at how the state says how many wins are allowed: versions without blocks take nothing but a number.
func wantAllowed(gm *grabtest.Game, want string) {
	gm.T.Helper()
	got, err := gm.RDB.HGet(gm.T.Context(), gm.G.Keys(gm.C.ID, 0).State, "wins_per_user").Result()
	if err != nil || got != want {
		gm.T.Errorf("wins_per_user is %q (%v), want %q", got, err, want)
	}
}

// A campaign of a version without blocks goes on.
func TestALongRecordBecomesABlock(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Wins: 60})
			key := gm.G.Keys(gm.C.ID, 0).Wins
			var told []outcome.Result
			var drops []string
			var text strings.Builder
			for i := range 50 {
				drops = append(drops, fmt.Sprintf("%d.0", (i*7)%50))
				told = append(told, outcome.Result{Outcome: outcome.Won, Packet: 1_000 + i, Amount: 3})
				text.WriteString(grabtest.RecordText(rain.Win{Packet: 1_000 + i, Amount: 3, Drop: drops[i]},
					"1763712000000-0"))
			}
			if err := rdb.HSet(t.Context(), key, "p", text.String()).Err(); err != nil {
				t.Fatal(err)
			}
			script := gm.Script()
			for i := range 11 {
				taps := []*grabtest.Tap{grabtest.TapOf(t, "p", fmt.Sprintf("%d.1", 90-i*5)),
					grabtest.TapOf(t, "p", drops[i]), grabtest.TapOf(t, "p", drops[49-i])}
				if err := script.Call(t.Context(), taps); err != nil {
					t.Fatal(err)
				}
				want := []outcome.Result{{Outcome: outcome.Won, Packet: i, Amount: 100}, told[i], told[49-i]}
				if i == 10 {
					want[0] = outcome.Result{Outcome: outcome.Already}
				}
				if got := script.Answer.Results; !slices.Equal(got, want) {
					t.Errorf("%d: %v, want %v", i, got, want)
				}
			}
			// on a node of that version nobody wins any more, which is better than twice
			wantAllowed(gm, "60 in blocks")
			if wins, err := gm.Held("p"); err != nil || len(wins) != 60 {
				t.Errorf("%d wins, %v", len(wins), err)
			}
		})
	}
}

// A win in a block is confirmed as any other when it is asked for again.
func TestAWinInABlockIsConfirmed(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm, to := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 40, Wins: 30})
			drop := gm.Drop(0)
			to.Refuse(true)
			gm.Want("p", drop, outcome.Unavailable)
			to.Refuse(false)
			for i := range 19 {
				gm.BatchOf([2]string{"p", fmt.Sprintf("%d.100", 1_000+i)})
			}
			if blocks, _, _ := holding(gm, "p"); blocks < 2 {
				t.Fatalf("%d blocks", blocks)
			}
			gm.Want("p", drop, outcome.Won)
			if got := gm.Confirmed("p"); len(got) != 20 {
				t.Errorf("%d wins may be told, want 20", len(got))
			}
			// What Redis has forgotten is not.
			if err := rdb.HDel(t.Context(), gm.G.Keys(gm.C.ID, 0).Wins, "p\n1").Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := gm.G.ConfirmedWins(t.Context(), gm.C, "p"); err == nil {
				t.Error("a block is missing, and nobody says so")
			}
		})
	}
}

// A tap on a newer drop reads no block, also where the drop is of the same wave as those in the blocks; an older
// one reads it.
func TestANewerDropReadsNoBlock(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: 100, Wins: 90})
			script := gm.Script()
			tap := func(drop string) error {
				return script.Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "p", drop)})
			}
			for k := range 30 {
				if err := tap(fmt.Sprintf("12.%d", k)); err != nil {
					t.Fatal(err)
				}
			}
			blocks, _, _ := holding(gm, "p")
			fields := make([]string, blocks)
			for i := range fields {
				fields[i] = fmt.Sprintf("p\n%d", i+1)
			}
			if err := rdb.HDel(t.Context(), gm.G.Keys(gm.C.ID, 0).Wins, fields...).Err(); blocks < 2 || err != nil {
				t.Fatal(blocks, err)
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
