package posting_test

import (
	"fmt"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestAFloodOfForgeriesIsBounded: only a limited number of forged entries and messages is kept. Entries with an old
// key are kept beyond it, and an operator may pay them.
func TestAFloodOfForgeriesIsBounded(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		rotate(b)
		rotate(b)
		late := paytest.Entry("c1", 1, paytest.Win("u1", 0, 0))
		dead, dropped := 0, 0
		for n := range 12 {
			var batch []rain.Entry
			for i := range 2 {
				wins := make([]rain.Win, 60)
				for w := range wins {
					wins[w] = rain.Win{User: "thief", Packet: 1, Drop: fmt.Sprint(w), Seal: "made up"}
				}
				batch = append(batch, rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-%d", n+2, i)},
					Wins: wins})
			}
			posted := b.MustPost(t, batch...)
			dead, dropped = dead+len(posted.Dead), dropped+posted.Dropped
		}
		if n := b.CountDead(t); dead != posting.MostUnsealed || n != dead || dropped != 12*120-dead {
			t.Errorf("%d are kept, %d said to be, %d dropped", n, dead, dropped)
		}
		reclaim := paytest.ReclaimEntry(0, 99, rain.Range{First: 0, Last: 9})
		reclaim.SealedAt++
		if posted := b.MustPost(t, reclaim, late); len(posted.Dead) != 1 || posted.Dead[0].User != "u1" ||
			posted.Dropped != 1 {
			t.Errorf("%+v", posted)
		}
		testenv.Got(b.BuryMessage(t.Context(), posting.Message{Name: "message-1", Payload: []byte("flood"),
			Reason: "no entry"})).Want(t, false, "kept")
		testenv.Got(b.Retry(t.Context(), "c1-0")).Len(t, 1, "settled claims")
		b.WantBalance(t, booking.EscrowAccount("c1"), 90)
		b.Statement(t, "UPDATE dead_letter SET resolved_at = 1 WHERE user_id = 'thief'")
		huge := make([]byte, 1<<20)
		testenv.Got(b.BuryMessage(t.Context(), posting.Message{Name: "message-1", Payload: huge,
			Reason: "no entry"})).Want(t, true, "kept")
		if n := b.Count(t, "SELECT MAX(LENGTH(payload)) FROM dead_letter"); n > 1<<16 {
			t.Errorf("%d bytes are kept of a message", n)
		}
	})
}

// TestAnUnpayableLookIsKept: by a tampered row, a player has all the allowed wins. Each later win is kept, and paid
// after the row is corrected.
func TestAnUnpayableLookIsKept(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const wins = 2 * posting.MostUnpayable
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 10 * (wins + 1), Packets: wins + 1})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", wins, 10)))
		b.Statement(t, fmt.Sprintf("UPDATE winner SET wins = %d WHERE user_id = 'u1'", wins+1))
		for n := range wins {
			posted := b.MustPost(t, paytest.Entry("c1", n+2, paytest.Win("u1", n, 10)))
			testenv.Equal(t, len(posted.Dead), 1, "dead letters of win %d", n)
		}
		b.Statement(t, "UPDATE winner SET wins = 1 WHERE user_id = 'u1'")
		retried := testenv.Got(b.RetryAll(t.Context(), "", func([]posting.Settlement) {})).Must(t)
		testenv.Equal(t, retried.Settled, wins, "settled")
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
	})
}

// TestAFloodOfOneLineIsBounded: an outsider writes a sealed line again and again, each time with another packet.
// Payable dead letters are kept all the same.
func TestAFloodOfOneLineIsBounded(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const packets = 2 * posting.MostUnpayable
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 10 * packets, Packets: packets})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		kept, dropped := 0, 0
		for n := range packets - 1 {
			posted := b.MustPost(t, paytest.Entry("c1", n+2,
				rain.Win{User: "u1", Packet: n + 1, Drop: paytest.DropOf(0)}))
			kept, dropped = kept+len(posted.Dead), dropped+posted.Dropped
		}
		if n := b.CountDead(t); n != posting.MostUnpayable || kept != n || dropped != packets-1-n {
			t.Errorf("%d are kept, %d said to be, %d dropped", n, kept, dropped)
		}
		giveUp(b, paytest.Entry("c1", 1000, paytest.Win("u1", 1, 10)))
		testenv.Got(b.Retry(t.Context(), "c1-1")).Len(t, 1, "settled claims")
		b.GiveEscrow(t, "c1", -(10*packets - 20))
		testenv.Equal(t, len(b.MustPost(t, paytest.Entry("c1", 1001, paytest.Win("u1", 2, 10))).Dead), 1,
			"dead letters of an escrow that holds less")
	})
}
