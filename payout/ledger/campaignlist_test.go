package ledger_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

// listed reads all pages of a list of campaigns, and fails the test if a campaign comes twice.
func listed(t *testing.T, b *paytest.Books, q ledger.CampaignQuery, limit int) []string {
	t.Helper()
	q.Limit = limit
	ids := idsOf(slices.Concat(paytest.Pages(t, func(cursor string) ([]*rain.Campaign, string, error) {
		q.After = cursor
		return b.ListCampaigns(t.Context(), q)
	})...))
	if known := slices.Compact(slices.Sorted(slices.Values(ids))); len(known) != len(ids) {
		t.Errorf("%+v: %v has a campaign twice", q, ids)
	}
	return ids
}

// Each order lists every campaign once, for any page size, and the descending list is the reverse of the ascending
// one.
func TestCampaignsInEachOrder(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		names := []string{"春节 红包", "Gala", "gala", "100%_off!", "年会", "Gala"}
		for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
			b.OpenCampaign(t, id, rain.Spec{Name: names[i], Budget: rain.Money(20 + i%2), Packets: 2})
			b.Statement(t, "UPDATE campaign SET created_at = "+[]string{"7", "7", "9", "8", "7", "5"}[i]+
				", expires_at = "+[]string{"50", "40", "40", "90", "10", "40"}[i]+" WHERE id = '"+id+"'")
		}
		for _, order := range ledger.CampaignOrders() {
			up := listed(t, b, ledger.CampaignQuery{Order: order, Upwards: true}, 10)
			for limit := 1; limit < 7; limit++ {
				got := listed(t, b, ledger.CampaignQuery{Order: order, Upwards: true}, limit)
				testenv.Equal(t, got, up, "by %s, %d at once", order, limit)
				down := listed(t, b, ledger.CampaignQuery{Order: order}, limit)
				slices.Reverse(down)
				testenv.Equal(t, down, up, "by %s, downwards, upwards", order)
			}
		}
		for order, want := range map[ledger.CampaignOrder]string{
			ledger.ByCreation: "fabedc", ledger.ByExpiry: "ebcfad", ledger.ByBudget: "acebdf",
		} {
			got := listed(t, b, ledger.CampaignQuery{Order: order, Upwards: true}, 2)
			if strings.Join(got, "") != want {
				t.Errorf("by %s: %v, want %s", order, got, want)
			}
		}
		for _, order := range []ledger.CampaignOrder{ledger.ByBudget, ledger.ByName} {
			_, _, err := b.ListCampaigns(t.Context(), ledger.CampaignQuery{Order: order, After: "x-a", Limit: 1})
			testenv.WantErr(t, err, ledger.ErrBadCursor, string(order))
		}
	})
}

// A search finds all of its words in name, sponsor and id, and has no wildcards.
func TestCampaignsAreFound(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		for id, name := range map[string]string{"c-1": "春节 红包 2026", "c-2": "Gala night", "c-3": "100%_off!"} {
			b.OpenCampaign(t, id, rain.Spec{Name: name, Budget: 20, Packets: 2})
		}
		for search, want := range map[string]string{
			"红包": "c-1", "gala": "c-2", "NIGHT gala": "c-2", "gala 红包": "", "%": "c-3", "_": "c-3", "!": "c-3",
			"0%_": "c-3", "acme": "c-1 c-2 c-3", "ACME": "c-1 c-2 c-3", "C-2": "c-2", "a'a": "", `\`: "", `"`: "",
		} {
			got := listed(t, b, ledger.CampaignQuery{Words: strings.Fields(search), Order: ledger.ByName}, 2)
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("%q finds %v, want %s", search, got, want)
			}
		}
		if got := listed(t, b, ledger.CampaignQuery{Sponsor: "acme"}, 2); len(got) != 3 {
			t.Errorf("acme has %v", got)
		}
		if got := listed(t, b, ledger.CampaignQuery{Sponsor: "acm"}, 2); len(got) != 0 {
			t.Errorf("acm has %v", got)
		}
	})
}

// At each moment, a campaign is listed in the state that it is shown in, and in no other.
func TestCampaignsInEachState(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		now := b.Clock.Now()
		update := func(id string, change func(c *rain.Campaign) error) {
			t.Helper()
			testenv.Must(t, testenv.Err(b.Update(ctx, id, change)))
		}
		for _, id := range []string{"new", "soon", "stopped", "paused", "closed", "drained"} {
			b.OpenCampaign(t, id, rain.Spec{Budget: 20, Packets: 2})
		}
		testenv.Must(t, b.CreateCampaign(ctx, b.LoadingCampaign(t, "loading")))
		for _, id := range []string{"soon", "stopped", "paused"} {
			update(id, func(c *rain.Campaign) error {
				_, err := c.AddRain("r-"+id, rain.DefaultRain(), rain.Seed{1}, now)
				return err
			})
		}
		update("stopped", func(c *rain.Campaign) error {
			_, err := c.StopRain("r-stopped", now+5000)
			return err
		})
		update("paused", func(c *rain.Campaign) error { return c.Pause() })
		update("closed", func(c *rain.Campaign) error { return c.Close(now) })
		update("drained", func(c *rain.Campaign) error { c.Drained = true; return c.Close(now) })

		all := testenv.Got3(b.ListCampaigns(ctx, ledger.CampaignQuery{Limit: 100})).Must(t)
		seen := map[string]bool{}
		for _, at := range []int64{now, now + 2999, now + 3000, now + 4999, now + 5000, now + 16_999, now + 17_000} {
			for _, state := range []string{"loading", "ready", "raining", "paused", "closed"} {
				var want []string
				for _, c := range all {
					if c.State(at) == state {
						want = append(want, c.ID)
					}
				}
				got := listed(t, b, ledger.CampaignQuery{State: state, Now: at}, 2)
				slices.SortFunc(want, cmp.Compare)
				slices.Sort(got)
				testenv.Equal(t, got, want, "%s after %d ms", state, at-now)
				seen[state] = seen[state] || len(want) > 0
			}
		}
		if len(seen) != 5 || !seen["raining"] || !seen["loading"] || !seen["paused"] {
			t.Errorf("states that were seen: %v", seen)
		}
	})
}

func TestDue(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		const now = 5_000
		want := []string{}
		for i := range 12 {
			id := fmt.Sprintf("c%02d", i)
			b.OpenCampaign(t, id, rain.Spec{Budget: 10, Packets: 1})
			testenv.Must(t, testenv.Err(b.Update(ctx, id, func(c *rain.Campaign) error {
				c.ExpiresAt = int64(1_000 * (1 + i/2)) // two at a time: 1,000 to 6,000
				switch i % 3 {
				case 1:
					c.Status = rain.Paused
				case 2:
					c.Status = rain.Closed
					c.Drained = i == 5
				}
				return nil
			})))
			if i%3 == 2 && i != 5 || i%3 != 2 && i < 10 {
				want = append(want, id)
			}
		}
		list, err := b.Due(ctx, now)
		testenv.Must(t, err)
		var got []string
		for i, c := range list {
			got = append(got, c.ID)
			if (c.Status == rain.Closed) != (i >= len(want)-3) {
				t.Errorf("%+v comes as number %d", c, i)
			}
		}
		slices.Sort(got)
		testenv.Equal(t, got, want, "due")
	})
}
