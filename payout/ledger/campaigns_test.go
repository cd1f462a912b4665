package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestMain(m *testing.M) { paytest.Main(m) }

func TestCampaignComesBackAsItWas(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		want := paytest.FullCampaign("c1")
		testenv.Must(t, testenv.Err(b.Deposit(ctx, "acme", "r", 130)))
		testenv.Must(t, b.CreateCampaign(ctx, want.Clone()))
		b.WantBalance(t, booking.SponsorAccount("acme"), 30)
		b.WantBalance(t, booking.EscrowAccount("c1"), 100)
		var got *rain.Campaign
		check := func(what string) {
			t.Helper()
			var err error
			// A second ledger, without the first one's caches.
			if got, err = ledger.New(b.DB, b.Clock.Now, rain.NewAmountsCache()).Campaigns.Campaign(ctx,
				"c1"); err != nil {
				t.Fatal(err)
			}
			testenv.Equal(t, cmp.Diff(want, got, cmp.Comparer(func(x, y rain.Seed) bool { return x == y })), "", "%s",
				what)
		}
		check("as created")

		change := func(c *rain.Campaign) error {
			c.Stocked()
			_, err := c.AddRain("r1", rain.DefaultRain(), rain.Seed{1}, 10)
			return err
		}
		testenv.Must(t, change(want))
		want.Revision = 2
		testenv.Must(t, testenv.Err(b.Update(ctx, "c1", change)))
		check("with a rain")

		change = func(c *rain.Campaign) error { _, err := c.StopRain("r1", 4000); c.ExpiresAt++; return err }
		testenv.Must(t, change(want))
		want.Revision = 3
		testenv.Must(t, testenv.Err(b.Update(ctx, "c1", change)))
		check("with the rain stopped")
	})
}

func TestCreateCampaignRefusals(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		testenv.WantErr(t, b.CreateCampaign(ctx, paytest.FullCampaign("c1")), ledger.ErrUnknownSponsor)
		testenv.Must(t, testenv.Err(b.Deposit(ctx, "acme", "r", 99)))
		if err := b.CreateCampaign(ctx, paytest.FullCampaign("c1")); !errors.Is(err, booking.ErrInsufficientFunds) ||
			errors.Is(err, ledger.ErrUnknownSponsor) {
			t.Error(err)
		}
		testenv.WantErr(t, testenv.Err(b.Campaign(ctx, "c1")), posting.ErrUnknownCampaign,
			"the refused campaign is there")
		b.WantBalance(t, booking.SponsorAccount("acme"), 99)
		testenv.Must(t, testenv.Err(b.Deposit(ctx, "acme", "r2", 200)))
		testenv.Must(t, b.CreateCampaign(ctx, paytest.FullCampaign("c1")))
		testenv.WantErr(t, b.CreateCampaign(ctx, paytest.FullCampaign("c1")), ledger.ErrCampaignExists)
		b.WantBalance(t, booking.SponsorAccount("acme"), 199)
		for _, budget := range []rain.Money{-1, 0} {
			c := paytest.FullCampaign("c2")
			c.Budget = budget
			testenv.WantFail(t, b.CreateCampaign(ctx, c), fmt.Sprintf("a budget of %d", budget))
		}
		for _, id := range []string{"", "a.b", "a b", "a>", "红", strings.Repeat("x", 65)} {
			testenv.WantFail(t, b.CreateCampaign(ctx, paytest.FullCampaign(id)), fmt.Sprintf("the id %q is taken", id))
		}
	})
}

// TestOneBudgetForOneOfMany: concurrent new campaigns cannot spend the same money.
func TestOneBudgetForOneOfMany(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		testenv.Must(t, testenv.Err(b.Deposit(t.Context(), "acme", "r", 250)))
		paytest.WantOfMany(t, 8, 2, booking.ErrInsufficientFunds, func(i int) error {
			return b.CreateCampaign(t.Context(), paytest.FullCampaign(fmt.Sprintf("c%d", i)))
		})
		b.WantBalance(t, booking.SponsorAccount("acme"), 50)
	})
}

func TestUpdate(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		made := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		if made.Status != rain.Open || made.Revision != 2 {
			t.Fatalf("%+v", made)
		}
		same, err := b.Update(ctx, "c1", func(c *rain.Campaign) error { c.Stocked(); return nil })
		if err != nil || same.Revision != 2 {
			t.Errorf("a change that changes nothing: %+v, %v", same, err)
		}
		boom := errors.New("boom")
		_, err = b.Update(ctx, "c1", func(c *rain.Campaign) error { c.Status = rain.Paused; return boom })
		if !errors.Is(err, boom) {
			t.Error(err)
		}
		for what, change := range map[string]func(c *rain.Campaign){
			"budget":   func(c *rain.Campaign) { c.Budget++ },
			"revision": func(c *rain.Campaign) { c.Revision++ },
			"seed":     func(c *rain.Campaign) { c.SplitSeed[0]++ },
			"id":       func(c *rain.Campaign) { c.ID = "c2" },
			"shards":   func(c *rain.Campaign) { c.Shards++; c.Status = rain.Paused },
		} {
			if _, err := b.Update(ctx, "c1", func(c *rain.Campaign) error { change(c); return nil }); !errors.Is(err,
				ledger.ErrImmutable) {
				t.Errorf("changing the %s: %v", what, err)
			}
		}
		if _, err := b.Update(ctx, "c1", func(c *rain.Campaign) error {
			_, err := c.AddRain("r1", rain.DefaultRain(), rain.Seed{}, b.Clock.Now())
			return err
		}); err != nil {
			t.Error(err)
		}
		if _, err := b.Update(ctx, "c1", func(c *rain.Campaign) error { c.Rains = nil; return nil }); !errors.Is(err,
			ledger.ErrImmutable) {
			t.Errorf("a rain can vanish: %v", err)
		}
		if _, err := b.Update(ctx, "c9", func(*rain.Campaign) error { return nil }); !errors.Is(err,
			posting.ErrUnknownCampaign) {
			t.Error(err)
		}
		if c, err := b.Campaign(ctx, "c1"); err != nil || c.Revision != 3 || c.Status != rain.Open ||
			len(c.Rains) != 2 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

func TestConcurrentUpdatesDoNotOverwriteEachOther(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		before := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		const workers, rounds = 8, 10
		revisions := make([][]int64, workers)
		paytest.Together(workers, func(w int) {
			for range rounds {
				c, err := b.Update(t.Context(), "c1", func(c *rain.Campaign) error { c.ExpiresAt++; return nil })
				if err != nil {
					t.Error(err)
					return
				}
				revisions[w] = append(revisions[w], c.Revision)
			}
		})
		after, err := b.Campaign(t.Context(), "c1")
		if err != nil || after.ExpiresAt != before.ExpiresAt+workers*rounds ||
			after.Revision != before.Revision+workers*rounds {
			t.Errorf("%+v, %v", after, err)
		}
		all := slices.Concat(revisions...)
		slices.Sort(all)
		if len(slices.Compact(all)) != workers*rounds {
			t.Error("two updates have the same revision")
		}
	})
}

// Live returns the campaigns that are not drained, with their amounts, and keeps no others in its cache.
func TestLive(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		for _, id := range []string{"a", "b", "c", "d"} {
			b.OpenCampaign(t, id, rain.Spec{Budget: 2, Packets: 2, Split: rain.List, Amounts: []rain.Money{1, 1}})
		}
		testenv.Must(t, testenv.Err(b.Update(ctx, "c",
			func(c *rain.Campaign) error { c.Drained = true; return c.Close(1) })))
		live, err := b.Live(ctx)
		if err != nil || !slices.Equal(idsOf(live), []string{"a", "b", "d"}) || b.AmountsKept() != 3 {
			t.Error(idsOf(live), b.AmountsKept(), err)
		}
		for _, c := range live {
			testenv.Equal(t, c.Amounts, []rain.Money{1, 1}, "%s has the amounts", c.ID)
		}
	})
}

func idsOf(list []*rain.Campaign) []string {
	return paytest.Map(list, func(c *rain.Campaign) string { return c.ID })
}

func TestAbandon(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		testenv.Must(t, testenv.Err(b.Deposit(ctx, "acme", "r", 100)))
		testenv.Must(t, b.CreateCampaign(ctx, paytest.FullCampaign("c1")))
		for range 2 {
			c, err := b.Abandon(ctx, "c1")
			if err != nil || c.Status != rain.Closed || c.Drained || c.Revision != 2 {
				t.Fatalf("%+v, %v", c, err)
			}
			b.WantBalance(t, booking.SponsorAccount("acme"), 100)
			b.WantBalance(t, booking.EscrowAccount("c1"), 0)
			testenv.Got(b.Cleared(ctx, "c1")).Want(t, true, "cleared")
			testenv.Got(b.Totals(ctx, "c1")).Want(t, posting.Totals{Reclaimed: int64(c.Packets),
				AmountReclaimed: c.Budget}, "went back")
		}
		// The stocked part is closed in Redis, too; the money was returned before.
		posted := b.MustPost(t, paytest.ReclaimEntry(0, 1, rain.Range{First: 0, Last: 1}))
		if len(posted.Dead) > 0 {
			t.Errorf("%+v", posted.Dead)
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 100)
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 5, Packets: 5})
		testenv.WantErr(t, testenv.Err(b.Abandon(ctx, "c2")), ledger.ErrCampaignStocked)
		testenv.WantErr(t, testenv.Err(b.Abandon(ctx, "c9")), posting.ErrUnknownCampaign)
	})
}
