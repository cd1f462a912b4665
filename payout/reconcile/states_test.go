package reconcile_test

import (
	"errors"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestWhatIsLegalReconciles: every state that money can come to by the ledger's own doing has no findings, however
// closely one looks: given up, redriven, reclaimed with less than was asked for, abandoned.
func TestWhatIsLegalReconciles(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		f := paytest.NewFakeRedis(b.Clock.Now)
		check := func(what string) {
			t.Helper()
			books, err := b.Proof.ReconcileAll(ctx, f, func(id string, r reconcile.Reconciliation, err error) {
				if err != nil || !r.Balanced {
					t.Errorf("%s: campaign %s: %+v, %v", what, id, r, err)
				}
			})
			if err != nil || !books.Balanced {
				t.Errorf("%s: %v, %v", what, books.Findings, err)
			}
		}
		giveUp := func(campaign string) {
			t.Helper()
			entries, err := f.Oldest(campaign, 0, 10)
			if err != nil || len(entries) != 1 {
				t.Fatal(entries, err)
			}
			if tried, err := b.Attempt(ctx, entries[0], errors.New("refused"), 2); err != nil || tried.GivenUp {
				t.Fatal(err)
			}
			check("tried once")
			if tried, err := b.Attempt(ctx, entries[0], errors.New("refused"), 2); err != nil || !tried.GivenUp {
				t.Fatal(err)
			}
			check("given up, and still in the outbox")
			paytest.Must(t, f.Remove(ctx, []rain.EntryRef{entries[0].Ref}))
			check("given up")
		}
		drain := func(campaign string) {
			t.Helper()
			if cleared, err := b.Cleared(ctx, campaign); err != nil || !cleared {
				t.Errorf("%s is not cleared: %v", campaign, err)
			}
			if _, err := b.Update(ctx, campaign, func(c *rain.Campaign) error {
				c.Drained = true
				return c.Close(b.Clock.Now())
			}); err != nil {
				t.Fatal(err)
			}
		}

		// A win and then the rest are given up, and redriven one after the other.
		f.Open(b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}))
		f.Win("c1", 0, "u1", "u2")
		giveUp("c1")
		b.CloseCampaign(t, "c1")
		f.Close("c1", 0)
		giveUp("c1")
		if _, err := b.Retry(ctx, "c1-1"); err != nil {
			t.Error(err)
		}
		check("one win is redriven")
		drain("c1")
		check("drained but for its dead letters")
		if r, err := b.RetryAll(ctx, "c1", func([]posting.Settlement) {}); err != nil || r.Settled != 2 {
			t.Errorf("%+v, %v", r, err)
		}
		check("all is redriven")
		b.WantBalance(t, booking.SponsorAccount("acme"), 80)

		// Redis has lost all of a campaign and of what it asked for before nothing was left.
		c2 := b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 2})
		b.MustPost(t, paytest.Entry("c2", 1, paytest.Win("u1", 0, 50), paytest.Win("u2", 1, 50)))
		b.CloseCampaign(t, "c2")
		if posted := b.MustPost(t, paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c2", ID: "9-0"},
			Reclaim: &rain.Reclaim{Numbers: paytest.Packets(1, 1)}})); len(posted.Cut) != 1 {
			t.Errorf("%+v", posted)
		}
		drain("c2")
		f.Open(c2)
		f.Lose("c2", 0)
		check("cut to nothing")

		// Given up before it was stocked; Redis has some of it, and asks for it.
		paytest.Must(t, b.CreateCampaign(ctx, b.LoadingCampaign(t, "c3")))
		c3, err := b.Campaign(ctx, "c3")
		paytest.Must(t, err)
		f.Open(c3)
		check("loading")
		paytest.Must(t, testenv.Err(b.Abandon(ctx, "c3")))
		check("abandoned")
		for shard := range c3.Shards {
			f.Close("c3", shard)
			check("abandoned and closed")
			for _, e := range f.Shards[paytest.FakeKey{Campaign: "c3", Shard: shard}].Entries {
				b.MustPost(t, e)
			}
		}
		drain("c3")
		check("abandoned and drained")
		b.CheckBooks(t)
	})
}
