package booking

import (
	"cmp"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
)

// Account is an account of the ledger.
type Account struct{ Kind, Owner string }

// The kinds of account. Their ids are text that an accountant can read: "user:u1".
const (
	KindWorld   = "world" // everything outside; the only account that goes below zero
	KindSponsor = "sponsor"
	KindEscrow  = "escrow"
	KindUser    = "user"
	// KindClearing is a player's withdrawn money until it is paid or returned.
	KindClearing = "clearing"
	// KindHeld is a player's held wins: they wait for an operator, and belong to neither player nor sponsor yet.
	KindHeld = "held"
)

// World is everything outside: deposits come from it and withdrawals go to it. Every deposit and every withdrawal
// moves it, so it is many rows in the database: see stripes.go.
var World = Account{Kind: KindWorld}

// SponsorAccount is the account of a sponsor's unspent deposits.
func SponsorAccount(id string) Account { return Account{KindSponsor, id} }

// EscrowAccount is the account of a campaign's budget, until its wins are posted or the rest is reclaimed.
func EscrowAccount(campaign string) Account { return Account{KindEscrow, campaign} }

// UserAccount is the account of a player's winnings.
func UserAccount(id string) Account { return Account{KindUser, id} }

// ClearingAccount is a player's withdrawn money until it is paid or returned. No withdrawal waits for another's.
func ClearingAccount(id string) Account { return Account{KindClearing, id} }

// HeldAccount is the account of a player's held wins. Each player has one, so that none waits for another's.
func HeldAccount(user string) Account { return Account{KindHeld, user} }

// ID is the account's id in the database. World's own id is never there: see stripes.go.
func (a Account) ID() string {
	if a == World {
		return KindWorld
	}
	return a.Kind + ":" + a.Owner
}

func (a Account) put(r *sqldb.Row) { r.Text(a.Kind, ":", a.Owner) }

func (a Account) addTo(c *chain.Content) { c.Text(a.Kind, ":", a.Owner) }

func (a Account) is(id []byte) bool {
	n := len(a.Kind)
	return len(id) == n+1+len(a.Owner) && string(id[:n]) == a.Kind && id[n] == ':' && string(id[n+1:]) == a.Owner
}

// compareLocks compares accounts by their ids, the players' own before shared ones. Every transaction locks balances
// in this order, so that transactions cannot deadlock.
func compareLocks(a, b Account) int {
	if own, other := a.Kind == KindUser, b.Kind == KindUser; own != other {
		if own {
			return -1
		}
		return 1
	}
	return byID(a, b)
}

func byID(a, b Account) int {
	if a.Kind == b.Kind {
		return cmp.Compare(a.Owner, b.Owner)
	}
	return cmp.Compare(a.ID(), b.ID())
}

// InLockOrder returns the accounts of a set in lock order: the players' own, and the shared ones.
func InLockOrder(set map[Account]bool) (own, shared []Account) {
	all := slices.SortedFunc(maps.Keys(set), compareLocks)
	n := 0
	for n < len(all) && all[n].Kind == KindUser {
		n++
	}
	return all[:n], all[n:]
}
