package payout

import (
	"cmp"
	"maps"
	"slices"

	"redrain/internal/sqldb"
)

// account is one place where money can be.
type account struct{ kind, owner string }

// The kinds of account. Their ids are text that an accountant can read: "user:u1".
const (
	kindWorld   = "world" // everything outside; the only account that goes below zero
	kindSponsor = "sponsor"
	kindEscrow  = "escrow"
	kindUser    = "user"
)

var world = account{kind: kindWorld}

func sponsorAccount(id string) account      { return account{kindSponsor, id} }
func escrowAccount(campaign string) account { return account{kindEscrow, campaign} }
func userAccount(id string) account         { return account{kindUser, id} }

// id is the account's id in the database.
func (a account) id() string {
	if a == world {
		return kindWorld
	}
	return a.kind + ":" + a.owner
}

// put puts the account's id into a row.
func (a account) put(r *sqldb.Row) {
	if a == world {
		r.Text(kindWorld)
		return
	}
	r.Text(a.kind, ":", a.owner)
}

// is tells whether the account has this id.
func (a account) is(id []byte) bool {
	if a == world {
		return string(id) == kindWorld
	}
	n := len(a.kind)
	return len(id) == n+1+len(a.owner) && string(id[:n]) == a.kind && id[n] == ':' && string(id[n+1:]) == a.owner
}

// inLockOrder compares accounts by their ids, the players' own before those that many share. Every transaction
// locks balances in this order, so that two of them never wait for each other.
func inLockOrder(a, b account) int {
	if own, other := a.kind == kindUser, b.kind == kindUser; own != other {
		if own {
			return -1
		}
		return 1
	}
	return byID(a, b)
}

func byID(a, b account) int {
	if a.kind == b.kind {
		return cmp.Compare(a.owner, b.owner)
	}
	return cmp.Compare(a.id(), b.id())
}

// inKeyOrder returns the accounts of a set in lock order, the players' own and those that many share apart.
func inKeyOrder(set map[account]bool) (own, shared []account) {
	all := slices.SortedFunc(maps.Keys(set), inLockOrder)
	n := 0
	for n < len(all) && all[n].kind == kindUser {
		n++
	}
	return all[:n], all[n:]
}
