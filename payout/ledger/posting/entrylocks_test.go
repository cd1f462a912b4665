package posting

import (
	"context"
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestTurnstile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s entryLocks
		one, two, three := entryNo("1-0"), entryNo("2-0"), entryNo("3-0")
		unlock, err := s.lock(t.Context(), []rain.Entry{one, two, one})
		testenv.Must(t, err)
		if other, err := s.lock(t.Context(), []rain.Entry{three}); err != nil {
			t.Fatal("an unknown entry:", err)
		} else {
			other()
		}
		entered := false
		go func() {
			unlock, err := s.lock(t.Context(), []rain.Entry{three, two})
			if err != nil {
				t.Error(err)
				return
			}
			entered = true
			unlock()
		}()
		synctest.Wait()
		if entered {
			t.Error("two have one entry")
		}
		if other, err := s.lock(t.Context(), []rain.Entry{three}); err != nil {
			t.Error("who waits has taken something:", err)
		} else {
			other()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		testenv.WantErr(t, testenv.Err(s.lock(ctx, []rain.Entry{two})), context.Canceled)
		unlock()
		synctest.Wait()
		if !entered || len(s.busy) != 0 {
			t.Errorf("entered %v, %d entries are left in hand", entered, len(s.busy))
		}
	})
}

func entryNo(id string) rain.Entry { return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: id}} }
