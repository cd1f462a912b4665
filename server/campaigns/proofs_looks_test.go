package campaigns

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/reconcile"
)

// TestWhatTheSumsDoNotShowIsNamedInSeconds: with the schedule of a minute, the rows of the live campaigns are looked at
// all the time.
func TestWhatTheSumsDoNotShowIsNamedInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		f.hidden["c2"] = true
		heard, stop := reconcilerAt(t, f, "a")
		defer stop()
		minutes(1)
		f.set(func() { f.found["c2"] = "packet 7" })
		sleepInBubble(6 * time.Second)
		if got := strings.Join(heard(), "\n"); strings.Count(got, "alarm reconciliation of c2") != 1 {
			t.Errorf("heard %s", got)
		}
		f.set(func() { delete(f.found, "c2") })
		sleepInBubble(6 * time.Second)
		if got := strings.Join(heard(), "\n"); !strings.Contains(got, `msg="the books balance again" campaign=c2`) {
			t.Errorf("heard %s", got)
		}
		f.set(func() { f.down = errors.New("gone away") })
		sleepInBubble(20 * time.Second)
		if got := strings.Join(heard(), "\n"); strings.Contains(got, "alarm") || strings.Contains(got, "books") {
			t.Errorf("the database is away, which the schedule says: %s", got)
		}
	})
}

// TestQuickLooksAreBounded: a campaign whose rows take long is looked at for a twentieth of the time.
func TestQuickLooksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1")
		f.slow = 10 * time.Second
		_, stop := reconcilerAt(t, f, "a")
		defer stop()
		minutes(60)
		// 60 rounds of the schedule look at the sums; the quick ones begin each 210 s or a little later.
		if looks := f.sums["a"] - 60; looks < 15 || looks > 18 {
			t.Errorf("%d looks at the rows in an hour", looks)
		}
	})
}

func TestEverythingIsLookedAtByOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewProofs(ProofsOptions{Books: nodeBooks{newFakeBooks(), "a"}, Log: slog.New(slog.DiscardHandler)})
		r.everything <- struct{}{} // somebody is at it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.recent(ctx, func(string, reconcile.Reconciliation, error) {}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("two at once: %v", err)
		}
		<-r.everything
		for range 2 {
			if _, err := r.recent(t.Context(), func(string, reconcile.Reconciliation, error) {}); err != nil {
				t.Error(err)
			}
		}
		for range reconcileAtOnce + 1 {
			if _, err := r.Campaign(t.Context(), "c1"); err != nil {
				t.Error(err)
			}
		}
	})
}
