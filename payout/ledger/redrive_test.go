package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestRetryAll(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		const n = ledger.RetryPage + 10
		for i := range n { // of a campaign that nobody knows
			b.MustPost(t, paytest.Entry("c1", i, paytest.Win(fmt.Sprintf("u%d", i), i, 1)))
		}
		b.MustPost(t, paytest.Entry("c2", 1, paytest.Win("u", 1, 1)))
		if err := b.BuryMessage(ctx, "message-1", []byte("{"), "no JSON"); err != nil {
			t.Fatal(err)
		}
		var told []posting.Settlement
		tell := func(s []posting.Settlement) { told = append(told, s...) }
		if r, err := b.RetryAll(ctx, "", tell); err != nil ||
			r != (ledger.Redriven{Retried: n + 2, StillDead: n + 2}) ||
			len(told) != 0 {
			t.Errorf("nothing has changed: %+v, %d told, %v", r, len(told), err)
		}
		b.OpenCampaign(t, "c1", rain.Spec{Budget: n, Packets: n})
		allow := b.Refuse(t, "u7")
		if r, err := b.RetryAll(ctx, "c2", tell); err != nil || r != (ledger.Redriven{Retried: 1, StillDead: 1}) ||
			len(told) != 0 {
			t.Errorf("only c2: %+v, %d told, %v", r, len(told), err)
		}
		if r, err := b.RetryAll(ctx, "", tell); err != nil ||
			r != (ledger.Redriven{Retried: n + 2, Settled: n - 1, StillDead: 3}) || len(told) != n-1 {
			t.Errorf("all but three: %+v, %d told, %v", r, len(told), err)
		}
		allow()
		if r, err := b.RetryAll(ctx, "c1", tell); err != nil || r != (ledger.Redriven{Retried: 1, Settled: 1}) ||
			len(told) != n {
			t.Errorf("the last: %+v, %d told, %v", r, len(told), err)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		b.CheckBooks(t)
	})
}

// TestManyRetryTheSame: operators on all nodes at once settle each letter once.
func TestManyRetryTheSame(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		const n = 50
		for i := range n {
			b.MustPost(t, paytest.Entry("c1", i, paytest.Win("u", i, 1)))
		}
		b.OpenCampaign(t, "c1", rain.Spec{Budget: n, Packets: n})
		var wg sync.WaitGroup
		var mu sync.Mutex
		told := map[string]int{}
		for range 4 {
			wg.Go(func() {
				_, err := b.RetryAll(t.Context(), "", func(settled []posting.Settlement) {
					mu.Lock()
					defer mu.Unlock()
					for _, s := range settled {
						told[s.Claim]++
					}
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for claim, times := range told {
			if times != 1 {
				t.Errorf("%s was told %d times", claim, times)
			}
		}
		if len(told) != n {
			t.Errorf("%d of %d letters", len(told), n)
		}
		b.WantBalance(t, booking.UserAccount("u"), n)
		b.CheckBooks(t)
	})
}

// TestRetryAfterARebuild: a promise that waits was kept back by the rebuild, and is paid. An entry in a message
// that nobody could settle was not: its packet is on offer again, so it is not paid any more.
func TestRetryAfterARebuild(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		if _, err := b.Attempt(t.Context(), paytest.Entry("c1", 1, paytest.Win("promised", 0, 10)),
			errors.New("refused"),
			1); err != nil {
			t.Fatal(err)
		}
		astray, err := json.Marshal(paytest.Entry("c1", 2, paytest.Win("astray", 1, 10)))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.BuryMessage(t.Context(), "message-1", astray, "on a wrong subject"); err != nil {
			t.Fatal(err)
		}
		attempt, err := b.BeginRebuild(t.Context(), "c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Fence(t.Context(), "c1", 0, attempt); err != nil {
			t.Fatal(err)
		}
		if taken := b.Assigned(t, c); len(taken) != 1 || taken[0].Win.User != "promised" {
			t.Fatalf("taken: %+v", taken)
		}
		if r, err := b.RetryAll(t.Context(), "", func([]posting.Settlement) {}); err != nil ||
			r != (ledger.Redriven{Retried: 2, Settled: 1, StillDead: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := b.Retry(t.Context(), "message-1"); !errors.Is(err, ledger.ErrStillDead) ||
			!strings.Contains(err.Error(), "void") {
			t.Errorf("a late entry in a message: %v", err)
		}
		b.WantBalance(t, booking.UserAccount("promised"), 10)
		b.WantBalance(t, booking.UserAccount("astray"), 0)
		living := paytest.Entry("c1", 0, paytest.Win("living", 1, 10))
		living.Ref.ID = "9763712000000-0"
		if p := b.MustPost(t, living); p.New != 1 {
			t.Errorf("a win of the living: %+v", p)
		}
		b.CheckBooks(t)
	})
}

// TestAReclaimTakesNoMoreThanItsShards: Redis had forgotten wins that are paid, or wait as dead letters.
func TestAReclaimTakesNoMoreThanItsShards(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		reclaim := func(campaign string, shard, packets int, amount rain.Money) rain.Entry {
			return rain.Entry{
				Ref:     rain.EntryRef{Campaign: campaign, Shard: shard, ID: "9-0"},
				Reclaim: &rain.Reclaim{Packets: packets, Amount: amount},
			}
		}
		b.OpenCampaign(t, "another", rain.Spec{Budget: 8, Packets: 4, Shards: 2}) // whose split is not c1's
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		allow := b.Refuse(t, "poison")
		bad := rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: 1, ID: "2-0"},
			Wins: []rain.Win{paytest.Win("poison", 5, 10)}}
		if _, err := b.Attempt(ctx, bad, errors.New("refused"), 1); err != nil {
			t.Fatal(err)
		}
		// Both shards have forgotten what was won of them. The win that comes in the same batch stands before the
		// reclaim.
		for try := range 3 {
			posted := b.MustPost(t, reclaim("c1", 0, 5, 50), paytest.Entry("c1", 3, paytest.Win("u2", 1, 10)),
				reclaim("c1", 1, 5, 50))
			if len(posted.Dead) != 0 || len(posted.Cut) != map[bool]int{true: 2}[try == 0] {
				t.Errorf("try %d: %+v", try, posted)
			}
			b.WantBalance(t, booking.SponsorAccount("acme"), 30+40)
			b.WantBalance(t, booking.EscrowAccount("c1"), 10)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM reclaim_cut WHERE asked = 50 AND (given = 30 AND shard = 0 "+
			"OR given = 40 AND shard = 1) AND reason <> ''"); n != 2 {
			t.Errorf("%d of 2 are on record", n)
		}
		if cleared, err := b.Cleared(ctx, "c1"); err != nil || !cleared {
			t.Errorf("cleared %v, %v", cleared, err)
		}
		drained := *c
		drained.Drained = true
		if got := b.Prove(t, &drained, nil); got.Difference != 0 || got.Dead != 10 || got.Reclaimed != 70 {
			t.Errorf("%+v", got)
		}
		allow()
		if settled, err := b.Retry(ctx, "c1-5"); err != nil || len(settled) != 1 {
			t.Errorf("the held money is not there: %v", err)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)

		// All of a shard is somebody's: there is nothing to give back, and that is the end of it.
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 2})
		b.MustPost(t, paytest.Entry("c2", 1, paytest.Win("u1", 0, 50), paytest.Win("u2", 1, 50)))
		if posted := b.MustPost(t, reclaim("c2", 0, 1, 50)); len(posted.Cut) != 1 || posted.Cut[0].Given != 0 ||
			len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		if posted := b.MustPost(t, reclaim("c2", 0, 1, 50)); len(posted.Cut)+len(posted.Dead) != 0 {
			t.Errorf("a copy: %+v", posted)
		}
		// With one shard, what is left in the escrow may be what a dead letter waits for.
		b.OpenCampaign(t, "c3", rain.Spec{Budget: 100, Packets: 2})
		if _, err := b.Attempt(ctx, paytest.Entry("c3", 1, paytest.Win("u3", 0, 50)), errors.New("refused"),
			1); err != nil {
			t.Fatal(err)
		}
		if posted := b.MustPost(t, reclaim("c3", 0, 2, 100)); len(posted.Cut) != 1 || posted.Cut[0].Given != 50 {
			t.Errorf("%+v", posted)
		}
		if settled, err := b.Retry(ctx, "c3-0"); err != nil || len(settled) != 1 {
			t.Errorf("the held money is not there: %v", err)
		}
		b.WantBalance(t, booking.EscrowAccount("c3"), 0)
		b.CheckBooks(t)
	})
}
