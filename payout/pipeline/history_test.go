package pipeline

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestHistoryDoublesTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(5 * time.Second)
		e := []rain.Entry{entryOf(1)}
		start := time.Now()
		var at []time.Duration
		for time.Since(start) < 30*time.Minute {
			if due := h.due(e); len(due) == 1 {
				at = append(at, time.Since(start))
				h.sent(due)
			}
			h.prune()
			loop.Sleep(t.Context(), time.Second)
		}
		paytest.Want(t, fmt.Sprint(at), "[0s 5s 15s 35s 1m15s 2m35s 5m15s 10m15s 15m15s 20m15s 25m15s]",
			"published after")
		if len(h.due([]rain.Entry{entryOf(2)})) != 1 {
			t.Error("another entry has to wait")
		}
		for n := range 200 { // however often it was published
			if h.sent(e); len(h.due(e)) != 0 {
				t.Fatalf("due at once after %d copies more", n+1)
			}
		}
		loop.Sleep(t.Context(), longestWait+time.Minute)
		h.prune()
		if len(h.entries) != 0 {
			t.Error("a settled entry is remembered for ever")
		}
	})
}

func entryOf(n int) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-0", n)}}
}
