package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestRetryAll(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		const n = ledger.RetryPage + 10
		for i := range n { // of an unknown campaign
			b.MustPost(t, paytest.Entry("c1", i, paytest.Win(fmt.Sprintf("u%d", i), i, 1)))
		}
		b.MustPost(t, paytest.Entry("c2", 1, paytest.Win("u", 1, 1)))
		testenv.Must(t, testenv.Err(b.BuryMessage(ctx, posting.Message{Name: "message-1", Payload: []byte("{"),
			Reason: "no JSON"})))
		var told []posting.Settlement
		tell := func(s []posting.Settlement) { told = append(told, s...) }
		want := func(campaign string, r ledger.Redriven, all int, what string) {
			t.Helper()
			testenv.Got(b.RetryAll(ctx, campaign, tell)).Want(t, r, "%s", what)
			testenv.Equal(t, len(told), all, "%s reported", what)
		}
		want("", ledger.Redriven{Retried: n + 2, StillDead: n + 2}, 0, "nothing has changed")
		b.OpenCampaign(t, "c1", rain.Spec{Budget: n, Packets: n})
		allow := b.Refuse(t, "u7")
		want("c2", ledger.Redriven{Retried: 1, StillDead: 1}, 0, "only c2")
		want("", ledger.Redriven{Retried: n + 2, Settled: n - 1, StillDead: 3}, n-1, "all but three")
		allow()
		want("c1", ledger.Redriven{Retried: 1, Settled: 1}, n, "the last")
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
	})
}

// TestManyRetryTheSame: concurrent retries on all nodes settle each dead letter once.
func TestManyRetryTheSame(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const n = 50
		for i := range n {
			b.MustPost(t, paytest.Entry("c1", i, paytest.Win("u", i, 1)))
		}
		b.OpenCampaign(t, "c1", rain.Spec{Budget: n, Packets: n})
		var mu sync.Mutex
		told := map[string]int{}
		paytest.Together(4, func(int) {
			_, err := b.RetryAll(t.Context(), "", func(settled []posting.Settlement) {
				mu.Lock()
				defer mu.Unlock()
				for _, s := range settled {
					told[s.Claim]++
				}
			})
			testenv.WantErr(t, err, nil)
		})
		for claim, times := range told {
			if times != 1 {
				t.Errorf("%s was reported %d times", claim, times)
			}
		}
		if len(told) != n {
			t.Errorf("%d of %d dead letters", len(told), n)
		}
		b.WantBalance(t, booking.UserAccount("u"), n)
	})
}

// TestAReclaimLeavesWhatLettersWaitFor: Redis had forgotten wins that are paid or dead-lettered. A retry of such a
// dead letter finds its money.
func TestAReclaimLeavesWhatLettersWaitFor(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		home := func(name string, shard int) string { return paytest.Home(name, shard, 2) }
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win(home("u1", 0), 0, 10)))
		allow := b.Refuse(t, home("poison", 1))
		bad := paytest.ShardEntry("c1", 1, 2, paytest.Win(home("poison", 1), 5, 10))
		testenv.Must(t, testenv.Err(b.Attempt(ctx, bad, errors.New("refused"), 1)))
		c = b.CloseCampaign(t, c.ID)
		// Both shards have forgotten their wins. The win in the same batch comes before the reclaim.
		for try := range 3 {
			posted := b.MustPost(t, paytest.ReclaimEntry(0, 9, rain.Range{First: 0, Last: 4}),
				paytest.Entry("c1", 3, paytest.Win(home("u2", 0), 1, 10)),
				paytest.ReclaimEntry(1, 9, rain.Range{First: 5, Last: 9}))
			if len(posted.Dead) != 0 || len(posted.Cut) != map[bool]int{true: 2}[try == 0] {
				t.Errorf("try %d: %+v", try, posted)
			}
			b.WantBalance(t, booking.SponsorAccount("acme"), 30+40)
			b.WantBalance(t, booking.EscrowAccount("c1"), 10)
		}
		testenv.Equal(t, b.Count(t,
			"SELECT COUNT(*) FROM reclaim_cut WHERE asked = 50 AND (given = 30 AND shard = 0 "+
				"OR given = 40 AND shard = 1) AND reason <> ''"), 2, "of 2 are on record")
		testenv.Got(b.Cleared(ctx, "c1")).Want(t, true, "cleared")
		b.Drain(t, c.ID)
		if got := b.Prove(t, c, nil); got.Difference != 0 || got.Dead != 10 || got.Reclaimed != 70 {
			t.Errorf("%+v", got)
		}
		allow()
		testenv.Got(b.Retry(ctx, "c1-5")).Len(t, 1, "the held money is not there")
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
	})
}
