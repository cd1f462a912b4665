package booking

import (
	"slices"
	"strings"
	"testing"

	"redrain/rain"
)

// TestNetIsInLockOrder: the players come first by their ids, then the shared accounts, each account once.
func TestNetIsInLockOrder(t *testing.T) {
	t.Parallel()
	pay := func(key string, users ...string) Txn {
		one := Txn{Kind: KindPay, Key: key, Lines: []Line{{EscrowAccount("c1"), -rain.Money(len(users))}}}
		for _, u := range users {
			one.Lines = append(one.Lines, Line{UserAccount(u), 1})
		}
		return one
	}
	all, err := net([]Txn{pay("1", "b", "a", "b"), pay("2", "c", "a"),
		Move(KindReclaim, "3", EscrowAccount("c1"), SponsorAccount("s"), 7),
		Move("x", "4", World, UserAccount("a"), 1)})
	if err != nil {
		t.Fatal(err)
	}
	own, shared := all.parted()
	var got []string
	for _, part := range []Movements{own, shared} {
		if !slices.IsSortedFunc(part, func(a, b movement) int { return strings.Compare(a.ID(), b.ID()) }) {
			t.Errorf("%+v", part)
		}
		for _, m := range part {
			got = append(got, m.ID())
		}
	}
	if want := []string{"user:a", "user:b", "user:c", "escrow:c1", "sponsor:s", "world"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if a, escrow := all[0].delta, shared[0].delta; a != 3 || escrow != -12 {
		t.Errorf("a gets %d, the escrow %d", a, escrow)
	}
}

// TestMovementsAreFound in any order of the database's rows.
func TestMovementsAreFound(t *testing.T) {
	t.Parallel()
	var all Movements
	for _, owner := range []string{"", "a", "a:", "ab", "b"} {
		all = append(all, movement{Account: UserAccount(owner)})
	}
	for i := range all {
		for likely := range len(all) + 1 {
			if m := all.find([]byte(all[i].ID()), likely); m != &all[i] {
				t.Errorf("%s, likely at %d: found %+v", all[i].ID(), likely, m)
			}
		}
		all[i].balance, all[i].known = rain.Money(i), i%2 == 0
		if balance, known := all.Balance(all[i].Account); known != (i%2 == 0) || balance != rain.Money(i) {
			t.Errorf("%s: %d, %v", all[i].ID(), balance, known)
		}
	}
	for _, id := range []string{"user", "user:c", "users:a", "world", ""} {
		if m := all.find([]byte(id), 1); m != nil {
			t.Errorf("%s is %+v", id, m)
		}
	}
	if _, known := all.Balance(UserAccount("nobody")); known {
		t.Error("nobody has a balance")
	}
	shared := Movements{{Account: EscrowAccount("c")}, {Account: Account{KindWorld, "7"}}}
	if m := shared.find([]byte("world:7"), 0); m == nil || m.Kind != KindWorld {
		t.Errorf("world is %+v", m)
	}
}
