package posting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// one is the range of one packet.
func one(packet int) rain.Range { return rain.Range{First: packet, Last: packet} }

// TestAMoveThatCannotBe gets no row. Its packets are not the shard's, or are paid or returned, another row has its
// id, or its shards or numbers are impossible.
func TestAMoveThatCannotBe(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		first := lent("m1", 1, 1, rain.Range{First: 2, Last: 3}, one(0))
		testenv.Must(t, b.Moves.Write(ctx, "c1", 0, first))
		testenv.Must(t, b.Moves.Done(ctx, "m1", 5))
		b.MustPost(t, paytest.ShardEntry("c1", 1, 1, paytest.Win(paytest.Home("u", 1, 3), 5, 0)))
		for what, m := range map[string]struct {
			campaign, id string
			from, to     int
			number       int64
			numbers      rain.Numbers
			reason       string
		}{
			"to itself":           {from: 2, to: 2, numbers: rain.Numbers{one(8)}, reason: "are the same"},
			"to a shard beyond":   {from: 2, to: 3, numbers: rain.Numbers{one(8)}, reason: "no shards"},
			"to a shard below":    {from: 2, to: -1, numbers: rain.Numbers{one(8)}, reason: "no shards"},
			"from a shard beyond": {from: 3, to: 1, numbers: rain.Numbers{one(8)}, reason: "no shards"},
			"of no campaign": {campaign: "c9", from: 2, to: 1, numbers: rain.Numbers{one(8)},
				reason: "no such campaign"},
			"of nothing": {from: 2, to: 1, reason: "no such packets"},
			"of packets beyond": {from: 2, to: 1, numbers: rain.Numbers{{First: 8, Last: 12}},
				reason: "no such packets"},
			"of packets backwards": {from: 2, to: 1, numbers: rain.Numbers{{First: 9, Last: 8}},
				reason: "no such packets"},
			"of another's packets": {from: 2, to: 1, numbers: rain.Numbers{one(1)}, reason: "does not have"},
			"of one packet too many": {from: 2, to: 1, numbers: rain.Numbers{{First: 7, Last: 9}},
				reason: "have packets 7-7 after"},
			"of what it lent before": {from: 0, to: 2, numbers: rain.Numbers{one(2)}, reason: "does not have"},
			"of a packet twice":      {from: 2, to: 1, numbers: rain.Numbers{one(8), one(8)}, reason: "duplicate"},
			"of a packet that is paid": {from: 1, to: 2, number: 6, numbers: rain.Numbers{{First: 4, Last: 6}},
				reason: "5 is paid"},
			"with a number that was": {from: 0, to: 2, number: 1, numbers: rain.Numbers{one(1)}, reason: "number 1"},
			"with one that came by":  {from: 1, to: 2, number: 5, numbers: rain.Numbers{one(2)}, reason: "number 5"},
			"with number zero": {from: 2, to: 1, number: -1, numbers: rain.Numbers{one(8)},
				reason: "counts from"},
			"that has another row": {id: "m1", from: 0, to: 1, number: 1, numbers: rain.Numbers{one(1)},
				reason: "its row"},
			"to elsewhere by its row": {id: "m1", from: 0, to: 2, number: 1, numbers: first.Numbers,
				reason: "its row"},
			"of another shard's id": {id: "m1", from: 2, to: 1, number: 1, numbers: rain.Numbers{one(8)},
				reason: "its row"},
			"of another campaign's id": {id: "m1", campaign: "c2", from: 0, to: 1, number: 1, numbers: first.Numbers,
				reason: "its row"},
		} {
			forged := lent("forged", m.to, 2, m.numbers...)
			if m.number != 0 {
				forged.Number = m.number
			}
			if m.id != "" {
				forged.Move = m.id
			}
			campaign := "c1"
			if m.campaign != "" {
				campaign = m.campaign
			}
			err := b.Moves.Write(ctx, campaign, m.from, forged)
			if !errors.Is(err, posting.ErrMoveRefused) || !strings.Contains(err.Error(), m.reason) {
				t.Errorf("%s: %v", what, err)
			}
		}
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM move"), 1, "rows")
		// Packets that have moved may move on, and back. Numbers may skip moves that have no row yet.
		testenv.Must(t, b.Moves.Write(ctx, "c1", 1, lent("m2", 2, 300, one(2), one(6))))
		testenv.Must(t, b.Moves.Write(ctx, "c1", 2, lent("m3", 0, 1, one(2))))
		testenv.Must(t, b.Moves.Write(ctx, "c1", 0, lent("m4", 2, 2, one(2))))
		testenv.Equal(t, testenv.Got(b.Holding(ctx, c, 2)).Must(t).Numbers.String(), "2-2 6-6 8-11", "its packets")
	})
}

// TestAMoveOfAClosedCampaign: a loan from before the closing still moves, so that it returns to the sponsor. Returned
// packets do not move any more.
func TestAMoveOfAClosedCampaign(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		b.CloseCampaign(t, "c1")
		b.MustPost(t, paytest.ReclaimEntry(0, 1, rain.Range{First: 0, Last: 1}))
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("m1", 1, 1, rain.Range{First: 2, Last: 3})))
		err := b.Moves.Write(t.Context(), "c1", 0, lent("m2", 1, 2, one(1)))
		if !errors.Is(err, posting.ErrMoveRefused) || !strings.Contains(err.Error(), "1-1 were returned") {
			t.Error(err)
		}
		b.MustPost(t, paytest.ReclaimEntry(1, 1, rain.Range{First: 4, Last: 7}, rain.Range{First: 2, Last: 3}),
			paytest.ReclaimEntry(2, 1, rain.Range{First: 8, Last: 11}))
		b.WantBalance(t, booking.SponsorAccount("acme"), 120)
	})
}

// TestTwoNodesClaimAPacket: of many concurrent rows with the same packets, one is written.
func TestTwoNodesClaimAPacket(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		paytest.WantOfMany(t, 8, 1, posting.ErrMoveRefused, func(n int) error {
			return b.Moves.Write(t.Context(), "c1", 0, lent(string(rune('a'+n)), 1+n%2, int64(n+1),
				rain.Range{First: 1, Last: 3}))
		})
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM move"), 1, "rows")
	})
}

// TestAnArrivalWithAMadeUpNumber: the move is done, and its number is not stored. A wrong number would make the shard
// look as if it had gone back in time forever.
func TestAnArrivalWithAMadeUpNumber(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		for i, number := range []int64{1 << 60, -1} {
			m := lent(string(rune('a'+i)), 1, int64(i+1), one(i))
			testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, m))
			testenv.WantErr(t, b.Moves.Done(t.Context(), m.Move, number), posting.ErrMoveRefused,
				fmt.Sprintf("number %d", number))
			testenv.Must(t, b.Moves.Done(t.Context(), m.Move, number)) // it is done
		}
		known, err := b.Moves.Known(t.Context(), c)
		if err != nil || known[1].Moves != 0 {
			t.Errorf("%+v, %v", known, err)
		}
		testenv.Got(b.Moves.Open(t.Context(), "c1")).Len(t, 0, "open moves")
		b.MustFence(t, 1) // a number of an earlier epoch is not forged
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("z", 1, 3, one(3))))
		testenv.Must(t, b.Moves.Done(t.Context(), "z", 3))
	})
}

// TestAReclaimOfAnotherShardsPackets: the seal of a closing does not cover its numbers. A shard returns only its own
// packets by the moves. A reclaim with no own packets becomes a dead letter. Each shard's own packets return all the
// same, and a later win of another shard is paid.
func TestAReclaimOfAnotherShardsPackets(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("m1", 1, 1, rain.Range{First: 2, Last: 3})))
		b.CloseCampaign(t, "c1")
		altered := paytest.ReclaimEntry(0, 1, rain.Range{First: 0, Last: 6})
		posted := b.MustPost(t, altered)
		if len(posted.Dead) != 0 || len(posted.Cut) != 1 || posted.Cut[0].Given != 20 || posted.Cut[0].Asked != 70 ||
			!strings.Contains(posted.Cut[0].Reason, "packets 2-6 are not its own") {
			t.Errorf("%+v", posted)
		}
		if again := b.MustPost(t, altered); len(again.Cut)+len(again.Dead) != 0 {
			t.Errorf("again: %+v", again)
		}
		foreign := paytest.ReclaimEntry(2, 1, rain.Range{First: 1, Last: 3})
		wantDead(t, "of others", b.MustPost(t, foreign), posting.LetterForged, "shard 2 has none of packets 1-3")
		if again := b.MustPost(t, foreign); len(again.Cut)+len(again.Dead) != 0 {
			t.Errorf("again: %+v", again)
		}
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), foreign.Ref.String())), ledger.ErrStillDead)
		// A win on shard 1, of a packet that shard 0 named, was in flight.
		testenv.Equal(t, b.MustPost(t, paytest.ShardEntry("c1", 1, 1, paytest.Win(paytest.Home("u", 1, 3), 3, 0))).New,
			1, "new")
		b.MustPost(t, paytest.ReclaimEntry(1, 2, rain.Range{First: 4, Last: 7}, one(2)),
			paytest.ReclaimEntry(2, 2, rain.Range{First: 8, Last: 11}))
		b.WantBalance(t, booking.SponsorAccount("acme"), 110)
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		testenv.Got(b.Cleared(t.Context(), "c1")).Want(t, true, "cleared")
	})
}

// TestAWinOfWhatWentBackElsewhere: a packet moved and was returned by its new shard. Then a win of it comes from the
// old shard, whose Redis had forgotten the move. It is refused, and so is its retry.
func TestAWinOfWhatWentBackElsewhere(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 80, Packets: 8, Shards: 2})
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("m1", 1, 1, one(3))))
		b.CloseCampaign(t, "c1")
		b.MustPost(t, paytest.ReclaimEntry(1, 1, rain.Range{First: 4, Last: 7}, one(3)))
		late := paytest.ShardEntry("c1", 0, 9, paytest.Win(paytest.Home("u", 0, 2), 3, 0))
		wantDead(t, "given back", b.MustPost(t, late), posting.LetterPay, "returned")
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-3")), ledger.ErrStillDead)
		b.WantBalance(t, booking.SponsorAccount("acme"), 50)
		b.WantBalance(t, booking.UserAccount(paytest.Home("u", 0, 2)), 0)
	})
}
