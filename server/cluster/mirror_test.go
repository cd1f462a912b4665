package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
)

// A mirror reads at a hint and every two seconds. It follows each change until that has worked, but not the rows of the
// start.
func TestMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := slog.New(slog.DiscardHandler)
		recoverer, err := loop.NewRecoverer(nil, quiet, nil)
		testenv.Must(t, err)
		var mu sync.Mutex
		var rows, followed []int
		var down error
		set := func(failed error, is ...int) {
			mu.Lock()
			defer mu.Unlock()
			rows, down = is, failed
		}
		m := NewMirror(MirrorOptions[int]{
			Part: "test", Work: "reading", Recoverer: recoverer, Log: quiet,
			Read: func(context.Context) ([]int, error) {
				mu.Lock()
				defer mu.Unlock()
				fresh := rows
				rows = nil
				return fresh, nil
			},
			Follow: func(_ context.Context, fresh int) error {
				mu.Lock()
				defer mu.Unlock()
				if fresh < 0 {
					panic("torn")
				}
				if down == nil {
					followed = append(followed, fresh)
				}
				return down
			},
		})
		set(nil, 1)
		testenv.Must(t, m.Load(t.Context()))
		stop := testenv.Run(t, m.Run)
		step := func(what string, wait time.Duration, want ...int) {
			t.Helper()
			if wait > 0 {
				<-time.After(wait)
			}
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			testenv.Equal(t, followed, want, "%s: followed", what)
		}
		step("after Load", 0)
		set(nil, 2)
		step("before a hint", time.Second)
		m.Announced()
		step("after a hint", 0, 2)
		set(nil, 3)
		step("without a hint", RefreshEvery, 2, 3)
		set(errors.New("down"), 4)
		step("follow fails", RefreshEvery, 2, 3)
		set(nil, 5)
		step("follow works", RefreshEvery, 2, 3, 4, 5)
		set(nil, 6, -1, 7)
		step("follow panics", RefreshEvery, 2, 3, 4, 5, 6, 7)
		set(nil, 8)
		step("after a panic", RefreshEvery, 2, 3, 4, 5, 6, 7, 8)
		stop()
		var none *Mirror[int]
		none.Announced()
	})
}
