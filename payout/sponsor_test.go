package payout

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"redrain/rain"
)

func TestDepositIsIdempotentByReference(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		for _, step := range []struct {
			sponsor, reference string
			amount, want       rain.Money
			err                error
		}{
			{"acme", "r1", 100, 100, nil},
			{"acme", "r1", 100, 100, nil},
			{"acme", "r1", 101, 0, ErrReferenceReused},
			{"acme", "r2", 50, 150, nil},
			{"acme", "R1", 1, 151, nil},
			{"acme", "r1 ", 1, 152, nil},
			{"acme", "红包", 1, 153, nil},
			{"other", "r1", 7, 7, nil},
			{"acme", "r3", rain.MaxBudget, rain.MaxBudget + 153, nil},
			{"acme", "r4", 0, 0, ErrInvalidAmount},
			{"acme", "r4", -1, 0, ErrInvalidAmount},
			{"acme", "r4", rain.MaxBudget + 1, 0, ErrInvalidAmount},
			{"acme", "", 1, 0, ErrInvalidReference},
			{"acme", strings.Repeat("x", 201), 1, 0, ErrInvalidReference},
			{strings.Repeat("s", rain.MaxSponsorLen), strings.Repeat("x", 200), 1, 1, nil},
		} {
			got, err := b.Deposit(ctx, step.sponsor, step.reference, step.amount)
			if got != step.want || !errors.Is(err, step.err) {
				t.Errorf("%+v: %d, %v", step, got, err)
			}
		}
		if _, err := b.Deposit(ctx, "no:colon", "r", 1); err == nil {
			t.Error("a sponsor with a colon could pass for another account")
		}
		b.audit(t)
	})
}

func TestConcurrentDeposits(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for _, reference := range []string{"a", "b", "c"} {
					if _, err := b.Deposit(t.Context(), "acme", reference, 10); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b.wantBalance(t, sponsorAccount("acme"), 30)
		b.wantBalance(t, world, -30)
		b.audit(t)
	})
}

func TestBalances(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		if _, err := b.SponsorBalance(ctx, "acme"); !errors.Is(err, ErrUnknownSponsor) {
			t.Error(err)
		}
		if got, err := b.UserBalance(ctx, "nobody"); got != 0 || err != nil {
			t.Error(got, err)
		}
		b.campaign(t, "c1", rain.Spec{Budget: 10, Packets: 10})
		b.post(t, entry("c1", 1, win("u", 0, 1), win("u ", 1, 2)))
		got, err := b.UserBalances(ctx, []string{"u", "u ", "nobody"})
		if err != nil || len(got) != 3 || got["u"] != 1 || got["u "] != 2 || got["nobody"] != 0 {
			t.Error(got, err)
		}
		if got, err := b.SponsorBalance(ctx, "acme"); got != 0 || err != nil {
			t.Error(got, err)
		}
	})
}

// TestWorldHasAFloor: the one account that may be negative must not wrap round.
func TestWorldHasAFloor(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		if _, err := b.Deposit(t.Context(), "acme", "r", 1); err != nil {
			t.Fatal(err)
		}
		set := func(id string, amount rain.Money) {
			if err := b.exec(t.Context(), "", "UPDATE balance SET amount = ? WHERE account_id = ?", int64(amount),
				id); err != nil {
				t.Fatal(err)
			}
		}
		set("world", -9000*rain.MaxBudget)
		if _, err := b.Deposit(t.Context(), "acme", "r2", 1); !errors.Is(err, ErrInsufficientFunds) {
			t.Error(err)
		}
		set("world", -1)
		set("sponsor:acme", 1<<62)
		if _, err := b.Deposit(t.Context(), "acme", "r3", rain.MaxBudget); err != nil {
			t.Error(err)
		}
		b.wantBalance(t, sponsorAccount("acme"), 1<<62+rain.MaxBudget)
	})
}

func TestSponsors(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		if list, next, err := b.ListSponsors(ctx, "", 2); err != nil || len(list) != 0 || list == nil || next != "" {
			t.Errorf("before anybody has deposited: %v, %q, %v", list, next, err)
		}
		for _, sponsor := range []string{"b", "acme", "Zeta", "a.c", "a-b"} {
			if _, err := b.Deposit(ctx, sponsor, "r", rain.Money(len(sponsor))); err != nil {
				t.Fatal(err)
			}
		}
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}) // has an escrow
		b.post(t, entry("c1", 1, win("sponsor:x", 0, 10)))       // and a player an account
		var got []Sponsor
		for after, pages := "", 0; ; pages++ {
			list, next, err := b.ListSponsors(ctx, after, 2)
			if err != nil || len(list) > 2 || pages > 5 {
				t.Fatal(list, pages, err)
			}
			got = append(got, list...)
			if after = next; next == "" {
				break
			}
		}
		want := []Sponsor{{"Zeta", 4}, {"a-b", 3}, {"a.c", 3}, {"acme", 4}, {"b", 1}}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		for _, cursor := range []string{"x\x00", "a/b", strings.Repeat("s", 100)} {
			if _, _, err := b.ListSponsors(ctx, cursor, 2); !errors.Is(err, ErrBadCursor) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
	})
}
