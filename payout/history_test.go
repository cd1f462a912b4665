package payout

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"redrain/rain"
)

func TestHistoryDoublesTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(5 * time.Second)
		e := []rain.Entry{entry("c1", 1)}
		start := time.Now()
		var at []time.Duration
		for time.Since(start) < 2*time.Hour {
			if due := h.due(e); len(due) == 1 {
				at = append(at, time.Since(start))
				h.sent(due)
			}
			h.prune()
			sleep(t.Context(), time.Second)
		}
		if got := fmt.Sprint(at); got != "[0s 5s 15s 35s 1m15s 2m35s 5m15s 10m35s 21m15s 42m35s 1h12m35s 1h42m35s]" {
			t.Errorf("published after %s", got)
		}
		if len(h.due([]rain.Entry{entry("c1", 2)})) != 1 {
			t.Error("another entry has to wait")
		}
		sleep(t.Context(), longestWait+time.Minute)
		h.prune()
		if len(h.entries) != 0 {
			t.Error("a settled entry is remembered for ever")
		}
	})
}

func TestHistoryForgetsWhenTheStreamIsLost(t *testing.T) {
	now := time.Now()
	e := []rain.Entry{entry("c1", 1)}
	for _, tc := range []struct {
		name string
		next generation
		lost bool
	}{
		{"the same", generation{now, 10}, false},
		{"grown", generation{now, 11}, false},
		{"made anew", generation{now.Add(1), 10}, true},
		{"back from an old copy", generation{now, 9}, true},
	} {
		h := newHistory(time.Minute)
		if h.lived(generation{now, 10}) {
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

func TestBackoff(t *testing.T) {
	for try, ms := range []int{100, 200, 400, 800, 1000, 1000} {
		longest := time.Duration(ms) * time.Millisecond
		seen := map[time.Duration]bool{}
		for range 100 {
			d := backoff(100*time.Millisecond, time.Second, try)
			if d < longest/2 || d > longest {
				t.Errorf("try %d waits %v", try, d)
			}
			seen[d] = true
		}
		if len(seen) < 10 {
			t.Errorf("try %d is not spread", try)
		}
	}
	if d := backoff(time.Second, time.Minute, 1_000_000); d > time.Minute || d < 30*time.Second {
		t.Error(d)
	}
}

func TestGraceful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancelParent := context.WithCancel(t.Context())
		ctx, cancel := graceful(parent, 5*time.Second)
		sleep(t.Context(), time.Hour)
		if ctx.Err() != nil {
			t.Error("it ends by itself")
		}
		cancelParent()
		sleep(t.Context(), 4*time.Second)
		if ctx.Err() != nil {
			t.Error("it ends with its parent")
		}
		sleep(t.Context(), 2*time.Second)
		if ctx.Err() == nil {
			t.Error("it does not end")
		}
		cancel()
		parent, cancelParent = context.WithCancel(t.Context())
		ctx, cancel = graceful(parent, time.Hour)
		cancelParent()
		synctest.Wait()
		cancel() // leaves no timer behind, or the bubble would not end
		if ctx.Err() == nil {
			t.Error("cancel does not end it")
		}
	})
}

func TestSmallThings(t *testing.T) {
	if fit("short", 10) != "short" || len(fit("long, and more", 10)) != 71 || len(fit("\xff", 10)) != 71 {
		t.Error(fit("short", 10), fit("long, and more", 10), fit("\xff", 10))
	}
	for _, cursor := range []string{"", "-", "1-", "x-1", "1"} {
		if _, _, ok := cutCursor(cursor); ok {
			t.Errorf("%q is a cursor", cursor)
		}
	}
	if at, id, ok := cutCursor(joinCursor(-5, "a-b")); ok && (at != -5 || id != "a-b") {
		t.Error(at, id)
	}
}
