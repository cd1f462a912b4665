package payout

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"redrain/rain"
)

func claimIDs(list []Claim) []string {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.Claim
		if c.State == StateDead {
			ids[i] += "!" + c.User
		}
	}
	return ids
}

// pages reads all pages of a list of claims.
func (b *books) pages(t *testing.T, q ClaimQuery) (pages [][]string) {
	t.Helper()
	for {
		list, next, err := b.ListClaims(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, claimIDs(list))
		if next == "" {
			return pages
		}
		q.After = next
	}
}

func TestClaims(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 20})
		b.campaign(t, "c2", rain.Spec{Budget: 100, Packets: 20})
		b.post(t,
			entry("c1", 10, win("a", 3, 1), win("b", 11, 1)),
			entry("c1", 20, win("a", 5, 1)),
			entry("c2", 20, win("a", 5, 2), win("a", 4, 2)),
			entry("c1", 30, win("x", 5, 1), win("y", 5, 1)), // two more promises of a packet that is taken
			entry("c1", 40, win("a", 7, 1)),
		)
		for _, tc := range []struct {
			q    ClaimQuery
			want [][]string
		}{
			{ClaimQuery{Campaign: "c1", Limit: 10}, [][]string{{"c1-3", "c1-5", "c1-5!x", "c1-5!y", "c1-7", "c1-11"}}},
			{ClaimQuery{Campaign: "c1", Limit: 6}, [][]string{{"c1-3", "c1-5", "c1-5!x", "c1-5!y", "c1-7", "c1-11"}}},
			{ClaimQuery{Campaign: "c1", Limit: 5}, [][]string{{"c1-3", "c1-5", "c1-5!x", "c1-5!y", "c1-7"}, {"c1-11"}}},
			{ClaimQuery{Campaign: "c1", Limit: 2}, [][]string{{"c1-3", "c1-5", "c1-5!x", "c1-5!y"}, {"c1-7", "c1-11"}}},
			{ClaimQuery{Campaign: "c1", Limit: 1}, [][]string{{"c1-3"}, {"c1-5", "c1-5!x", "c1-5!y"}, {"c1-7"},
				{"c1-11"}}},
			{ClaimQuery{User: "a", Limit: 10}, [][]string{{"c1-7", "c2-5", "c2-4", "c1-5", "c1-3"}}},
			{ClaimQuery{User: "a", Limit: 2}, [][]string{{"c1-7", "c2-5"}, {"c2-4", "c1-5"}, {"c1-3"}}},
			{ClaimQuery{User: "a", Limit: 1}, [][]string{{"c1-7"}, {"c2-5"}, {"c2-4"}, {"c1-5"}, {"c1-3"}}},
			{ClaimQuery{User: "a", Campaign: "c1", Limit: 2}, [][]string{{"c1-7", "c1-5"}, {"c1-3"}}},
			{ClaimQuery{User: "x", Limit: 2}, [][]string{{"c1-5!x"}}},
			{ClaimQuery{User: "nobody", Limit: 2}, [][]string{{}}},
			{ClaimQuery{Campaign: "nix", Limit: 2}, [][]string{{}}},
			{ClaimQuery{Campaign: "c1", Limit: 2, Only: ClaimFilter{User: "a"}},
				[][]string{{"c1-3", "c1-5"}, {"c1-7"}}},
			{ClaimQuery{Campaign: "c1", Limit: 1, Only: ClaimFilter{User: "a", State: StateSettled}},
				[][]string{{"c1-3"}, {"c1-5"}, {"c1-7"}}},
			{ClaimQuery{Campaign: "c1", Limit: 9, Only: ClaimFilter{User: "a", State: StateDead}}, [][]string{{}}},
			{ClaimQuery{Campaign: "c1", Limit: 1, Only: ClaimFilter{State: StateDead}},
				[][]string{{"c1-5!x", "c1-5!y"}}},
			{ClaimQuery{Campaign: "c1", Limit: 2, Only: ClaimFilter{State: StateSettled}},
				[][]string{{"c1-3", "c1-5"}, {"c1-7", "c1-11"}}},
			{ClaimQuery{Campaign: "c1", Limit: 9, Only: ClaimFilter{State: StateGranted}}, [][]string{{}}},
			{ClaimQuery{Campaign: "c1", Limit: 1, Only: ClaimFilter{Packet: new(5)}},
				[][]string{{"c1-5", "c1-5!x", "c1-5!y"}}},
			{ClaimQuery{Campaign: "c1", Limit: 1, Only: ClaimFilter{Packet: new(5), User: "x"}},
				[][]string{{"c1-5!x"}}},
			{ClaimQuery{Campaign: "c1", Limit: 1, After: "5", Only: ClaimFilter{Packet: new(5)}}, [][]string{{}}},
			{ClaimQuery{Campaign: "c1", Limit: 1, Only: ClaimFilter{Packet: new(6)}}, [][]string{{}}},
		} {
			got := b.pages(t, tc.q)
			if !slices.EqualFunc(got, tc.want, slices.Equal[[]string]) {
				t.Errorf("%+v:\ngot  %v\nwant %v", tc.q, got, tc.want)
			}
		}
		list, _, err := b.ListClaims(ctx, ClaimQuery{Campaign: "c1", Limit: 1})
		want := Claim{Claim: "c1-3", Campaign: "c1", User: "a", Packet: 3, Amount: 1, WonAt: 10, State: StateSettled}
		if err != nil || list[0] != want {
			t.Errorf("%+v, %v", list, err)
		}
		for _, q := range []ClaimQuery{{Campaign: "c1", After: "x"},
			{Campaign: "c1", After: "x", Only: ClaimFilter{State: StateGranted}}, {User: "a", After: "x"},
			{User: "a", After: "5-x"}, {User: "a", After: "x-c1-5"}} {
			if _, _, err := b.ListClaims(ctx, q); !errors.Is(err, ErrBadCursor) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		on, err := b.ClaimsOn(ctx, "c1", []int{3, 5, 6})
		if err != nil || len(on) != 4 {
			t.Errorf("on three packets: %+v, %v", on, err)
		}
		states, err := b.ClaimStates(ctx, "a", []string{"c1-5", "c1-8", "c2-4", "nonsense"})
		if err != nil || len(states) != 4 || states["c1-5"] != StateSettled || states["c1-8"] != StateGranted ||
			states["c2-4"] != StateSettled ||
			states["nonsense"] != StateGranted {
			t.Error(states, err)
		}
		b.post(t, entry("c1", 50, win("z", 8, 1000))) // more than there is
		for _, tc := range []struct {
			user, claim string
			want        ClaimState
		}{{"z", "c1-8", StateDead}, {"a", "c1-8", StateGranted}, {"x", "c1-5", StateDead},
			{"b", "c1-5", StateGranted}} {
			if states, err := b.ClaimStates(ctx, tc.user, []string{tc.claim}); err != nil ||
				states[tc.claim] != tc.want {
				t.Errorf("%s of %s: %v, %v", tc.claim, tc.user, states, err)
			}
		}
	})
}

func TestEachClaim(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		const n = 2*eachPage + 1
		b.campaign(t, "c1", rain.Spec{Budget: n, Packets: n})
		var wins []rain.Win
		for i := range n {
			wins = append(wins, win(fmt.Sprintf("u%d", i%10), i, 1))
		}
		b.post(t, entry("c1", 1, wins...))
		next := 0
		err := b.EachClaim(t.Context(), "c1", ClaimFilter{}, func(c Claim) error {
			if c.Packet != next {
				t.Errorf("packet %d in the place of %d", c.Packet, next)
			}
			next++
			return nil
		})
		if err != nil || next != n {
			t.Errorf("%d claims, %v", next, err)
		}
		// A player's claims are read once, however many there are: each page of them would be found by reading all
		// again.
		const theirs = eachPage + 2
		wins = nil
		for i := range theirs {
			wins = append(wins, win("one", i, 1))
		}
		b.campaign(t, "c2", rain.Spec{Budget: theirs + 1, Packets: theirs + 1})
		b.post(t, entry("c2", 1, wins...))
		seen := 0
		err = b.EachClaim(t.Context(), "c2", ClaimFilter{User: "one"}, func(c Claim) error {
			if seen == 0 {
				b.post(t, entry("c2", 2, win("one", theirs, 1)))
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
		if err := b.EachClaim(t.Context(), "c1", ClaimFilter{}, func(Claim) error { return boom }); !errors.Is(err,
			boom) {
			t.Error(err)
		}
	})
}

func TestDeadLetterPages(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		for i := range 5 {
			b.post(t, entry("nix", i, win("u", i, 1)))
		}
		for range 2 {
			if err := b.BuryMessage(ctx, "message-1", []byte{0xff, 0}, "no JSON"); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.BuryMessage(ctx, "message-2", nil, "empty"); err != nil {
			t.Fatal(err)
		}
		var got []string
		pages, cursor := 0, ""
		for {
			list, next, err := b.ListDeadLetters(ctx, cursor, 3)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, d := range list {
				got = append(got, d.Claim)
			}
			if next == "" {
				break
			}
			cursor = next
		}
		if want := []string{"nix-0", "nix-1", "nix-2", "nix-3", "nix-4", "message-1", "message-2"}; !slices.Equal(got,
			want) || pages != 3 {
			t.Errorf("%v in %d pages", got, pages)
		}
		if _, _, err := b.ListDeadLetters(ctx, "x", 3); !errors.Is(err, ErrBadCursor) {
			t.Error(err)
		}
		if _, err := b.Retry(ctx, "message-1"); !errors.Is(err, ErrStillDead) {
			t.Error(err)
		}
		if n := b.deadLetters(t); n != 7 {
			t.Error(n)
		}
		// The campaign turns up after all: now its claims can be paid, in any number.
		b.campaign(t, "nix", rain.Spec{Budget: 10, Packets: 10})
		for i := range 5 {
			if _, err := b.Retry(ctx, fmt.Sprintf("nix-%d", i)); err != nil {
				t.Error(err)
			}
		}
		b.wantBalance(t, userAccount("u"), 5)
		b.audit(t)
	})
}
