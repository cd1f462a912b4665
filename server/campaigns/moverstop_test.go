package campaigns

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/cluster"
)

// stillStock is a stock whose borrowing waits until the test lets it, and notes what is done.
type stillStock struct {
	waits chan struct{}
	lends int
	ended []string
}

func (s *stillStock) Shards(context.Context, *rain.Campaign) ([]store.Level, error) {
	return levelsOf(0, 9), nil
}

func (s *stillStock) Lend(context.Context, string, int, int, string, int) (*rain.Lent, error) {
	s.lends++
	return &rain.Lent{Move: "m"}, nil
}

func (s *stillStock) Borrow(ctx context.Context, _ string, _ rain.Lent) (int64, error) {
	select {
	case <-s.waits:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	s.ended = append(s.ended, "borrowed")
	return 1, nil
}

func (s *stillStock) Done(context.Context, string, int, string) error {
	s.ended = append(s.ended, "done")
	return nil
}

func (s *stillStock) Lent(context.Context, string, int, string) (bool, error) { return true, nil }

func (s *stillStock) Forgot(context.Context, string, int, rain.Lent) (bool, error) { return false, nil }

type stillRows struct{ MoveRows }

func (stillRows) Write(context.Context, string, int, rain.Lent) error  { return nil }
func (stillRows) Done(context.Context, string, int64) error            { return nil }
func (stillRows) Open(context.Context, string) ([]posting.Move, error) { return nil, nil }
func (stillRows) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	return ledger.Tenure{Term: 1}, nil
}
func (stillRows) Fenced(ctx context.Context, _ string, _ int64) context.Context { return ctx }
func (stillRows) ReleaseLease(context.Context, string, string) error            { return nil }

// oneRaining knows one campaign on which a rain falls.
type oneRaining struct{ told }

func (oneRaining) Live() []*rain.Campaign {
	return []*rain.Campaign{{ID: "c", Status: rain.Open, Spec: rain.Spec{Shards: 2, Packets: 9},
		Rains: []rain.Rain{{ID: "r", StartsAt: time.Now().UnixMilli() - 1, DurationMS: 60_000}}}}
}

// TestAMoverThatIsToStop ends the move that it has begun, and begins no other; where a back end hangs it does not
// wait for ever. A round that is asked for comes at once.
func TestAMoverThatIsToStop(t *testing.T) {
	for name, hangs := range map[string]bool{"a move in hand": false, "a Redis that hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stillStock{waits: make(chan struct{})}
				m := NewMover(MoverOptions{Stock: s, Ledger: stillRows{}, Sums: s, Leases: stillRows{},
					Known: &oneRaining{},
					Bus:   &told{}, Node: "n", Clock: func() int64 { return time.Now().UnixMilli() },
					Log: slog.New(slog.DiscardHandler)})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- m.Run(ctx) }()
				synctest.Wait()
				m.Dry("c", cluster.DryShard{Shard: 0, Node: "n", Taps: 2})
				<-time.After(2 * moveGather) // of the bubble
				synctest.Wait()
				if s.lends != 1 {
					t.Fatalf("%d moves have begun", s.lends)
				}
				stopped := time.Now()
				cancel()
				synctest.Wait()
				if !hangs {
					close(s.waits)
				}
				testenv.Must(t, <-ended)
				took := time.Since(stopped)
				if want := []string{"borrowed", "done"}; !hangs && (!slices.Equal(s.ended, want) || took > 0) {
					t.Errorf("%v after %v", s.ended, took)
				}
				if hangs && (len(s.ended) > 0 || took > moveGrace) {
					t.Errorf("%v after %v", s.ended, took)
				}
				if s.lends != 1 || m.dry != nil {
					t.Errorf("%d moves have begun; %v are remembered", s.lends, m.dry)
				}
			})
		})
	}
}
