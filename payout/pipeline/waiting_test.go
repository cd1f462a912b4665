package pipeline

import (
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
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
	p.WantBalance(t, booking.EscrowAccount("c1"), 90)
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
