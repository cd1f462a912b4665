package store_test

import (
	"errors"
	"fmt"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// Until it is restored a shard that was found to be older than it was takes no taps, of nobody.
func TestAShardThatHasGoneBackTakesNoTaps(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		for what, know := range map[string]struct {
			entry string
			moves int64
			lost  bool
		}{
			"as much":          {"2000-5", 7, false},
			"more":             {"1999-9", 6, false},
			"less, entries":    {"2000-6", 7, true},
			"less, by far":     {"10000-0", 0, true},
			"less, moves":      {"0-0", 8, true},
			"more and less":    {"3-3", 8, true},
			"nothing at all":   {"0-0", 0, false},
			"digits, not text": {"999-9", 7, false},
		} {
			gm := grabtest.New(t, rdb, grabtest.Setup{NoRain: true})
			gm.Lose()
			r := gm.Restoration(0, nil)
			r.Barrier, r.Moves = "2000-5", 7
			testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, r))
			gm.LetItRain(nil)
			for range 2 {
				lost, err := gm.G.Moves.Lose(t.Context(), gm.C.ID, 0, know.entry, know.moves)
				if err != nil || lost != know.lost {
					t.Errorf("%s: lost %v (%v)", what, lost, err)
				}
				know.lost = false // the second time there is nothing to lose any more
			}
			testenv.Equal(t, testenv.Got(gm.G.Lost(t.Context(), gm.C)).Must(t) != nil, tapFails(gm),
				"%s: lost, as taps fail", what)
		}
	})
}

// tapFails tells whether a node that knows nothing of the shard cannot have a tap decided there.
func tapFails(gm *grabtest.Game) bool {
	gm.T.Helper()
	return gm.Script().Call(gm.T.Context(), []*grabtest.Tap{grabtest.TapOf(gm.T, "p", "0.0")}) != nil
}

// A node that knows of an entry or a move that Redis has forgotten takes the shard out for all nodes. A restoration
// heals it, also where nobody but the node knows of the move.
func TestANodeNoticesThatRedisHasGoneBack(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		for what, happens := range map[string]func(gm *grabtest.Game) error{
			"an entry": func(gm *grabtest.Game) error { return nil },
			"a move": func(gm *grabtest.Game) error {
				return testenv.Err(gm.G.Lend(gm.T.Context(), gm.C.ID, 0, 1, "m", 1))
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				gm := grabtest.New(t, rdb, grabtest.Setup{Wins: 5})
				testenv.Must(t, happens(gm))
				knows := gm.Script()
				tap := func(drop string) error {
					return knows.Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "p", drop)})
				}
				testenv.Must(t, tap("0.0"))
				// Redis comes back with what it knew before.
				gm.Lose()
				older := gm.Restoration(0, nil)
				if what == "a move" {
					older.Barrier = knows.Heard
				}
				testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, older))
				gm.Apply()
				testenv.WantErr(t, tap("0.1"), store.ErrBehind, "the node that knows better")
				if err := gm.Script().Call(t.Context(), []*grabtest.Tap{grabtest.TapOf(t, "q", "0.1")}); !errors.Is(err,
					store.ErrNoState) {
					t.Errorf("another node: %v", err)
				}
				gm.LoseShard(0)
				whole := gm.Restoration(0, nil)
				whole.Epoch = gm.Options.Clock() + 60_000
				whole.Barrier = fmt.Sprintf("%d-0", whole.Epoch)
				testenv.Must(t, gm.G.Restore(t.Context(), gm.C, 0, whole))
				gm.Apply()
				for i := range 2 {
					testenv.WantErr(t, tap(fmt.Sprintf("1.%d", i)), nil, "restored")
				}
			})
		}
	}
}
