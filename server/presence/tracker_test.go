package presence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
)

// book is the store that a test's tracker writes to.
type book struct {
	mu    sync.Mutex
	away  error
	lines []string
}

func (b *book) write(_ context.Context, changes []Change[string, int]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return b.away
	}
	for _, c := range changes {
		b.lines = append(b.lines, fmt.Sprint(c.Group, c.Member, " ", []string{"here", "lost", "left"}[c.State]))
	}
	return nil
}

// wrote compares the changes that were written since its last call.
func (b *book) wrote(t *testing.T, what string, want ...string) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.lines)
	testenv.Equal(t, b.lines, want, "%s: wrote", what)
	b.lines = nil
}

func (b *book) set(away error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func TestTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		tr := NewTracker(Options[string, int]{Part: "test", Work: "writing", Flush: b.write, Every: time.Minute,
			Log: slog.New(slog.DiscardHandler)})
		stop := testenv.Run(t, func(ctx context.Context) error { return tr.Run(ctx) })
		enter := func(group string, one int) { tr.wait(t.Context(), tr.enter(group, one)) }
		wait := func(d time.Duration) { <-time.After(d) }

		enter("a", 1)
		b.wrote(t, "one has come", "a1 here")
		enter("a", 1)
		if !tr.Add("a", 2) || tr.Add("a", 2) {
			t.Error("the first connection is not distinguished from the second")
		}
		b.wrote(t, "what the caller writes, and a second connection")
		wait(time.Minute)
		b.wrote(t, "all are written again", "a1 here", "a2 here")
		if tr.Leave("a", 1, Left) || !tr.Leave("a", 1, Lost) || tr.Leave("a", 1, Left) || tr.Leave("z", 1, Left) {
			t.Error("the last connection is not distinguished from the others")
		}
		b.wrote(t, "the last connection counts", "a1 lost")
		tr.Remove("a", 2)
		tr.Remove("a", 2)
		tr.Leave("a", 2, Left)
		b.wrote(t, "a member that was taken back")
		tr.Add("a", 4)
		tr.Leave("a", 4, Lost)
		tr.Add("a", 4)
		tr.Remove("a", 4)
		tr.Remove("a", 4)
		b.wrote(t, "a departure of a member who could not come back", "a4 lost")
		tr.Disown("b", 7)
		tr.Add("b", 8)
		tr.Disown("b", 8)
		b.wrote(t, "an orphan", "b7 left")

		b.set(errors.New("away"))
		enter("c", 1)
		synctest.Wait()
		began := time.Now()
		enter("c", 2)
		enter("c", 3)
		if took := time.Since(began); took > 0 {
			t.Errorf("waited for %v while flushes fail", took)
		}
		tr.Leave("b", 8, Left)
		tr.Leave("c", 2, Left)
		tr.Leave("c", 3, Left)
		enter("c", 3)
		wait(10 * time.Second)
		b.set(nil)
		wait(retryMost)
		b.wrote(t, "after an outage", "b8 left", "c1 here", "c2 left", "c3 here")
		if tr.Groups() != 1 || len(tr.Members("c")) != 2 || tr.Has("c", 2) || !tr.Has("c", 3) {
			t.Errorf("%v", tr.groups)
		}
		tr.o.LeavesLate = true
		tr.Leave("c", 1, Left)
		tr.Leave("c", 3, Left)
		b.wrote(t, "departures that wait")
		tr.Add("c", 3)
		wait(time.Minute)
		b.wrote(t, "one has come back", "c1 left", "c3 here")
		stop()
		began = time.Now()
		enter("d", 1)
		if took := time.Since(began); took > 0 {
			t.Errorf("waited for %v after the end", took)
		}
	})
}

// One flush has few changes. A flush that fails or panics keeps no other change from being written, and its departures
// are written later.
func TestKeepGoesOn(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("away") },
		"panic": func() error { panic("torn") },
	} {
		t.Run(name, func(t *testing.T) {
			recoverer, err := loop.NewRecoverer(nil, slog.New(slog.DiscardHandler), nil)
			testenv.Must(t, err)
			isAway := true
			here, gone := map[string]int{}, map[string]int{}
			tr := NewTracker(Options[string, int]{Part: "test", Every: time.Minute, Recoverer: recoverer,
				Flush: func(_ context.Context, changes []Change[string, int]) error {
					if len(changes) > atOnce {
						t.Errorf("%d changes in one flush", len(changes))
					}
					for _, c := range changes {
						if isAway && c.Group == "away" {
							return fail()
						}
					}
					for _, c := range changes {
						map[State]map[string]int{Here: here, Left: gone}[c.State][c.Group]++
					}
					return nil
				}})
			const many = 3*atOnce + 1
			for i := range many {
				for _, group := range []string{"away", "well"} {
					tr.Add(group, i)
					tr.Add(group+" gone", i)
					tr.Leave(group+" gone", i, Left)
				}
			}
			tr.Leave("away", 0, Left)
			if err := tr.Keep(t.Context()); err == nil || here["well"] < many-atOnce || len(tr.pending) == 0 {
				t.Errorf("%d of %d members were kept, %d changes are pending (%v)", here["well"], many,
					len(tr.pending), err)
			}
			isAway = false
			if err := tr.Keep(t.Context()); err != nil || here["away"] != many-1 || gone["away"] != 1 ||
				gone["well gone"] != many || gone["away gone"] != many || len(tr.pending) > 0 {
				t.Errorf("%v were kept, %v have gone, %d changes are pending (%v)", here, gone, len(tr.pending), err)
			}
		})
	}
}

// Each connection of a member waits until the member is written, and no longer than half a second; a flush that panics
// ends the wait.
func TestEnterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64 // of a flush
		quiet := slog.New(slog.DiscardHandler)
		recoverer, err := loop.NewRecoverer(nil, quiet, nil)
		testenv.Must(t, err)
		tr := NewTracker(Options[string, int]{Part: "test", Every: time.Hour, Recoverer: recoverer, Log: quiet,
			Flush: func(context.Context, []Change[string, int]) error {
				d := time.Duration(takes.Load())
				if d == 0 {
					panic("torn")
				}
				<-time.After(d)
				return nil
			}})
		testenv.Run(t, func(ctx context.Context) error { return tr.Run(ctx) })
		for i, test := range []struct{ flush, want time.Duration }{
			{300 * time.Millisecond, 300 * time.Millisecond}, {time.Second, enterWithin}, {0, 0},
		} {
			takes.Store(int64(test.flush))
			began := time.Now()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { tr.wait(t.Context(), tr.enter("g", i)) })
			}
			all.Wait()
			testenv.Equal(t, time.Since(began), test.want, "wait for a flush of %v", test.flush)
			<-time.After(time.Minute)
		}
	})
}
