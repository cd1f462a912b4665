package campaigns

import (
	"context"
	"errors"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/servertest"
)

// awayHeir is a stock whose heir is away: what is lent is in Redis, and may be lost with its master.
type awayHeir struct {
	MovedStock
	away bool
}

func (s *awayHeir) Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent,
	error) {
	lent, err := s.MovedStock.Lend(ctx, campaign, from, to, move, count)
	if err == nil && lent != nil && s.away {
		return nil, errCut
	}
	return lent, err
}

// TestAMoveThatDoesNotLastIsNotEnded: as long as the loss of a master can undo a lending, nobody builds on it; not when
// it is found later either.
func TestAMoveThatDoesNotLastIsNotEnded(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	stock := &awayHeir{l.grabber.Moves, true}
	m, p := l.mover(func(o *MoverOptions) { o.Stock = stock }), &pace{}
	if err := m.carry(t.Context(), c, []transfer{{0, 1, 4}}, &p.refusals); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	for range 2 {
		testenv.WantErr(t, m.look(t.Context(), c, p), errCut, "carried on")
		l.now += finishEveryMS
	}
	open, err := l.ledger.Moves.Open(t.Context(), c.ID)
	if got := l.stock(c, "the heir is away"); !slices.Equal(got, []int{6, 10, 10}) || len(open) > 0 || err != nil {
		t.Errorf("the shards have %v, %v are under way (%v)", got, open, err)
	}
	stock.away = false
	testenv.Must(t, m.look(t.Context(), c, p))
	if got := l.stock(c, "the heir is back"); !slices.Equal(got, []int{6, 14, 10}) {
		t.Errorf("the shards have %v", got)
	}
}

// TestAMoveThatIsGoneIsNotMadeAgain: a move that was seen, and has been ended by another node since, is left alone: its
// id is not used for other packets.
func TestAMoveThatIsGoneIsNotMadeAgain(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	testenv.Must(t, testenv.Err(l.grabber.Lend(t.Context(), c.ID, 0, 1, "m", 4)))
	seen, err := l.grabber.Shards(t.Context(), c)
	if err != nil || len(seen[0].Lent) != 1 {
		t.Fatalf("%+v, %v", seen, err)
	}
	for range 2 { // the second time of what is not so any more
		testenv.Must(t, l.mover(nil).finish(t.Context(), c, seen, &pace{}))
		if got := l.stock(c, "ended"); !slices.Equal(got, []int{6, 14, 10}) {
			t.Errorf("the shards have %v", got)
		}
	}
}
