package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestDepositIsIdempotentByReference(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		for _, step := range []struct {
			sponsor, reference string
			amount, want       rain.Money
			err                error
		}{
			{"acme", "r1", 100, 100, nil},
			{"acme", "r1", 100, 100, nil},
			{"acme", "r1", 101, 0, ledger.ErrReferenceReused},
			{"acme", "r2", 50, 150, nil},
			{"acme", "R1", 1, 151, nil},
			{"acme", "r1 ", 1, 152, nil},
			{"acme", "红包", 1, 153, nil},
			{"other", "r1", 7, 7, nil},
			{"acme", "r3", rain.MaxBudget, rain.MaxBudget + 153, nil},
			{"acme", "r4", 0, 0, ledger.ErrInvalidAmount},
			{"acme", "r4", -1, 0, ledger.ErrInvalidAmount},
			{"acme", "r4", rain.MaxBudget + 1, 0, ledger.ErrInvalidAmount},
			{"acme", "", 1, 0, ledger.ErrInvalidReference},
			{"acme", strings.Repeat("x", 201), 1, 0, ledger.ErrInvalidReference},
			{"acme", "r1", 100, 100, nil}, // the first answer, whatever has happened since
			{"acme", "r2", 50, 150, nil},
			{"acme", "r1", 101, 0, ledger.ErrReferenceReused},
			{strings.Repeat("s", rain.MaxSponsorLen), strings.Repeat("x", 200), 1, 1, nil},
		} {
			got, err := b.Deposit(ctx, step.sponsor, step.reference, step.amount)
			if got != step.want || !errors.Is(err, step.err) {
				t.Errorf("%+v: %d, %v", step, got, err)
			}
		}
		testenv.WantFail(t, testenv.Err(b.Deposit(ctx, "no:colon", "r", 1)),
			"a sponsor with a colon could pass for another account")
		b.Clock.Add(24 * time.Hour.Milliseconds())
		testenv.Got(b.Deposit(ctx, "acme", "r2", 50)).Want(t, rain.MaxBudget+153, "a day later")
	})
}

func TestConcurrentDeposits(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		paytest.Together(8, func(int) {
			for _, reference := range []string{"a", "b", "c"} {
				testenv.WantErr(t, testenv.Err(b.Deposit(t.Context(), "acme", reference, 10)), nil)
			}
		})
		b.WantBalance(t, booking.SponsorAccount("acme"), 30)
		b.WantBalance(t, booking.World, -30)
	})
}

func TestBalances(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		testenv.WantErr(t, testenv.Err(b.SponsorBalance(ctx, "acme")), ledger.ErrUnknownSponsor)
		testenv.Got(b.UserBalance(ctx, "nobody")).Want(t, 0, "balance")
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 3, Packets: 2, Split: rain.List, Amounts: paytest.Amounts(1, 2)})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u", 0, 1), paytest.Win("u ", 1, 2)))
		got, err := booking.UserBalances(ctx, b.DB, []string{"u", "u ", "nobody"})
		if err != nil || len(got) != 3 || got["u"] != 1 || got["u "] != 2 || got["nobody"] != 0 {
			t.Error(got, err)
		}
		testenv.Got(b.SponsorBalance(ctx, "acme")).Want(t, 0, "balance")
	})
}

// TestWorldHasAFloor: the one account that may be negative must not wrap round.
func TestWorldHasAFloor(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		testenv.Must(t, testenv.Err(b.Deposit(t.Context(), "acme", "r", 1)))
		set := func(id string, amount rain.Money) {
			testenv.Must(t, testenv.Err(b.DB.Exec(t.Context(), "UPDATE balance SET amount = ? WHERE account_id LIKE ?",
				int64(amount), id)))
		}
		set("world:%", -90*rain.MaxBudget)
		testenv.WantErr(t, testenv.Err(b.Deposit(t.Context(), "acme", "r2", 1)), booking.ErrInsufficientFunds)
		set("world:%", -1)
		set("sponsor:acme", 1<<62)
		testenv.Must(t, testenv.Err(b.Deposit(t.Context(), "acme", "r3", rain.MaxBudget)))
		b.WantBalance(t, booking.SponsorAccount("acme"), 1<<62+rain.MaxBudget)
	})
}

func TestSponsors(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		if list, next, err := b.ListSponsors(ctx, "", 2); err != nil || len(list) != 0 || list == nil || next != "" {
			t.Errorf("before anybody has deposited: %v, %q, %v", list, next, err)
		}
		for _, sponsor := range []string{"b", "acme", "Zeta", "a.c", "a-b"} {
			testenv.Must(t, testenv.Err(b.Deposit(ctx, sponsor, "r", rain.Money(len(sponsor)))))
		}
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})           // has an escrow
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("sponsor:x", 0, 10))) // and a player an account
		pages := paytest.Pages(t, func(after string) ([]ledger.Sponsor, string, error) {
			return b.ListSponsors(ctx, after, 2)
		})
		want := []ledger.Sponsor{{"Zeta", 4}, {"a-b", 3}, {"a.c", 3}, {"acme", 4}, {"b", 1}}
		if got := slices.Concat(pages...); !slices.Equal(got, want) || len(pages) != 3 {
			t.Errorf("%v, want %v", got, want)
		}
		for _, cursor := range []string{"escrow:", "user:", "~"} { // no cursor lists another kind of account
			testenv.WantErr(t, paytest.Err3(b.ListSponsors(ctx, cursor, 2)), ledger.ErrBadCursor, cursor)
		}
	})
}
