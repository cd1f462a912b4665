package campaigns

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

// twoRaining knows two campaigns on which rain falls.
type twoRaining struct{ oneRaining }

func (k twoRaining) Live() []*rain.Campaign {
	ill, well := k.oneRaining.Live()[0], k.oneRaining.Live()[0]
	ill.ID, well.ID, well.Packets = "ill", "well", 100_000
	return []*rain.Campaign{ill, well}
}

// illStock is the stock of a campaign with which something is the matter, and of one that is well: packets of it are
// won all the time on its shard 0.
type illStock struct {
	ill   string
	began time.Time
	mu    sync.Mutex
	lends int // of the campaign that is well
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
	default:
		levels[1].Lent = []rain.Lent{{Move: "m"}}
	}
	return levels, nil
}

func (s *illStock) Lend(_ context.Context, campaign string, _, to int, move string, _ int) (*rain.Lent, error) {
	if campaign == "well" {
		s.mu.Lock()
		s.lends++
		s.mu.Unlock()
	}
	return &rain.Lent{Move: move, To: to}, nil
}

func (s *illStock) Borrow(ctx context.Context, campaign string, _ rain.Lent) (int64, error) {
	if campaign == "ill" && s.ill == "a move hangs" {
		<-ctx.Done()
	}
	if campaign == "ill" {
		return 0, errAway
	}
	return 1, nil
}

func (*illStock) Done(context.Context, string, int, string) error { return nil }

func (s *illStock) lent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.lends
	s.lends = 0
	return n
}

// TestOneCampaignHoldsUpNoOther: while something is the matter with one campaign, another one gets its stock: ahead,
// because its rates are known, and at once where taps wait.
func TestOneCampaignHoldsUpNoOther(t *testing.T) {
	for _, ill := range []string{"a shard cannot be read", "nothing can be read", "its Redis hangs", "a look panics",
		"a move cannot be ended", "a move hangs"} {
		t.Run(ill, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &illStock{ill: ill, began: time.Now()}
				m := NewMover(MoverOptions{Stock: s, Ledger: stillRows{}, Sums: s, Leases: stillRows{},
					Known: &twoRaining{}, Bus: &told{}, Node: "n",
					Clock: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler)})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- m.Run(ctx) }()
				for range 10 { // each second nearly
					sleepInBubble(900 * time.Millisecond)
				}
				if s.lent() == 0 {
					t.Error("nothing was moved ahead")
				}
				for range 10 {
					sleepInBubble(moveEvery + 70*time.Millisecond)
					s.lent()
					m.Dry("well", cluster.DryShard{Shard: 0, Node: "n", Taps: 50})
					sleepInBubble(2 * moveGather)
					if s.lent() == 0 {
						t.Error("taps wait, and nothing was moved")
					}
				}
				cancel()
				testenv.Must(t, <-ended)
			})
		})
	}
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
// in which taps wait.
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
			levels, err := l.grabber.Shards(t.Context(), c)
			testenv.Must(t, err)
			if n := len(levels[0].Lent) + len(levels[2].Lent); n != fault.wait {
				t.Errorf("%d moves wait: %+v", n, levels)
			}
			if len(fault.away) == 1 && levels[1].Left != 14 {
				t.Errorf("the shard got nothing from another one that can lend: %+v", levels)
			}
			rows.at, away.shards = "", nil
			l.now += finishEveryMS
			testenv.Must(t, m.look(t.Context(), c, p))
			l.stock(c, "in the end")
			if open, err := l.ledger.Moves.Open(t.Context(), c.ID); err != nil || len(open) > 0 {
				t.Errorf("%v are under way (%v)", open, err)
			}
		})
	}
}

// noRows is a ledger that cannot be asked for its moves.
type noRows struct{ *posting.Moves }

func (noRows) Open(context.Context, string) ([]posting.Move, error) { return nil, errCut }

// TestNothingIsLentWithoutTheLedger: where it does not tell which moves are under way, none is begun.
func TestNothingIsLentWithoutTheLedger(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	m := l.mover(func(o *MoverOptions) { o.Ledger = noRows{l.ledger.Moves} })
	m.Dry(c.ID, cluster.DryShard{Shard: 1, Node: "n", Taps: 14})
	testenv.WantErr(t, m.look(t.Context(), c, &pace{}), errCut)
	if levels, err := l.grabber.Shards(t.Context(), c); err != nil || levels[1].Left != 10 || levels[0].Left != 10 {
		t.Errorf("%+v, %v", levels, err)
	}
}
