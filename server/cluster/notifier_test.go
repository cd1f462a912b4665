package cluster

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// marks remembers in memory which entries were told.
type marks map[rain.EntryRef]bool

func (m marks) Once(_ context.Context, refs []rain.EntryRef, _ time.Duration) ([]bool, error) {
	first := make([]bool, len(refs))
	for i, ref := range refs {
		first[i] = !m[ref]
		m[ref] = true
	}
	return first, nil
}

// ranking notes who was ranked.
type ranking struct{ users []string }

func (r *ranking) Rank(_ context.Context, winners []store.Winners) error {
	for _, w := range winners {
		r.users = append(r.users, w.Users...)
	}
	return nil
}

// newTestBus is a bus on a NATS server of its own.
func newTestBus(t *testing.T) *Bus {
	t.Helper()
	own, err := embedded.NATS("")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := own.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewBus(nc, "rr", slog.New(slog.DiscardHandler))
}

// TestNotifierTellsOnce: a settlement is told once however often it is heard of; what a retry settles is told though
// the mark of its entry is set; and every winner is ranked.
func TestNotifierTellsOnce(t *testing.T) {
	bus, ranked := newTestBus(t), &ranking{}
	heard, err := bus.nc.SubscribeSync("rr.control.settled.c")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNotifier(marks{}, ranked, bus, slog.New(slog.DiscardHandler))
	one := posting.Settlement{Campaign: "c", Claim: "c-1", User: "u", Packet: 1, Amount: 5, Balance: 5,
		Entry: rain.EntryRef{Campaign: "c", ID: "1-0"}}
	two := one
	two.Claim, two.User, two.Packet = "c-2", "v", 2
	told := func() (claims []string) {
		t.Helper()
		if err := bus.nc.Flush(); err != nil { // what was published before has come back by then
			t.Fatal(err)
		}
		for {
			if waiting, _, err := heard.Pending(); err != nil || waiting == 0 {
				return claims
			}
			m, err := heard.NextMsg(time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var notice Settled
			if err := json.Unmarshal(m.Data, &notice); err != nil {
				t.Fatal(err)
			}
			for _, c := range notice.Claims {
				claims = append(claims, c.Claim)
			}
		}
	}
	for _, c := range []struct {
		what string
		tell func(context.Context, []posting.Settlement)
		of   posting.Settlement
		want []string
	}{
		{"a settlement", n.Settled, one, []string{"c-1"}},
		{"its copy", n.Settled, one, nil},
		{"a retry", n.Retried, two, []string{"c-2"}},
	} {
		c.tell(t.Context(), []posting.Settlement{c.of})
		if got := told(); !slices.Equal(got, c.want) {
			t.Errorf("%s: told of %v, want %v", c.what, got, c.want)
		}
	}
	if len(ranked.users) != 3 {
		t.Errorf("ranked %v", ranked.users)
	}
}

// TestBusGoesOnAfterAPanic: what one message makes of its listener ends that message only.
func TestBusGoesOnAfterAPanic(t *testing.T) {
	bus := newTestBus(t)
	heard := make(chan string, 1)
	nothing := Listener{
		Changed: func(campaign string, _ int64) {
			if campaign == "bad" {
				panic("torn")
			}
			heard <- campaign
		},
		Settled: func(string, Settled) {}, SoldOut: func(string, int) {}, Alarm: func(Alarm) {},
		Restocked: func(string) {}, Withdrawn: func(Withdrawn) {},
	}
	if err := bus.Listen(nil, nothing); err != nil {
		t.Fatal(err)
	}
	bus.Changed(&rain.Campaign{ID: "bad"})
	bus.Changed(&rain.Campaign{ID: "good"})
	select {
	case got := <-heard:
		if got != "good" {
			t.Error(got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing is heard after a panic")
	}
}
