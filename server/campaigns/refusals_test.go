package campaigns

import (
	"context"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// countedRows counts how often a row was asked for.
type countedRows struct {
	*posting.Moves
	writes int
}

func (r *countedRows) Write(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	r.writes++
	return r.Moves.Write(ctx, campaign, from, lent)
}

// TestAForgedLoan: a forged record of a shard's lent stock raises one alarm, moves nothing, and is retried rarely.
// Other shards get their stock, and the watch over Redis goes on.
func TestAForgedLoan(t *testing.T) {
	for what, record := range map[string]string{
		"of another shard's packets":  "2 1 0 20-29",
		"of some of another shard's":  "2 1 0 5-12",
		"to the shard itself":         "0 1 0 5-6",
		"to a shard that is not":      "9 1 0 5-6",
		"with a number far ahead":     "2 9000000000000000 0 5-6",
		"of another epoch":            "2 1 77 5-6",
		"that is no record":           "a pot of gold",
		"with a backward range":       "2 1 0 6-5",
		"with packets beyond":         "2 1 0 5-5000",
		"with more ranges than go":    "2 1 0" + strings.Repeat(" 5-5", 501),
		"under an id that is no name": "2 1 0 5-5",
	} {
		t.Run(what, func(t *testing.T) {
			l := newLossy(t, forgetful["in-process"](t))
			c := l.raining(servertest.EvenSpec(300, 30, 3))
			id := "forged"
			if what == "under an id that is no name" {
				id = strings.Repeat("x", 65)
			}
			testenv.Must(t, l.rdb.HSet(t.Context(), l.grabber.Keys(c.ID, 0).Lent, id, record).Err())
			rows := &countedRows{Moves: l.ledger.Moves}
			m, p := l.mover(func(o *MoverOptions) { o.Ledger = rows }), &pace{}
			for range 60 { // for half a minute
				testenv.Must(t, m.look(t.Context(), c, p))
				l.now += 500
			}
			if rows.writes > 2 {
				t.Errorf("it was tried %d times", rows.writes)
			}
			l.alarm("move_refused", c.ID)
			l.quiet()
			l.watch(c)()
			// Shard 2 reports demand. It gets stock from the shard without a forged loan.
			m.Dry(c.ID, cluster.DryShard{Shard: 2, Node: "n", Taps: 13})
			testenv.Must(t, m.look(t.Context(), c, p))
			testenv.Equal(t, l.left(c), []int{10, 7, 13}, "the shards have")
			open, err := l.ledger.Moves.Open(t.Context(), c.ID)
			testenv.Must(t, err)
			testenv.Equal(t, len(open), 0, "open moves")
			// Later it is tried again, and said no second time.
			l.now += 2 * refusedMS
			testenv.Must(t, m.look(t.Context(), c, p))
			l.quiet()
			// A rebuild repairs the tampered shard.
			testenv.Must(t, l.rdb.Del(t.Context(), l.grabber.Keys(c.ID, 0).State).Err())
			l.rebuild(c.ID)
			testenv.Equal(t, l.stock(c, "rebuilt"), []int{10, 7, 13}, "the shards have")
			l.balanced(c, "rebuilt")
		})
	}
}

// TestAForgedStockIsNotLentPieceByPiece: an attacker has added another shard's packets to a stock. One move of it is
// refused, and the mover stops lending from there.
func TestAForgedStockIsNotLentPieceByPiece(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(400, 40, 4))
	k := l.grabber.Keys(c.ID, 0)
	testenv.Must(t, l.rdb.RPop(t.Context(), k.Stock).Err())
	testenv.Must(t, l.rdb.RPush(t.Context(), k.Stock, "10-39", ".").Err())
	testenv.Must(t, l.rdb.HSet(t.Context(), k.State, "left", 40).Err())
	m, p := l.mover(nil), &pace{}
	for range 20 {
		m.Dry(c.ID, cluster.DryShard{Shard: 3, Node: "n", Taps: 12})
		testenv.Must(t, m.look(t.Context(), c, p))
		l.now += 500
	}
	l.alarm("move_refused", c.ID)
	l.quiet()
	if levels := l.levels(c); len(levels[0].Lent) != 1 || levels[3].Left != 12 {
		t.Errorf("%+v", levels)
	}
}

// TestAMoveIsNotDoneTwiceByHand: the record of a move that is done is put back with other packets, or to another shard.
func TestAMoveIsNotDoneTwiceByHand(t *testing.T) {
	for _, record := range []string{"2 1 0 6-9", "1 1 0 0-9", "1 2 0 6-9"} {
		l := newLossy(t, forgetful["in-process"](t))
		c := l.raining(servertest.EvenSpec(300, 30, 3))
		lent, err := l.grabber.Lend(t.Context(), c.ID, 0, 1, "m", 4)
		if err != nil || lent.Numbers.String() != "6-9" {
			t.Fatalf("%+v, %v", lent, err)
		}
		m := l.mover(nil)
		testenv.Must(t, m.end(t.Context(), c.ID, 0, *lent))
		testenv.Must(t, l.rdb.HSet(t.Context(), l.grabber.Keys(c.ID, 0).Lent, "m", record).Err())
		testenv.Must(t, m.look(t.Context(), c, &pace{}))
		l.alarm("move_refused", c.ID)
		testenv.Equal(t, l.left(c), []int{6, 14, 10}, "%s", record)
	}
}

// TestAnArrivalByHand: the number of an arrival is forged in Redis. The move is done, the number is not kept, and the
// shard goes on.
func TestAnArrivalByHand(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	lent, err := l.grabber.Lend(t.Context(), c.ID, 0, 1, "m", 4)
	testenv.Must(t, err)
	testenv.Must(t, l.rdb.HSet(t.Context(), l.grabber.Keys(c.ID, 1).Borrowed, "m", "9000000000000000").Err())
	testenv.Must(t, l.mover(nil).end(t.Context(), c.ID, 0, *lent))
	l.alarm("move_refused", c.ID)
	known, err := l.ledger.Moves.Known(t.Context(), c)
	if err != nil || known[1].Moves != 0 {
		t.Errorf("%+v, %v", known, err)
	}
	testenv.Equal(t, len(l.levels(c)[0].Lent), 0, "moves")
}
