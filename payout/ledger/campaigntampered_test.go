package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/history"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestATamperedCampaignStaysAsItIs: nothing is done with a campaign that somebody has changed by hand, and no later
// line of its history makes it whole.
func TestATamperedCampaignStaysAsItIs(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		loading := b.LoadingCampaign(t, "c2")
		paytest.Must(t, b.CreateCampaign(ctx, loading))
		lines := func() int { return b.Count(t, "SELECT COUNT(*) FROM history WHERE kind = 'campaign'") }
		noted, booked := lines(), b.Count(t, "SELECT COUNT(*) FROM txn")
		for _, hand := range []struct{ column, value string }{
			{"sponsor", "'beta'"}, {"status", "'closed'"}, {"expires_at", "1"}, {"name", "'other'"},
			{"budget", "budget + 10"}, {"drained", "1"},
		} {
			for _, id := range []string{"c1", "c2"} {
				var was string
				if _, err := b.DB.First(ctx, []any{&was}, "SELECT "+hand.column+" FROM campaign WHERE id = ?",
					id); err != nil {
					t.Fatal(err)
				}
				b.Statement(t, "UPDATE campaign SET "+hand.column+" = "+hand.value+" WHERE id = '"+id+"'")
				_, whole := b.WholeCampaign(ctx, id)
				_, updated := b.Update(ctx, id, func(c *rain.Campaign) error { return c.Close(b.Clock.Now()) })
				_, abandoned := b.Abandon(ctx, id)
				for what, err := range map[string]error{"read": whole, "closed": updated, "abandoned": abandoned} {
					if !errors.Is(err, history.ErrTampered) {
						t.Errorf("%s by hand, %s %s: %v", hand.column, id, what, err)
					}
				}
				if _, err := b.DB.Exec(ctx, "UPDATE campaign SET "+hand.column+" = ? WHERE id = ?", was,
					id); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := lines() - noted + b.Count(t, "SELECT COUNT(*) FROM txn") - booked; n != 0 {
			t.Errorf("%d lines and transactions were written", n)
		}
		if c, err := b.WholeCampaign(ctx, "c1"); err != nil || c.ID != "c1" {
			t.Errorf("put right: %+v, %v", c, err)
		}
		if _, err := b.Abandon(ctx, "c2"); err != nil {
			t.Errorf("put right: %v", err)
		}
		b.CloseCampaign(t, "c1")
		b.CheckBooks(t)
	})
}

// TestAHeldWinIsNotConfirmedByATamperedRow: it may name another sponsor. The player may have it, and wins of other
// campaigns go back.
func TestAHeldWinIsNotConfirmedByATamperedRow(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		l, entries := heldBooks(b)
		b.OpenCampaign(t, "d", rain.Spec{Budget: 100, Packets: 10})
		entries = append(entries, paytest.Entry("d", int(b.Clock.Now()), paytest.Win("bot", 0, 10)))
		if posted, err := l.Poster.Post(ctx, entries); err != nil || posted.Held != 4 {
			t.Fatalf("%+v, %v", posted, err)
		}
		is := &heldTest{t, b}
		sponsor := sponsorsMoney(b)
		b.Statement(t, "UPDATE campaign SET sponsor = 'beta' WHERE id = 'c'")
		if done, err := l.Risk.Confirm(ctx, claims(1, 2), looker); !errors.Is(err, history.ErrTampered) {
			t.Errorf("%+v, %v", done, err)
		}
		done, err := l.Risk.Confirm(ctx, append(claims(1, 2), "d-0"), looker)
		if err != nil || !slices.Equal(done.Left, claims(1, 2)) || done.Wins[0].State != ledger.HeldOpen ||
			done.Wins[2].State != ledger.HeldConfirmed {
			t.Errorf("%+v, %v", done, err)
		}
		if done, err := l.Risk.Release(ctx, claims(4), looker); err != nil || len(done.Released) != 1 {
			t.Errorf("%+v, %v", done, err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM balance WHERE account_id = 'sponsor:beta'"); n != 0 {
			t.Error("somebody else has got some of it")
		}
		b.Statement(t, "UPDATE campaign SET sponsor = 'acme' WHERE id = 'c'")
		if done, err := l.Risk.Confirm(ctx, claims(1, 2), looker); err != nil || len(done.Left) != 0 {
			t.Errorf("put right: %+v, %v", done, err)
		}
		is.balances(20, 0, sponsor+30)
	})
}

// TestAHistoryThatIsAddedByHand is none: neither the line before it nor any other row vouches for what it says.
func TestAHistoryThatIsAddedByHand(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		open := func(c *rain.Campaign) error { return c.Resume() }
		if _, err := b.Update(ctx, "c1", (*rain.Campaign).Pause); err != nil {
			t.Fatal(err)
		}
		// The row as it was before the pause, and a line that says so again.
		b.Statement(t, "UPDATE campaign SET status = 'open', revision = revision - 1 WHERE id = 'c1'")
		for what, line := range map[string]string{
			"in no chain":    "version + 10, digest, stripe, NULL, hash",
			"in a new one":   "version + 10, digest, 999, 1, hash",
			"behind the end": "version + 10, digest, stripe, link + 1000, hash",
		} {
			b.Statement(t, "INSERT INTO history (at, kind, thing, version, digest, stripe, link, hash) "+
				"SELECT at, kind, thing, "+line+" FROM history WHERE kind = 'campaign' AND thing = 'c1' "+
				"AND version = 2")
			_, whole := b.WholeCampaign(ctx, "c1")
			_, updated := b.Update(ctx, "c1", open)
			if !errors.Is(whole, history.ErrTampered) || !errors.Is(updated, history.ErrTampered) {
				t.Errorf("%s: %v, %v", what, whole, updated)
			}
			b.Statement(t, "DELETE FROM history WHERE kind = 'campaign' AND thing = 'c1' AND version > 9")
		}
		b.Statement(t, "UPDATE campaign SET status = 'paused', revision = revision + 1 WHERE id = 'c1'")
		if _, err := b.Update(ctx, "c1", open); err != nil {
			t.Errorf("put right: %v", err)
		}
	})
}
