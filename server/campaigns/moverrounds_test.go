package campaigns

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// allRaining knows campaigns on which rain falls, and notes in their stock that it was restocked.
type allRaining struct {
	told
	ids   []string
	stock *illStock
}

func (k *allRaining) Restocked(campaign string, shard int) {
	if campaign == "ill" {
		k.stock.ended = append(k.stock.ended, "restocked "+strconv.Itoa(shard))
	}
}

func (k *allRaining) Live() (all []*rain.Campaign) {
	for _, id := range k.ids {
		all = append(all, &rain.Campaign{ID: id, Status: rain.Open, Spec: rain.Spec{Shards: 2, Packets: 100_000},
			Rains: []rain.Rain{{
				ID: "r", StartsAt: time.Now().UnixMilli() - 1, Settings: rain.Settings{DurationMS: 60_000},
			}}})
	}
	return all
}

// illStock is the stock of a campaign with a fault, and of a healthy one. Packets of the healthy one are won all the
// time, on its shard 0.
type illStock struct {
	ill   string
	began time.Time
	waits chan struct{} // a borrowing of the ill one waits for it, with the fault "a move waits"
	mu    sync.Mutex
	lends map[string]int // by campaign
	ended []string       // steps of the ill one
}

func (s *illStock) Lent(context.Context, string, int, string) (bool, error) { return true, nil }

func (s *illStock) Forgot(context.Context, string, int, rain.Lent) (bool, error) { return false, nil }

func (s *illStock) Shards(ctx context.Context, c *rain.Campaign) ([]store.Level, error) {
	if c.ID == "well" {
		levels := levelsOf(5, 1_000)
		levels[0].Won = int(time.Since(s.began).Seconds() * 20)
		return levels, nil
	}
	levels := levelsOf(0, 9)
	switch s.ill {
	case "a shard cannot be read":
		levels[0] = store.Level{Err: errAway}
	case "nothing can be read":
		return nil, errAway
	case "its Redis hangs":
		<-ctx.Done()
		return nil, ctx.Err()
	case "a look panics":
		panic("torn")
	case "a move waits":
	default:
		levels[1].Lent = []rain.Lent{{Move: "m"}}
	}
	return levels, nil
}

func (s *illStock) Lend(_ context.Context, campaign string, _, to int, move string, _ int) (*rain.Lent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lends[campaign]++
	return &rain.Lent{Move: move, To: to}, nil
}

func (s *illStock) Borrow(ctx context.Context, campaign string, _ rain.Lent) (int64, error) {
	if campaign == "well" {
		return 1, nil
	}
	switch s.ill {
	case "a move waits":
		select {
		case <-s.waits:
			s.ended = append(s.ended, "borrowed")
			return 1, nil
		case <-ctx.Done():
		}
	case "a move hangs":
		<-ctx.Done()
	}
	return 0, errAway
}

func (s *illStock) Done(_ context.Context, campaign string, _ int, _ string) error {
	if campaign == "ill" {
		s.ended = append(s.ended, "done")
	}
	return nil
}

// lent returns the number of loans since the last call.
func (s *illStock) lent(campaign string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.lends[campaign]
	s.lends[campaign] = 0
	return n
}

// freeRows keep nothing of moves.
type freeRows struct{}

func (freeRows) Write(context.Context, string, int, rain.Lent) error  { return nil }
func (freeRows) Done(context.Context, string, int64) error            { return nil }
func (freeRows) Open(context.Context, string) ([]posting.Move, error) { return nil, nil }

// runMover runs a mover with an ill stock until stop is called, which returns when it has ended.
func runMover(t *testing.T, s *illStock, ids ...string) (m *Mover, stop func()) {
	t.Helper()
	s.began, s.lends = time.Now(), map[string]int{}
	known := &allRaining{ids: ids, stock: s}
	m = NewMover(MoverOptions{Node: memoryNode(known, known, func() int64 { return time.Now().UnixMilli() }),
		Stock: s, Ledger: freeRows{}, Sums: s})
	return m, testenv.Run(t, m.Run)
}

// TestOneCampaignHoldsUpNoOther: a campaign with a fault does not delay the stock of another one. Its packets move
// ahead, because the rates are known, and at once if taps wait.
func TestOneCampaignHoldsUpNoOther(t *testing.T) {
	for _, ill := range []string{"a shard cannot be read", "nothing can be read", "its Redis hangs", "a look panics",
		"a move cannot be ended", "a move hangs"} {
		t.Run(ill, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &illStock{ill: ill}
				m, stop := runMover(t, s, "ill", "well")
				for range 10 { // each second nearly
					sleepInBubble(900 * time.Millisecond)
				}
				if s.lent("well") == 0 {
					t.Error("nothing was moved ahead")
				}
				for range 10 {
					sleepInBubble(moveEvery + 70*time.Millisecond)
					s.lent("well")
					m.Dry("well", cluster.DryShard{Shard: 0, Node: "n", Taps: 50})
					sleepInBubble(2 * moveGather)
					if s.lent("well") == 0 {
						t.Error("taps wait, and nothing was moved")
					}
				}
				stop()
			})
		})
	}
}

// TestAMoverThatIsToStop ends the move that it has begun, and begins no other; where a back end hangs it does not
// wait for ever.
func TestAMoverThatIsToStop(t *testing.T) {
	for name, hangs := range map[string]bool{"a move in hand": false, "a Redis that hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &illStock{ill: "a move waits", waits: make(chan struct{})}
				m, stop := runMover(t, s, "ill")
				synctest.Wait()
				m.Dry("ill", cluster.DryShard{Shard: 0, Node: "n", Taps: 2})
				sleepInBubble(2 * moveGather)
				if s.lends["ill"] != 1 {
					t.Fatalf("%d moves have begun", s.lends["ill"])
				}
				stopped := time.Now()
				if !hangs {
					time.AfterFunc(moveGrace/2, func() { close(s.waits) })
				}
				stop()
				took := time.Since(stopped)
				if want := []string{"borrowed", "restocked 0", "done"}; !hangs &&
					(!slices.Equal(s.ended, want) || took > moveGrace/2) {
					t.Errorf("%v after %v", s.ended, took)
				}
				if hangs && (len(s.ended) > 0 || took > moveGrace) {
					t.Errorf("%v after %v", s.ended, took)
				}
				if s.lends["ill"] != 1 || m.demands != nil {
					t.Errorf("%d moves have begun; %v are remembered", s.lends["ill"], m.demands)
				}
			})
		})
	}
}

// A round has room for some moves only: the first of each lane are among them, whatever the others need.
func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	moves := func(first, n int) (all []transfer) {
		for i := range n {
			all = append(all, transfer{from: first + i})
		}
		return all
	}
	var from []int
	for _, m := range inTurns([][]transfer{moves(0, 4), nil, moves(10, 2)}) {
		from = append(from, m.from)
	}
	testenv.Equal(t, from, []int{0, 10, 1, 11, 2, 3}, "from")
}

// someAway is a stock in which nothing that some shards lend would outlast its master.
type someAway struct {
	MovedStock
	shards []int
}

func (s *someAway) Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent,
	error) {
	lent, err := s.MovedStock.Lend(ctx, campaign, from, to, move, count)
	if err == nil && lent != nil && slices.Contains(s.shards, from) {
		return nil, errCut
	}
	return lent, err
}

// TestAStockIsNotEmptiedByMovesThatWait: what cannot be brought to its end is lent once, and not anew in each round
// in which taps wait. As long as the loss of a master can undo a lending, the ledger has no row of it.
func TestAStockIsNotEmptiedByMovesThatWait(t *testing.T) {
	for _, fault := range []struct {
		name, at string
		away     []int
		wait     int // moves
	}{
		{"the ledger does not write", "row", nil, 1},
		{"the ledger ends nothing", "done", nil, 1},
		{"a shard lends nothing that lasts", "", []int{0}, 1},
		{"nothing that is lent lasts", "", []int{0, 2}, 2},
		{"the ledger does not tell what is begun", "open", nil, 0},
	} {
		t.Run(fault.name, func(t *testing.T) {
			l := newLossy(t, forgetful["in-process"](t))
			c := l.raining(servertest.EvenSpec(300, 30, 3))
			rows := &cutSteps{stock: l.grabber.Moves, rows: l.ledger.Moves, at: fault.at}
			away := &someAway{l.grabber.Moves, fault.away}
			m, p := l.mover(func(o *MoverOptions) { o.Stock, o.Ledger = away, cutRows{rows} }), &pace{}
			for range 30 {
				m.Dry(c.ID, cluster.DryShard{Shard: 1, Node: "n", Taps: 14})
				if err := m.look(t.Context(), c, p); err != nil && !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				l.now += 200
			}
			levels := l.levels(c)
			testenv.Equal(t, len(levels[0].Lent)+len(levels[2].Lent), fault.wait, "moves wait: %+v", levels)
			if len(fault.away) == 1 && levels[1].Left != 14 {
				t.Errorf("the shard got nothing from another one that can lend: %+v", levels)
			}
			open, err := l.ledger.Moves.Open(t.Context(), c.ID)
			if err != nil || len(fault.away) > 0 && len(open) > 0 {
				t.Errorf("%v are built on what does not last (%v)", open, err)
			}
			if fault.at == "open" && levels[1].Left != 10 {
				t.Errorf("packets were lent without the ledger: %+v", levels)
			}
			rows.at, away.shards = "", nil
			l.now += finishEveryMS
			testenv.Must(t, m.look(t.Context(), c, p))
			l.stock(c, "in the end")
			l.noMoves(c, "in the end")
		})
	}
}
