package pipeline

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/rain"
)

func TestHistoryDoublesTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(5*time.Second, "n")
		e := []rain.Entry{entryOf(1)}
		start := time.Now()
		var at []time.Duration
		for time.Since(start) < 2*time.Hour {
			if due := h.due(e); len(due) == 1 {
				at = append(at, time.Since(start))
				h.sent(due)
			}
			h.prune()
			loop.Sleep(t.Context(), time.Second)
		}
		if got := fmt.Sprint(at); got != "[0s 5s 15s 35s 1m15s 2m35s 5m15s 10m35s 21m15s 42m35s 1h12m35s 1h42m35s]" {
			t.Errorf("published after %s", got)
		}
		if len(h.due([]rain.Entry{entryOf(2)})) != 1 {
			t.Error("another entry has to wait")
		}
		loop.Sleep(t.Context(), longestWait+time.Minute)
		h.prune()
		if len(h.entries) != 0 {
			t.Error("a settled entry is remembered for ever")
		}
	})
}

// An entry that was published any number of times waits the longest time, and not none.
func TestHistoryNeverPublishesWithoutAPause(t *testing.T) {
	t.Parallel()
	h := newHistory(5*time.Second, "n")
	e := []rain.Entry{entryOf(1)}
	for n := range 200 {
		h.sent(e)
		if len(h.due(e)) != 0 {
			t.Fatalf("due at once after %d copies", n+1)
		}
	}
}

func TestHistoryForgetsWhenTheStreamIsLost(t *testing.T) {
	t.Parallel()
	now := time.Now()
	e := []rain.Entry{entryOf(1)}
	for _, tc := range []struct {
		name string
		next generation
		lost bool
	}{
		{"the same", generation{created: now, lastSeq: 10}, false},
		{"grown", generation{created: now, lastSeq: 11}, false},
		{"made anew", generation{created: now.Add(1), lastSeq: 10}, true},
		{"back from an old copy", generation{created: now, lastSeq: 9}, true},
	} {
		h := newHistory(time.Minute, "n")
		if h.lived(generation{created: now, lastSeq: 10}) {
			t.Error("the first look cannot tell that something is lost")
		}
		h.sent(e)
		if lost := h.lived(tc.next); lost != tc.lost {
			t.Errorf("%s: %v", tc.name, lost)
		}
		if due := len(h.due(e)) == 1; due != tc.lost {
			t.Errorf("%s: due is %v", tc.name, due)
		}
	}
}

func entryOf(n int) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-0", n)}}
}
