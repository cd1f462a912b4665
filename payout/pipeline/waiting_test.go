package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestAReclaimThatWaits: what is left of a campaign that somebody has changed by hand stays in its outbox and in the
// stream, holds up nothing else, and goes back to its sponsor once it is put right.
func TestAReclaimThatWaits(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	for _, id := range []string{"c1", "c2"} {
		c := p.OpenCampaign(t, id, rain.Spec{Budget: 100, Packets: 10})
		p.redis.Open(c)
		if id == "c1" { // so that the poster knows it
			p.redis.Win(id, 0, "first")
			p.SettleAll(t, p.redis, 0)
		}
		p.redis.Win(id, 0, "u-"+id)
		p.CloseCampaign(t, id)
		p.redis.Close(id, 0)
	}
	p.Statement(t, "UPDATE campaign SET sponsor = 'thief' WHERE id = 'c1'")
	var all []rain.Entry
	for _, id := range []string{"c1", "c2"} {
		entries, err := p.redis.Oldest(id, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	p.publish(t, 1, all...)
	p.settler(t, SettlerOptions{Workers: 1}, func([]rain.Entry) error { return nil })
	testenv.Eventually(t, 20*time.Second, "all is settled but what waits", func() bool {
		c, err := p.js.Consumer(t.Context(), newStream(p.js, p.namespace, paytest.Ring).name(), consumerName)
		return err == nil && p.redis.Waiting() == 1 && c.CachedInfo().NumRedelivered > 0
	})
	p.WantBalance(t, booking.UserAccount("u-c1"), 10)
	p.WantBalance(t, booking.EscrowAccount("c1"), 80)
	p.WantBalance(t, booking.EscrowAccount("c2"), 0)
	p.WantBalance(t, booking.SponsorAccount("thief"), 0)
	p.Statement(t, "UPDATE campaign SET sponsor = 'acme' WHERE id = 'c1'")
	testenv.Eventually(t, 20*time.Second, "what waited goes back", func() bool {
		return p.redis.Waiting() == 0
	})
	if info := p.consumer(t); info.NumPending != 0 {
		t.Errorf("%d messages are left", info.NumPending)
	}
	p.WantBalance(t, booking.EscrowAccount("c1"), 0)
	p.CheckBooks(t)
}

// oldMessage has come so often, and notes what becomes of it.
type oldMessage struct {
	jetstream.Msg
	deliveries   uint64
	acked, again int
}

func (m *oldMessage) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: m.deliveries}, nil
}

func (m *oldMessage) Ack() error { m.acked++; return nil }

func (m *oldMessage) NakWithDelay(time.Duration) error { m.again++; return nil }

// TestTheLastCopyIsNotLetGo: a message of what waits makes room for younger copies after an hour, but only where its
// outbox has the entry, of which they come.
func TestTheLastCopyIsNotLetGo(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	p.redis.Open(p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}))
	p.CloseCampaign(t, "c1")
	p.redis.Close("c1", 0)
	entries, err := p.redis.Oldest("c1", 0, 100)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	s := &settlement{outbox: p.redis, log: paytest.Quiet}
	comes := func(deliveries int) *oldMessage {
		m := &oldMessage{deliveries: uint64(deliveries)}
		if others := s.setWaiting(t.Context(), []delivery{{m, entries[0]}},
			[]posting.Waiting{{Ref: entries[0].Ref, Cause: errors.New("changed by hand")}}); len(others) != 0 {
			t.Errorf("%+v does not wait", others)
		}
		return m
	}
	if m := comes(waitingTries - 1); m.acked != 0 || m.again != 1 {
		t.Errorf("young: %+v", m)
	}
	if m := comes(waitingTries); m.acked != 1 || m.again != 0 {
		t.Errorf("in its outbox: %+v", m)
	}
	if err := p.redis.Remove(t.Context(), []rain.EntryRef{entries[0].Ref}); err != nil {
		t.Fatal(err)
	}
	if m := comes(waitingTries + 1); m.acked != 0 || m.again != 1 {
		t.Errorf("in no outbox: %+v", m)
	}
}
