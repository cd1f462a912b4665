package campaigns

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/history"
	"redrain/rain"
	"redrain/server/servertest"
)

// byHand changes a campaign's row, and is what puts it right.
func (u *upkeep) byHand(id, column string, value any) (back func()) {
	u.Helper()
	var was any
	if _, err := u.db.First(u.Context(), []any{&was}, "SELECT "+column+" FROM campaign WHERE id = ?", id); err != nil {
		u.Fatal(err)
	}
	set := func(value any) {
		u.Helper()
		if _, err := u.db.Exec(u.Context(), "UPDATE campaign SET "+column+" = ? WHERE id = ?", value, id); err != nil {
			u.Fatal(err)
		}
	}
	set(value)
	return func() { u.Helper(); set(was) }
}

// shut is how many shards of a campaign are shut, or have given something back.
func (u *upkeep) shut(c *rain.Campaign) (n int) {
	u.Helper()
	for shard := range c.Shards {
		status, err := u.rdb.HGet(u.Context(), fmt.Sprintf("rr:{%s.%d}:state", c.ID, shard), "status").Result()
		if err != nil {
			u.Fatal(err)
		}
		entries, _, err := u.grabber.Page(u.Context(), c.ID, shard, "", 100)
		if err != nil {
			u.Fatal(err)
		}
		if status == string(rain.Closed) || len(entries) > 0 {
			n++
		}
	}
	return n
}

// TestNobodyEndsACampaignByHand: what somebody writes into its row shuts no shard, is told once, and no command does
// anything with it. Put right, it can be played and ended.
func TestNobodyEndsACampaignByHand(t *testing.T) {
	l := newLossy(t, testenv.Redis(t))
	c := l.create(servertest.EvenSpec(1_000, 10, 2))
	for column, value := range map[string]any{"status": "closed", "expires_at": 1} {
		back := l.byHand(c.ID, column, value)
		for range 2 {
			if _, err := l.keep(c.ID); err != nil {
				t.Fatal(err)
			}
		}
		l.alarm("reconciliation", c.ID)
		l.quiet()
		for what, do := range map[string]func() error{
			"paused": func() error { _, err := l.service.Pause(t.Context(), c.ID); return err },
			"closed": func() error { _, err := l.service.Close(t.Context(), c.ID); return err },
			"rains": func() error {
				_, _, err := l.service.StartRain(t.Context(), c.ID, rain.DefaultRain(), "")
				return err
			},
			"stocked": func() error { _, err := l.service.Stock(t.Context(), c.ID); return err },
		} {
			if err := do(); !errors.Is(err, history.ErrTampered) {
				t.Errorf("%s by hand, %s: %v", column, what, err)
			}
		}
		if is := l.campaign(c.ID); is.Status == rain.Closed {
			if err := l.service.Enforce(t.Context(), is); !errors.Is(err, history.ErrTampered) {
				t.Errorf("%s by hand, enforced: %v", column, err)
			}
		}
		if n := l.shut(c); n != 0 {
			t.Errorf("%s by hand has shut %d shards", column, n)
		}
		back()
		if _, err := l.keep(c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.service.Pause(t.Context(), c.ID); err != nil {
		t.Errorf("put right: %v", err)
	}
	if _, err := l.service.Close(t.Context(), c.ID); err != nil || l.shut(c) != 2 {
		t.Errorf("put right: %v, %d shards are shut", err, l.shut(c))
	}
	if c, err := l.keep(c.ID); err != nil || c.Drained {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := l.keep(c.ID); err != nil || !c.Drained {
		t.Errorf("%+v, %v", c, err)
	}
	l.wantSponsor(1_000_000_000)
	l.quiet()
}

// TestNothingIsRebuiltByATamperedRow: it may lay the packets out in another way, and a shard is stocked once.
func TestNothingIsRebuiltByATamperedRow(t *testing.T) {
	l := newLossy(t, testenv.Redis(t))
	c := l.create(servertest.EvenSpec(1_000, 10, 2))
	for column, value := range map[string]any{"shards": 4, "packets": 20, "split_seed": strings.Repeat("0", 64)} {
		l.forget()
		back := l.byHand(c.ID, column, value)
		if done, err := l.rebuilder.Rebuild(t.Context(), c.ID); !errors.Is(err, history.ErrTampered) {
			t.Errorf("%s by hand: %+v, %v", column, done, err)
		}
		back()
		if done := l.rebuild(c.ID); len(done.Shards) != 2 || done.Packets != 10 {
			t.Errorf("put right after %s: %+v", column, done)
		}
	}
	if got := l.books(c); !got.Balanced || got.Stock != 1_000 {
		t.Errorf("the books: %+v", got)
	}
}

// TestWhatIsLeftWaitsForItsSponsor: somebody names another one between the close and its reclaims.
func TestWhatIsLeftWaitsForItsSponsor(t *testing.T) {
	l := newLossy(t, testenv.Redis(t))
	c := l.create(servertest.EvenSpec(1_000, 10, 2))
	if _, err := l.service.Close(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	back := l.byHand(c.ID, "sponsor", "beta")
	left, _, err := l.grabber.Page(t.Context(), c.ID, 0, "", 100)
	if err != nil || len(left) != 1 {
		t.Fatalf("%+v, %v", left, err)
	}
	if err := l.settler.PostNow(t.Context(), left); !errors.Is(err, history.ErrTampered) {
		t.Errorf("posted: %v", err)
	}
	if err := l.reclaim.lease.Under(t.Context(), l.reclaim.sweep); err != nil {
		t.Fatal(err)
	}
	l.alarm("reconciliation", c.ID)
	l.wantSponsor(1_000_000_000 - 1_000)
	back()
	for range 2 {
		if c, err = l.keep(c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Drained {
		t.Error("put right, it is not drained")
	}
	l.wantSponsor(1_000_000_000)
	l.quiet()
}
