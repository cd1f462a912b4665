package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

var looker = ledger.Person{Name: "ann", ID: "token:ann", Reason: "looked at it"}

// suspect gives a player a verdict of the rules.
func suspect(t *testing.T, l *ledger.Ledger, user string) {
	t.Helper()
	testenv.Must(t, testenv.Err(l.Risk.Give(t.Context(), ledger.ByRules, standing.Verdict{User: user,
		Act: standing.Hold, Score: 70, Reasons: standing.EncodeReasons([]standing.Reason{{Rule: "fast_hands", Score: 70,
			Sentence: "12 of 12 taps"}})})))
}

// heldBooks makes books of a campaign in which a bot has one paid win and then three held ones.
func heldBooks(b *paytest.Books) (l *ledger.Ledger, entries []rain.Entry) {
	t := b.T
	b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9})
	l = paytest.Node(t, b)
	l.Poster.HoldWins()
	win := func(number int, user string) rain.Entry {
		return paytest.Entry("c", int(b.Clock.Now()), paytest.Win(user, number, 10))
	}
	testenv.Equal(t, testenv.Got(l.Poster.Post(t.Context(), []rain.Entry{win(0, "bot")})).Must(t).Held, 0, "held")
	suspect(t, l, "bot")
	return l, []rain.Entry{win(1, "bot"), win(2, "bot"), win(3, "person"), win(4, "bot")}
}

func claims(numbers ...int) (list []string) {
	for _, n := range numbers {
		list = append(list, rain.ClaimID("c", n))
	}
	return list
}

func botsMoney(t *testing.T, b *paytest.Books, user, held, sponsor rain.Money) {
	t.Helper()
	b.WantBalance(t, booking.UserAccount("bot"), user)
	b.WantBalance(t, booking.HeldAccount("bot"), held)
	b.WantBalance(t, booking.SponsorAccount("acme"), sponsor)
	b.CheckBooks(t)
}

func sponsorsMoney(b *paytest.Books) rain.Money {
	return rain.Money(b.Count(b.T, "SELECT COALESCE(SUM(amount), 0) FROM balance WHERE account_id = 'sponsor:acme'"))
}

// A win after a verdict is held, is not notified, and is granted. An earlier posting stays paid. An operator gives it
// to the player or back to the sponsor, once, for any number of requests.
func TestWinsAreHeldReleasedAndConfirmed(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		l, entries := heldBooks(b)
		sponsor := sponsorsMoney(b)
		for again := range 2 {
			posted, err := l.Poster.Post(ctx, entries)
			if err != nil || len(posted.Settled) != 1 || posted.Settled[0].User != "person" {
				t.Fatalf("posted, time %d: %+v, %v", again, posted, err)
			}
			if again == 0 && (posted.Held != 3 || posted.New != 4) || again == 1 && posted.Held+posted.New != 0 {
				t.Errorf("posted, time %d: %+v", again, posted)
			}
			botsMoney(t, b, 10, 30, sponsor)
		}
		testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "w", "bot", 11)), booking.ErrInsufficientFunds,
			"held money is withdrawn")
		states, err := b.ClaimStates(ctx, "bot", claims(0, 1))
		if err != nil || states["c-0"] != ledger.StateSettled || states["c-1"] != ledger.StateHeld {
			t.Errorf("states %v, %v", states, err)
		}
		list, _, err := l.Risk.ListHeld(ctx, ledger.HeldQuery{State: ledger.HeldOpen, Limit: 10})
		if err != nil || len(list) != 3 || list[0].Claim != "c-1" || list[0].Score != 70 ||
			standing.ParseReasons(list[0].Reasons)[0].Sentence != "12 of 12 taps" {
			t.Errorf("held: %+v, %v", list, err)
		}
		for q, want := range map[ledger.HeldQuery]int{
			{User: "bot"}: 3, {User: "person"}: 0, {Campaign: "c"}: 3, {Campaign: "d"}: 0,
		} {
			q.State, q.Limit = ledger.HeldOpen, 10
			testenv.Got3(l.Risk.ListHeld(ctx, q)).Len(t, want, "held of")
		}
		shown, _, err := b.ListClaims(ctx, ledger.ClaimQuery{Campaign: "c", Limit: 10})
		if err != nil || len(shown) != 5 || shown[0].Held || shown[1].State != ledger.StateGranted || !shown[1].Held {
			t.Errorf("claims with held ones: %+v, %v", shown, err)
		}
		released, err := l.Risk.Release(paytest.As(t, "risk.release"), claims(1), looker)
		if err != nil || len(released.Released) != 1 || released.Released[0].Balance != 20 {
			t.Errorf("released %+v, %v", released, err)
		}
		botsMoney(t, b, 20, 20, sponsor)
		for range 2 {
			confirmed, err := l.Risk.Confirm(paytest.As(t, "risk.confirm"), claims(1, 2, 4, 7), looker)
			if err != nil || len(confirmed.Released) != 0 || len(confirmed.Wins) != 3 ||
				confirmed.Wins[0].State != ledger.HeldReleased || confirmed.Wins[1].State != ledger.HeldConfirmed {
				t.Errorf("confirmed %+v, %v", confirmed, err)
			}
			botsMoney(t, b, 20, 0, sponsor+20)
		}
		testenv.Equal(t, len(testenv.Got(l.Risk.Release(ctx, claims(1, 2), looker)).Must(t).Released), 0,
			"released again")
		botsMoney(t, b, 20, 0, sponsor+20)
		// The rules do not hold a player whom an operator has released.
		suspect(t, l, "bot")
		posted, err := l.Poster.Post(ctx, []rain.Entry{paytest.Entry("c", int(b.Clock.Now()),
			paytest.Win("bot", 5, 10))})
		if err != nil || posted.Held != 0 || len(posted.Settled) != 1 {
			t.Errorf("after the release: %+v, %v", posted, err)
		}
		all, _, err := b.ListClaims(ctx, ledger.ClaimQuery{Campaign: "c", Limit: 10})
		got := paytest.Map(all, func(c ledger.Claim) ledger.ClaimState { return c.State })
		if want := []ledger.ClaimState{"settled", "settled", "dead", "settled", "dead", "settled"}; err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("claims %v, %v", got, err)
		}
	})
}

// Concurrent decisions about the same wins decide each of them once.
func TestDecisionsAtOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		l, entries := heldBooks(b)
		testenv.Must(t, testenv.Err(l.Poster.Post(t.Context(), entries)))
		paytest.Together(6, func(i int) {
			decide, some := l.Risk.Release, claims(1, 2)
			if i%2 == 1 {
				decide, some = l.Risk.Confirm, claims(2, 4)
			}
			if done, err := decide(t.Context(), some, looker); err != nil {
				t.Error(done, err)
			}
		})
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM held WHERE state = 'held'"), 0, "wins are still held")
	})
}

// A posting that fails at any statement leaves no rows, and the next one holds the right wins.
func TestHoldingIsAllOrNothing(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		l, entries := heldBooks(b)
		b.Statement(t, "ALTER TABLE held RENAME TO elsewhere")
		testenv.WantFail(t, testenv.Err(l.Poster.Post(t.Context(), entries)), "posted without the table of held wins")
		b.Statement(t, "ALTER TABLE elsewhere RENAME TO held")
		botsMoney(t, b, 10, 0, sponsorsMoney(b))
		testenv.Equal(t, testenv.Got(l.Poster.Post(t.Context(), entries)).Must(t).Held, 3, "held")
	})
}

// A node without HoldWins pays all wins, whatever the verdicts. An operator's retry of a dead letter pays it, too.
func TestVerdictsAreOnlyWritten(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		_, entries := heldBooks(b)
		if posted := b.MustPost(t, entries...); posted.Held != 0 || len(posted.Settled) != 4 {
			t.Errorf("%+v", posted)
		}
	})
}

// Concurrent verdicts on several nodes get one number each. A repeated verdict is not stored.
func TestVerdictsAtOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const all = 12
		paytest.Together(all, func(i int) { suspect(t, paytest.Node(t, b), fmt.Sprint("u", i)) })
		l := paytest.Node(t, b)
		suspect(t, l, "u1")
		testenv.WantErr(t, testenv.Err(l.Risk.Give(t.Context(), ledger.ByRules, standing.Verdict{User: "n",
			Act: standing.Allow})), nil)
		list := standing.NewVerdicts()
		for _, want := range []int{all, 0} {
			testenv.Got(l.Risk.Refresh(t.Context(), list)).Len(t, want, "are new")
			for i := range all {
				if v, found := list.Of(fmt.Sprint("u", i)); !found || !v.Held() {
					t.Errorf("u%d: %+v", i, v)
				}
			}
		}
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM verdict"), all, "verdicts")
	})
}
