package booking

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// World is many rows, its stripes: world:0, world:4711, and so on. A transaction takes any of them that nobody holds,
// and makes a new one where all are held, so nobody waits for world: not for a busy node, and not for one that is
// frozen in the middle of a transaction. There are as many stripes as there were ever such transactions at once.

// ofWorld finds the stripes of world by the balances' ids: from the colon on, and before the sign after it.
const ofWorld = "account_id >= '" + KindWorld + ":' AND account_id < '" + KindWorld + ";'"

// stripeNames is among how many names a new stripe takes one by chance: two that are made at once are hardly the same.
const stripeNames = 10_000

// stripeFloor is as far below zero as a stripe of world may go: the sum of a hundred still fits in 64 bits.
const stripeFloor = -90 * rain.MaxBudget

// spread replaces World by one of its stripes, in the transactions that are returned and in what they move.
func spread(ctx context.Context, tx *sqldb.Tx, shared Movements, txns []Txn) ([]Txn, error) {
	at := slices.IndexFunc(shared, func(m movement) bool { return m.Account == World })
	if at < 0 {
		return txns, nil
	}
	stripe, err := freeStripe(ctx, tx)
	if err != nil {
		return nil, err
	}
	shared[at].Account = stripe
	txns = slices.Clone(txns)
	for i := range txns {
		txns[i].Lines = slices.Clone(txns[i].Lines)
		for j := range txns[i].Lines {
			if ln := &txns[i].Lines[j]; ln.Account == World {
				ln.Account = stripe
			}
		}
	}
	return txns, nil
}

// freeStripe locks a stripe of world that nobody holds.
func freeStripe(ctx context.Context, tx *sqldb.Tx) (Account, error) {
	var id string
	found, err := tx.First(ctx, []any{&id},
		"SELECT account_id FROM balance WHERE "+ofWorld+" ORDER BY account_id LIMIT 1"+tx.SkipLocked())
	if err != nil {
		return Account{}, fmt.Errorf("looking for a row of world that is free: %w", err)
	}
	if found {
		return Account{KindWorld, strings.TrimPrefix(id, KindWorld+":")}, nil
	}
	if tx.SkipLocked() == "" { // nobody else writes: this is the first
		return Account{KindWorld, "0"}, nil
	}
	return Account{KindWorld, strconv.Itoa(rand.N(stripeNames))}, nil //nolint:gosec // spreads load, keeps no secret
}

// Whole is the account that a row belongs to, by its id: world for each of its stripes, and for others the row itself.
func Whole(account string) string {
	if strings.HasPrefix(account, KindWorld+":") {
		return KindWorld
	}
	return account
}

// MayOwe tells whether an account may be below zero, by its id.
func MayOwe(account string) bool { return Whole(account) == KindWorld && account != KindWorld }
