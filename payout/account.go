package payout

import (
	"cmp"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
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

func byAccountID(a, b account) int {
	if a.kind == b.kind {
		return cmp.Compare(a.owner, b.owner)
	}
	return cmp.Compare(a.id(), b.id())
}

// inKeyOrder returns the accounts of deltas in the order of their ids, the players' own and those that many share apart.
// Every transaction locks balances in this order, own before shared, so that two of them never wait for each other.
func inKeyOrder(deltas map[account]rain.Money) (own, shared []account) {
	for a := range deltas {
		if a.kind == kindUser {
			own = append(own, a)
		} else {
			shared = append(shared, a)
		}
	}
	slices.SortFunc(own, byAccountID)
	slices.SortFunc(shared, byAccountID)
	return own, shared
}
