package grab

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

// Copies of a tap in flight count for the tap rate, and their number is limited.
func TestCopiesAreBounded(t *testing.T) {
	for rate, want := range map[int]int{0: mostCopies, 5: 4} { // the first tap is no copy
		synctest.Test(t, func(t *testing.T) {
			s := &fakeScript{stock: 9, hold: make(chan struct{})}
			b := newBench(t, s, &fakeConfirmer{immediate: true})
			b.gate.o.TapRate = rate
			waiting := 0
			for i := range 3 * mostCopies {
				if o := b.tap("p", "0.0", "p"); o == "" {
					waiting++
				} else {
					testenv.Equal(t, o, "too_fast", "copy %d", i)
				}
			}
			testenv.Equal(t, waiting, want+1, "taps that wait for one result")
			close(s.hold)
			synctest.Wait()
			testenv.Equal(t, len(b.told), waiting, "results")
		})
	}
}

// Players tap at any speed on any drops. Stock comes and goes, the campaign is sold out at times, and players leave.
// Still a batch has a player once, and each tap has one result. A player's results come in the order of their taps.
func TestABatchHasAPlayerOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		users := []string{playerOf(0, "a"), playerOf(0, "b"), playerOf(1, "c")}
		type tapped struct{ user, drop string }
		var taps []tapped
		results := map[int]int{} // tap -> number of its results
		scripts := []*fakeScript{{}, {}}
		actions := rapid.SliceOfN(rapid.IntRange(0, 11), 1, 60).Draw(rt, "actions")
		players := rapid.SliceOfN(rapid.IntRange(0, 2), 60, 60).Draw(rt, "players")
		drops := rapid.SliceOfN(rapid.IntRange(0, 5), 60, 60).Draw(rt, "drops")
		var told []string
		synctest.Test(t, func(t *testing.T) {
			b := newShardedBench(t, &fakeConfirmer{immediate: true}, scripts...)
			b.gate.view.Load().campaign.WinsPerUser = 1_000
			for i, action := range actions {
				user := users[players[i]]
				switch action {
				case 0:
					scripts[players[i]%2].restock(2)
					b.gate.Restocked(players[i] % 2)
				case 1:
					b.gate.SoldOut(rain.LanePlayers)
				case 2:
					b.gate.Restored()
				case 3:
					b.gate.Forget(user)
				case 4:
					after(shortageTime / 2)
				case 5:
					synctest.Wait()
				default:
					drop := fmt.Sprintf("0.%d", drops[i])
					if b.tap(user, drop, fmt.Sprint(len(taps))) != "" {
						results[len(taps)]++
					}
					taps = append(taps, tapped{user, drop})
				}
			}
			after(2 * shortageTime)
			testenv.Equal(rt, b.gate.UnderWay(), 0, "taps in flight for ever")
			b.gates.Close()
			told = b.told
		})
		last := map[string]int{}       // user -> the newest first tap with a result
		firsts := map[[2]string]bool{} // user and drop of taps that are not copies
		for _, text := range told {
			var i int
			name, _, _ := strings.Cut(text, " ")
			testenv.Must(rt, testenv.Err(fmt.Sscan(name, &i)))
			results[i]++
			// A copy gets its result with the tap that it copies.
			if key := [2]string{taps[i].user, taps[i].drop}; !firsts[key] {
				firsts[key] = true
				if i < last[taps[i].user] {
					rt.Errorf("%q: tap %d of %s has its result after a later one", told, i, taps[i].user)
				}
				last[taps[i].user] = max(last[taps[i].user], i)
			}
		}
		for i := range taps {
			testenv.Equal(rt, results[i], 1, "results of tap %d", i)
		}
		for _, s := range scripts {
			for _, batch := range s.batches {
				seen := map[string]bool{}
				for _, tap := range batch {
					user, _, _ := strings.Cut(tap, " ")
					if seen[user] {
						rt.Errorf("%s is twice in %q", user, batch)
					}
					seen[user] = true
				}
			}
		}
	})
}

// While a batch is away the taps of all players gather, and of each player one goes with the next batch.
func TestTheNextTapGoesWithTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{stock: 99, hold: make(chan struct{})}
		b := newBench(t, s, &fakeConfirmer{immediate: true})
		b.gate.view.Load().campaign.WinsPerUser = 1_000
		b.tap("first", "0.0", "")
		synctest.Wait()
		for i := range 3 {
			for _, user := range []string{"p", "q"} {
				b.tap(user, fmt.Sprintf("0.%d", i), "")
			}
		}
		close(s.hold)
		synctest.Wait()
		want := [][]string{{"first 0.0"}, {"p 0.0", "q 0.0"}, {"p 0.1", "q 0.1"}, {"p 0.2", "q 0.2"}}
		if !slices.EqualFunc(s.batches, want, slices.Equal) {
			t.Errorf("batches %q, want %q", s.batches, want)
		}
	})
}
