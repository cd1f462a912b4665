package ledger_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// pages reads all pages of a list of claims. A dead one has its player's name behind it.
func pages(t *testing.T, b *paytest.Books, q ledger.ClaimQuery) [][]string {
	t.Helper()
	return paytest.Map(paytest.Pages(t, func(cursor string) ([]ledger.Claim, string, error) {
		q.After = cmp.Or(cursor, q.After)
		return b.ListClaims(t.Context(), q)
	}), func(page []ledger.Claim) []string {
		return paytest.Map(page, func(c ledger.Claim) string {
			if c.State == ledger.StateDead {
				return c.Claim + "!" + c.User
			}
			return c.Claim
		})
	})
}

func TestClaims(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 20, Packets: 20})
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 40, Packets: 20})
		b.MustPost(t,
			paytest.Entry("c1", 10, paytest.Win("a", 3, 1), paytest.Win("b", 11, 1)),
			paytest.Entry("c1", 20, paytest.Win("a", 5, 1)),
			paytest.Entry("c2", 20, paytest.Win("a", 5, 2), paytest.Win("a", 4, 2)),
			// two more dead letters of an assigned packet
			paytest.Entry("c1", 30, paytest.Win("x", 5, 1), paytest.Win("y", 5, 1)),
			paytest.Entry("c1", 40, paytest.Win("a", 7, 1)),
		)
		for _, tc := range []struct {
			q    ledger.ClaimQuery
			want string // pages are separated by |
		}{
			{ledger.ClaimQuery{Campaign: "c1", Limit: 10}, "c1-3 c1-5 c1-5!x c1-5!y c1-7 c1-11"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 6}, "c1-3 c1-5 c1-5!x c1-5!y c1-7 c1-11"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 5}, "c1-3 c1-5 c1-5!x c1-5!y c1-7 | c1-11"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 2}, "c1-3 c1-5 c1-5!x c1-5!y | c1-7 c1-11"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1}, "c1-3 | c1-5 c1-5!x c1-5!y | c1-7 | c1-11"},
			{ledger.ClaimQuery{User: "a", Limit: 10}, "c1-7 c2-5 c2-4 c1-5 c1-3"},
			{ledger.ClaimQuery{User: "a", Limit: 2}, "c1-7 c2-5 | c2-4 c1-5 | c1-3"},
			{ledger.ClaimQuery{User: "a", Limit: 1}, "c1-7 | c2-5 | c2-4 | c1-5 | c1-3"},
			{ledger.ClaimQuery{User: "a", Campaign: "c1", Limit: 2}, "c1-7 c1-5 | c1-3"},
			{ledger.ClaimQuery{User: "x", Limit: 2}, "c1-5!x"},
			{ledger.ClaimQuery{User: "nobody", Limit: 2}, ""},
			{ledger.ClaimQuery{Campaign: "nix", Limit: 2}, ""},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 2, Only: ledger.ClaimFilter{User: "a"}}, "c1-3 c1-5 | c1-7"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1, Only: ledger.ClaimFilter{User: "a",
				State: ledger.StateSettled}}, "c1-3 | c1-5 | c1-7"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 9, Only: ledger.ClaimFilter{User: "a", State: ledger.StateDead}},
				""},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1, Only: ledger.ClaimFilter{State: ledger.StateDead}},
				"c1-5!x c1-5!y"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 2, Only: ledger.ClaimFilter{State: ledger.StateSettled}},
				"c1-3 c1-5 | c1-7 c1-11"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 9, Only: ledger.ClaimFilter{State: ledger.StateGranted}}, ""},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1, Only: ledger.ClaimFilter{Packet: new(5)}},
				"c1-5 c1-5!x c1-5!y"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1, Only: ledger.ClaimFilter{Packet: new(5), User: "x"}},
				"c1-5!x"},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1, After: "5", Only: ledger.ClaimFilter{Packet: new(5)}}, ""},
			{ledger.ClaimQuery{Campaign: "c1", Limit: 1, Only: ledger.ClaimFilter{Packet: new(6)}}, ""},
		} {
			got := paytest.Map(pages(t, b, tc.q), func(page []string) string { return strings.Join(page, " ") })
			testenv.Equal(t, strings.Join(got, " | "), tc.want, "%+v", tc.q)
		}
		list, _, err := b.ListClaims(ctx, ledger.ClaimQuery{Campaign: "c1", Limit: 1})
		want := ledger.Claim{Claim: "c1-3", Campaign: "c1", User: "a", Packet: 3, Amount: 1, WonAt: 10,
			Ticket: paytest.DropOf(3), State: ledger.StateSettled}
		if err != nil || list[0] != want {
			t.Errorf("%+v, %v", list, err)
		}
		for _, q := range []ledger.ClaimQuery{{Campaign: "c1", After: "x"},
			{Campaign: "c1", After: "x", Only: ledger.ClaimFilter{State: ledger.StateGranted}}, {User: "a", After: "x"},
			{User: "a", After: "5-x"}, {User: "a", After: "x-c1-5"}} {
			testenv.WantErr(t, paytest.Err3(b.ListClaims(ctx, q)), ledger.ErrBadCursor, fmt.Sprintf("%+v", q))
		}
		testenv.Got(b.ClaimsOn(ctx, "c1", []int{3, 5, 6})).Len(t, 4, "on three packets")
		states, err := b.ClaimStates(ctx, "a", []string{"c1-5", "c1-8", "c2-4", "nonsense"})
		if err != nil || len(states) != 4 || states["c1-5"] != ledger.StateSettled ||
			states["c1-8"] != ledger.StateGranted ||
			states["c2-4"] != ledger.StateSettled ||
			states["nonsense"] != ledger.StateGranted {
			t.Error(states, err)
		}
		b.MustPost(t, paytest.Entry("c1", 50, rain.Win{User: "z", Packet: 8, Drop: "no drop"}))
		for _, tc := range []struct {
			user, claim string
			want        ledger.ClaimState
		}{{"z", "c1-8", ledger.StateDead}, {"a", "c1-8", ledger.StateGranted}, {"x", "c1-5", ledger.StateDead},
			{"b", "c1-5", ledger.StateGranted}} {
			if states, err := b.ClaimStates(ctx, tc.user, []string{tc.claim}); err != nil ||
				states[tc.claim] != tc.want {
				t.Errorf("%s of %s: %v, %v", tc.claim, tc.user, states, err)
			}
		}
	})
}

func TestEachClaim(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const n = 2*ledger.EachPage + 1
		b.OpenCampaign(t, "c1", rain.Spec{Budget: n, Packets: n})
		var wins []rain.Win
		for i := range n {
			wins = append(wins, paytest.Win(fmt.Sprintf("u%d", i%10), i, 1))
		}
		b.MustPost(t, paytest.Entry("c1", 1, wins...))
		next := 0
		err := b.EachClaim(t.Context(), "c1", ledger.ClaimFilter{}, func(c ledger.Claim) error {
			if c.Packet != next {
				t.Errorf("packet %d in the place of %d", c.Packet, next)
			}
			next++
			return nil
		})
		if err != nil || next != n {
			t.Errorf("%d claims, %v", next, err)
		}
		// A player's claims are read at once, because each page would read all of them again.
		const theirs = ledger.EachPage + 2
		wins = nil
		for i := range theirs {
			wins = append(wins, paytest.Win("one", i, 1))
		}
		b.OpenCampaign(t, "c2", rain.Spec{Budget: theirs + 1, Packets: theirs + 1})
		b.MustPost(t, paytest.Entry("c2", 1, wins...))
		seen := 0
		err = b.EachClaim(t.Context(), "c2", ledger.ClaimFilter{User: "one"}, func(c ledger.Claim) error {
			if seen == 0 {
				b.MustPost(t, paytest.Entry("c2", 2, paytest.Win("one", theirs, 1)))
			}
			if c.Packet != seen {
				t.Errorf("packet %d in the place of %d", c.Packet, seen)
			}
			seen++
			return nil
		})
		if err != nil || seen != theirs {
			t.Errorf("%d claims of one player, want %d, %v", seen, theirs, err)
		}
		boom := errors.New("boom")
		if err := b.EachClaim(t.Context(), "c1", ledger.ClaimFilter{},
			func(ledger.Claim) error { return boom }); !errors.Is(err,
			boom) {
			t.Error(err)
		}
	})
}

func TestDeadLetterPages(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		for i := range 5 {
			b.MustPost(t, paytest.Entry("nix", i, paytest.Win("u", i, 1)))
		}
		for range 2 {
			testenv.Must(t, testenv.Err(b.BuryMessage(ctx, posting.Message{Name: "message-1", Payload: []byte{0xff, 0},
				Reason: "no JSON"})))
		}
		testenv.Must(t, testenv.Err(b.BuryMessage(ctx, posting.Message{Name: "message-2", Reason: "empty"})))
		var got []string
		pages := paytest.Pages(t, func(cursor string) ([]posting.DeadLetter, string, error) {
			return b.ListDeadLetters(ctx, cursor, 3)
		})
		for _, d := range slices.Concat(pages...) {
			got = append(got, d.Claim)
		}
		if want := []string{"nix-0", "nix-1", "nix-2", "nix-3", "nix-4", "message-1", "message-2"}; !slices.Equal(got,
			want) || len(pages) != 3 {
			t.Errorf("%v in %d pages", got, len(pages))
		}
		testenv.WantErr(t, paytest.Err3(b.ListDeadLetters(ctx, "x", 3)), ledger.ErrBadCursor)
		testenv.WantErr(t, testenv.Err(b.Retry(ctx, "message-1")), ledger.ErrStillDead)
		testenv.Equal(t, b.CountDead(t), 7, "dead letters")
	})
}

// TestPagesAreStable: a reader of a growing list gets every row that was there at the beginning, once.
func TestPagesAreStable(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const packets, first = 2_000, 600
		b.OpenCampaign(t, "c1", rain.Spec{Budget: packets, Packets: packets})
		order := rand.New(rand.NewPCG(1, 2)).Perm(packets)
		post := func(from, to int) {
			wins := paytest.Map(order[from:to], func(packet int) rain.Win { return paytest.Win("u", packet, 1) })
			b.MustPost(t, paytest.Entry("c1", 1+from, wins...))
		}
		there := map[string]bool{}
		for at := 0; at < first; at += 20 {
			post(at, at+20)
		}
		for _, packet := range order[:first] {
			there[rain.ClaimID("c1", packet)] = true
		}
		var settling sync.WaitGroup
		settling.Go(func() {
			for at := first; at < packets; at += 20 {
				post(at, at+20)
			}
		})
		for _, q := range []ledger.ClaimQuery{{Campaign: "c1", Limit: 7}, {User: "u", Limit: 7},
			{User: "u", Campaign: "c1", Limit: 50}} {
			seen := map[string]int{}
			for _, claim := range slices.Concat(pages(t, b, q)...) {
				seen[claim]++
			}
			for claim := range there {
				if seen[claim] != 1 {
					t.Errorf("%+v: %s is listed %d times", q, claim, seen[claim])
				}
			}
			for claim, n := range seen {
				if n > 1 {
					t.Errorf("%+v: %s is listed %d times", q, claim, n)
				}
			}
		}
		settling.Wait()
		testenv.Equal(t, len(pages(t, b, ledger.ClaimQuery{Campaign: "c1", Limit: 500})), packets/500, "pages")
	})
}
