package campaigns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

var errCut = errors.New("cut off")

// cutSteps are the steps of a move. One fails: before anything is done, or after it, when only its answer is
// lost.
type cutSteps struct {
	stock MovedStock
	rows  MoveRows
	at    string // "open", "lend", "row", "borrow", "done" (the row) or "forget"
	after bool
}

func (s *cutSteps) step(name string, do func() error) error {
	if name == s.at && !s.after {
		return errCut
	}
	err := do()
	if name == s.at {
		err = errors.Join(err, errCut)
	}
	return err
}

func (s *cutSteps) Lend(ctx context.Context, campaign string, from, to int, move string, count int) (lent *rain.Lent,
	err error) {
	err = s.step("lend", func() (err error) {
		lent, err = s.stock.Lend(ctx, campaign, from, to, move, count)
		return err
	})
	return lent, err
}

func (s *cutSteps) Borrow(ctx context.Context, campaign string, lent rain.Lent) (number int64, err error) {
	err = s.step("borrow", func() (err error) { number, err = s.stock.Borrow(ctx, campaign, lent); return err })
	return number, err
}

func (s *cutSteps) Done(ctx context.Context, campaign string, from int, move string) error {
	return s.step("forget", func() error { return s.stock.Done(ctx, campaign, from, move) })
}

func (s *cutSteps) Lent(ctx context.Context, campaign string, from int, move string) (bool, error) {
	return s.stock.Lent(ctx, campaign, from, move)
}

func (s *cutSteps) Forgot(ctx context.Context, campaign string, from int, lent rain.Lent) (bool, error) {
	return s.stock.Forgot(ctx, campaign, from, lent)
}

// cutRows are the steps in the ledger.
type cutRows struct{ *cutSteps }

func (r cutRows) Write(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	return r.step("row", func() error { return r.rows.Write(ctx, campaign, from, lent) })
}

func (r cutRows) Done(ctx context.Context, move string, number int64) error {
	return r.step("done", func() error { return r.rows.Done(ctx, move, number) })
}

func (r cutRows) Open(ctx context.Context, campaign string) (open []posting.Move, err error) {
	err = r.step("open", func() (err error) { open, err = r.rows.Open(ctx, campaign); return err })
	return open, err
}

// mover is one that listens; the test has it look.
func (l *lossy) mover(change func(*MoverOptions)) *Mover {
	l.Helper()
	o := MoverOptions{Node: l.node, Stock: l.grabber.Moves, Ledger: l.ledger.Moves, Sums: l.grabber.Sums}
	if change != nil {
		change(&o)
	}
	m := NewMover(o)
	m.listen(true)
	return m
}

// loseShard has Redis forget all of a shard.
func (l *lossy) loseShard(c *rain.Campaign, shard int) {
	l.Helper()
	k := l.grabber.Keys(c.ID, shard)
	err := l.rdb.Del(l.Context(), k.State, k.Stock, k.Wins, k.Taps, k.Outbox, k.Lent, k.Borrowed).Err()
	testenv.Must(l, err)
}

// stock returns each shard's number of packets. It fails unless each packet is in one place, or paid.
func (l *lossy) stock(c *rain.Campaign, what string) []int {
	l.Helper()
	shards, err := l.grabber.Snapshot(l.Context(), c)
	testenv.Must(l, err)
	var places rain.Numbers
	left := make([]int, len(shards))
	for i, s := range shards {
		left[i] = s.Stock.Count()
		places = append(places, s.Stock...)
		for _, lent := range s.Lent {
			come, err := l.rdb.HExists(l.Context(), l.grabber.Keys(c.ID, lent.To).Borrowed, lent.Move).Result()
			testenv.Must(l, err)
			if !come {
				places = append(places, lent.Numbers...)
			}
		}
		for _, e := range s.Entries {
			places = append(places, e.Packets()...)
			if e.Reclaim != nil {
				places = append(places, e.Reclaim.Numbers...)
			}
		}
	}
	err = l.ledger.Rebuilds.EachAssigned(l.Context(), c, rain.Numbers{{First: 0, Last: c.Packets - 1}},
		func(k posting.Assigned) error {
			places = places.Add(k.Win.Packet)
			return nil
		})
	testenv.Must(l, err)
	slices.SortFunc(places, func(a, b rain.Range) int { return a.First - b.First })
	next := 0
	for _, r := range places {
		if r.First != next {
			l.Errorf("%s: after packet %d comes %v", what, next-1, r)
		}
		next = r.Last + 1
	}
	if next != c.Packets {
		l.Errorf("%s: packets up to %d are somewhere", what, next-1)
	}
	return left
}

// levels are the shards as the mover sees them.
func (l *lossy) levels(c *rain.Campaign) []store.Level {
	l.Helper()
	levels, err := l.grabber.Shards(l.Context(), c)
	testenv.Must(l, err)
	return levels
}

// left returns the number of packets that each shard offers.
func (l *lossy) left(c *rain.Campaign) (left []int) {
	l.Helper()
	for _, s := range l.levels(c) {
		left = append(left, s.Left)
	}
	return left
}

// noMoves fails the test if Redis or the ledger has a move in flight.
func (l *lossy) noMoves(c *rain.Campaign, what string) {
	l.Helper()
	open, err := l.ledger.Moves.Open(l.Context(), c.ID)
	testenv.Must(l, err)
	testenv.Equal(l, len(open), 0, "%s: open moves", what)
	for shard, s := range l.levels(c) {
		testenv.Equal(l, len(s.Lent), 0, "%s: moves of shard %d", what, shard)
	}
}

// wantLost fails the test unless so many shards are lost.
func (l *lossy) wantLost(c *rain.Campaign, count int) {
	l.Helper()
	lost, err := l.grabber.Lost(l.Context(), c)
	testenv.Must(l, err)
	testenv.Equal(l, len(lost), count, "lost shards %v", lost)
}

// balanced fails the test unless the books balance, and nothing is unsettled or dead.
func (l *lossy) balanced(c *rain.Campaign, what string) {
	l.Helper()
	if got := l.books(c); !got.Balanced || got.Unsettled != 0 || got.Dead != 0 {
		l.Errorf("%s: the books: %+v", what, got)
	}
}

// TestAMoveThatIsCutOff cuts a move before or after any of its steps, perhaps with the loss of a shard. Another mover
// finishes it, and each packet is always in one place. In the end no move is in flight.
func TestAMoveThatIsCutOff(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	for _, at := range []string{"lend", "row", "borrow", "done", "forget"} {
		for _, after := range []bool{false, true} {
			for _, lost := range []string{"nobody", "the donor", "the recipient", "both"} {
				what := fmt.Sprintf("cut off at %s, after it %v, %s is lost", at, after, lost)
				c := l.raining(servertest.EvenSpec(300, 30, 3))
				steps := &cutSteps{stock: l.grabber.Moves, rows: l.ledger.Moves, at: at, after: after}
				first := l.mover(func(o *MoverOptions) { o.Stock, o.Ledger = steps, cutRows{steps} })
				if err := first.carry(t.Context(), c, []transfer{{0, 1, 4}}, &refusals{}); !errors.Is(err, errCut) {
					t.Fatalf("%s: %v", what, err)
				}
				l.stock(c, what)
				if lost == "the donor" || lost == "both" {
					l.loseShard(c, 0)
				}
				if lost == "the recipient" || lost == "both" {
					l.loseShard(c, 1)
				}
				if lost != "nobody" {
					// A recipient that is away is waited for.
					if err := l.mover(nil).look(t.Context(), c, &pace{}); err != nil &&
						!errors.Is(err, store.ErrNoState) {
						t.Errorf("%s: %v", what, err)
					}
					l.rebuild(c.ID)
				}
				l.stock(c, what+", before it is carried on")
				for range 2 { // the second time there is nothing left to do
					testenv.WantErr(t, l.mover(nil).look(t.Context(), c, &pace{}), nil, what, "carried on")
				}
				got := l.stock(c, what+", in the end")
				if whole := []int{10, 10, 10}; !slices.Equal(got, []int{6, 14, 10}) &&
					(!slices.Equal(got, whole) || at != "lend" && lost == "nobody") {
					t.Errorf("%s: the shards have %v", what, got)
				}
				l.noMoves(c, what)
				l.balanced(c, what)
			}
		}
	}
}

// TestALostRecipientHoldsUpNobody: stock that goes to a lost shard waits for it, and other shards get theirs meanwhile.
func TestALostRecipientHoldsUpNobody(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	m := l.mover(nil)
	lent, err := l.grabber.Lend(t.Context(), c.ID, 0, 1, "m", 10)
	testenv.Must(t, err)
	testenv.Must(t, l.ledger.Moves.Write(t.Context(), c.ID, 0, *lent))
	l.loseShard(c, 1)
	m.Dry(c.ID, cluster.DryShard{Shard: 0, Node: "n", Taps: 3})
	testenv.Must(t, m.look(t.Context(), c, &pace{}))
	testenv.Equal(t, l.left(c), []int{3, 0, 7}, "left")
	l.rebuild(c.ID)
	l.now += finishEveryMS
	testenv.Must(t, m.look(t.Context(), c, &pace{}))
	if got := l.stock(c, "rebuilt"); got[1] != 20 {
		t.Errorf("the shards have %v", got)
	}
}

// TestAMoveThatIsGoneIsNotMadeAgain: a move that was seen, and has been ended by another node since, is left alone: its
// id is not used for other packets.
func TestAMoveThatIsGoneIsNotMadeAgain(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	testenv.Must(t, testenv.Err(l.grabber.Lend(t.Context(), c.ID, 0, 1, "m", 4)))
	seen := l.levels(c)
	testenv.Equal(t, len(seen[0].Lent), 1, "moves")
	for range 2 { // the second time with outdated levels
		testenv.Must(t, l.mover(nil).finish(t.Context(), c, seen, &pace{}))
		testenv.Equal(t, l.stock(c, "ended"), []int{6, 14, 10}, "the shards have")
	}
}
