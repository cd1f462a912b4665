package posting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/history"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// closing gives back what shard 0 of a campaign has left.
func closing(campaign string, n int, packets ...rain.Range) rain.Entry {
	e := paytest.ReclaimEntry(0, n, packets...)
	e.Ref.Campaign = campaign
	return paytest.Seal(e)
}

// TestNothingGoesBackByATamperedRow: whatever somebody has changed of a campaign, its rest waits, is no dead letter,
// and holds up nothing else of its batch. Once it is put right, all of it is its sponsor's, also for a node that has
// read the campaign meanwhile.
func TestNothingGoesBackByATamperedRow(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "other", rain.Spec{Budget: 1000, Packets: 100, Sponsor: "other"})
		b.CloseCampaign(t, "other")
		for i, by := range []struct{ change, back string }{
			{"UPDATE campaign SET sponsor = 'beta' WHERE id = ?", "UPDATE campaign SET sponsor = 'acme' WHERE id = ?"},
			{"UPDATE campaign SET status = 'open' WHERE id = ?", "UPDATE campaign SET status = 'closed' WHERE id = ?"},
			{"UPDATE campaign SET budget = 120 WHERE id = ?", "UPDATE campaign SET budget = 100 WHERE id = ?"},
			{"UPDATE campaign SET revision = 90 + revision WHERE id = ?",
				"UPDATE campaign SET revision = revision - 90 WHERE id = ?"},
			{"UPDATE rain SET duration_ms = duration_ms + 1 WHERE campaign_id = ?",
				"UPDATE rain SET duration_ms = duration_ms - 1 WHERE campaign_id = ?"},
			{"UPDATE entry SET account_id = 'sponsor:beta' WHERE amount < 0 AND txn_id IN " +
				"(SELECT id FROM txn WHERE idem_key = CONCAT('fund:', ?))",
				"UPDATE entry SET account_id = 'sponsor:acme' WHERE amount < 0 AND txn_id IN " +
					"(SELECT id FROM txn WHERE idem_key = CONCAT('fund:', ?))"},
			{"UPDATE txn SET idem_key = CONCAT('-', idem_key) WHERE idem_key = CONCAT('fund:', ?)",
				"UPDATE txn SET idem_key = SUBSTR(idem_key, 2) WHERE idem_key = CONCAT('-fund:', ?)"},
		} {
			id := fmt.Sprintf("c%d", i)
			hand := func(statement string) {
				t.Helper()
				if n, err := b.DB.Exec(t.Context(), statement, id); err != nil || n == 0 {
					t.Fatalf("%s: %d rows, %v", statement, n, err)
				}
			}
			b.OpenCampaign(t, id, rain.Spec{Budget: 100, Packets: 10})
			b.CloseCampaign(t, id)
			before := b.Count(t, "SELECT amount FROM balance WHERE account_id = 'sponsor:acme'")
			all := closing(id, 2, rain.Range{First: 0, Last: 9})
			hand(by.change)
			node := paytest.Node(t, b)
			posted, err := node.Poster.Post(t.Context(), []rain.Entry{all,
				closing("other", i+1, rain.Range{First: i, Last: i})})
			if err != nil || len(posted.Waiting) != 1 || posted.Waiting[0].Ref != all.Ref ||
				!errors.Is(posted.Waiting[0].Cause, history.ErrTampered) || len(posted.Dead) != 0 {
				t.Errorf("%s: %+v, %v", by.change, posted, err)
			}
			b.WantBalance(t, booking.EscrowAccount(id), 100)
			b.WantBalance(t, booking.SponsorAccount("other"), rain.Money(10*(i+1)))
			if _, err := b.Attempt(t.Context(), all, errors.New("refused"), 1); !errors.Is(err, history.ErrTampered) {
				t.Errorf("%s: given up: %v", by.change, err)
			}
			hand(by.back)
			for _, poster := range []*posting.Poster{node.Poster, b.Poster} {
				if posted, err := poster.Post(t.Context(), paytest.Copies([]rain.Entry{all})); err != nil ||
					len(posted.Waiting)+len(posted.Dead)+len(posted.Cut) != 0 {
					t.Errorf("put right after %s: %+v, %v", by.change, posted, err)
				}
			}
			b.WantBalance(t, booking.EscrowAccount(id), 0)
			b.WantBalance(t, booking.SponsorAccount("acme"), rain.Money(before+100))
		}
		if n := b.CountDead(t); n != 0 {
			t.Errorf("%d dead letters", n)
		}
		b.CheckBooks(t)
		b.CheckChains(t)
	})
}

// TestATamperedRowHoldsUpNoWin: players of the campaign are paid all the same, also out of the entry that gives the
// rest back.
func TestATamperedRowHoldsUpNoWin(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.CloseCampaign(t, "c1")
		b.MustPost(t, paytest.Entry("c1", 3, paytest.Win("u0", 9, 10))) // so that the poster knows it
		both := paytest.ReclaimEntry(0, 2, rain.Range{First: 2, Last: 8})
		both.Wins = []rain.Win{paytest.Win("u2", 1, 10)}
		entries := []rain.Entry{paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)), paytest.Seal(both)}
		b.Statement(t, "UPDATE campaign SET sponsor = 'beta' WHERE id = 'c1'")
		if posted := b.MustPost(t, paytest.Copies(entries)...); posted.New != 2 || len(posted.Waiting) != 1 {
			t.Errorf("%+v", posted)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 10)
		b.WantBalance(t, booking.UserAccount("u2"), 10)
		b.WantBalance(t, booking.EscrowAccount("c1"), 70)
		b.Statement(t, "UPDATE campaign SET sponsor = 'acme' WHERE id = 'c1'")
		posted := b.MustPost(t, entries...)
		if posted.New != 0 || len(posted.Settled) != 2 || len(posted.Waiting) != 0 {
			t.Errorf("%+v", posted)
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 70)
		b.CheckBooks(t)
	})
}

// TestALetterGivesNothingBackByATamperedRow: neither retried nor dismissed.
func TestALetterGivesNothingBackByATamperedRow(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		early := paytest.ReclaimEntry(0, 2, rain.Range{First: 0, Last: 9})
		wantDead(t, "of an open campaign", b.MustPost(t, early), posting.LetterReclaim, "not closed")
		b.CloseCampaign(t, "c1")
		b.Statement(t, "UPDATE campaign SET sponsor = 'beta' WHERE id = 'c1'")
		if _, err := b.Retry(t.Context(), early.Ref.String()); !errors.Is(err, history.ErrTampered) {
			t.Errorf("retried: %v", err)
		}
		if _, err := b.Dismiss(t.Context(), early.Ref.String(), 0, "nobody's"); !errors.Is(err,
			ledger.ErrNotDismissed) || !strings.Contains(err.Error(), history.ErrTampered.Error()) {
			t.Errorf("dismissed: %v", err)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 100)
		b.Statement(t, "UPDATE campaign SET sponsor = 'acme' WHERE id = 'c1'")
		if _, err := b.Retry(t.Context(), early.Ref.String()); err != nil {
			t.Errorf("put right: %v", err)
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 100)
		b.CheckBooks(t)
	})
}
