package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestDue(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		const now = 5_000
		want := []string{}
		for i := range 12 {
			id := fmt.Sprintf("c%02d", i)
			b.OpenCampaign(t, id, rain.Spec{Budget: 10, Packets: 1})
			_, err := b.Update(ctx, id, func(c *rain.Campaign) error {
				c.ExpiresAt = int64(1_000 * (1 + i/2)) // two at a time: 1,000 to 6,000
				switch i % 3 {
				case 1:
					c.Status = rain.Paused
				case 2:
					c.Status = rain.Closed
					c.Drained = i == 5
				}
				return nil
			})
			paytest.Must(t, err)
			if i%3 == 2 && i != 5 || i%3 != 2 && i < 10 {
				want = append(want, id)
			}
		}
		for limit := 1; limit < 13; limit++ {
			var got []string
			for cursor := ""; ; {
				list, next, err := b.Due(ctx, now, cursor, limit)
				if err != nil || len(list) > limit {
					t.Fatal(list, err)
				}
				for _, c := range list {
					got = append(got, c.ID)
					if (c.Status == rain.Closed) != (len(got) > len(want)-3) {
						t.Errorf("%+v comes as number %d", c, len(got))
					}
				}
				if next == "" {
					break
				}
				cursor = next
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %v, want %v", limit, got, want)
			}
		}
		for _, bad := range []string{"x", "9-1-c", "0-x-c", "0-1-", "-"} {
			if _, _, err := b.Due(ctx, now, bad, 5); !errors.Is(err, ledger.ErrBadCursor) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}
