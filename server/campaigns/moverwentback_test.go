package campaigns

import (
	"errors"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestALoanThatHungWhileRedisWentBack: a shard lends, its Redis goes back to before that, and only then does the node
// go on that has the packets in hand. They come to the other shard, so this one must not offer them any more, whatever
// its counts say. Rebuilt, it has the others.
func TestALoanThatHungWhileRedisWentBack(t *testing.T) {
	for name, since := range map[string]func(l *lossy, c *rain.Campaign){
		"nothing since": func(*lossy, *rain.Campaign) {},
		"others lent since": func(l *lossy, c *rain.Campaign) {
			testenv.Must(l, testenv.Err(l.grabber.Moves.Lend(l.Context(), c.ID, 0, 1, "other", 2)))
		},
	} {
		for _, cut := range []string{"lend", "row"} {
			t.Run(name+", cut off after "+cut, func(t *testing.T) {
				l := newLossy(t, forgetful["real"](t))
				c := l.raining(servertest.EvenSpec(300, 30, 2))
				p := &pace{}
				var lent rain.Lent
				l.wentBack(c, 0, func() {
					steps := &cutSteps{stock: l.grabber.Moves, rows: l.ledger.Moves, at: cut, after: true}
					m := l.mover(func(o *MoverOptions) { o.Stock, o.Ledger = steps, cutRows{steps} })
					if err := m.carry(t.Context(), c, []transfer{{0, 1, 6}}, &p.refusals); !errors.Is(err, errCut) {
						t.Fatal(err)
					}
					lent = l.levels(c)[0].Lent[0]
				})
				since(l, c)
				testenv.Must(t, l.mover(nil).end(t.Context(), c.ID, 0, lent))
				l.alarm("redis_went_back", c.ID)
				l.wantNoTaps(c)
				testenv.Must(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), c.ID)))
				testenv.Equal(t, l.stock(c, "rebuilt"), []int{9, 21}, "the shards have")
				l.balanced(c, "rebuilt")
			})
		}
	}
}

// TestAMoveThatIsDoneMayBeForgotten: a node goes on with a move that others have ended since, perhaps by a rebuild. It
// takes no packet out of the game.
func TestAMoveThatIsDoneMayBeForgotten(t *testing.T) {
	l := newLossy(t, forgetful["real"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 2))
	lent, err := l.grabber.Moves.Lend(t.Context(), c.ID, 0, 1, "mine", 6)
	testenv.Must(t, err)
	m := l.mover(nil)
	for range 2 {
		testenv.Must(t, m.end(t.Context(), c.ID, 0, *lent))
	}
	second, err := l.grabber.Moves.Lend(t.Context(), c.ID, 0, 1, "second", 3)
	testenv.Must(t, err)
	testenv.Must(t, l.ledger.Moves.Write(t.Context(), c.ID, 0, *second))
	l.loseShard(c, 0)
	testenv.Must(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), c.ID)))
	testenv.Must(t, m.end(t.Context(), c.ID, 0, *second))
	testenv.Equal(t, l.stock(c, "all is done"), []int{6, 24}, "the shards have")
	l.wantLost(c, 0)
}
