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

// World is many rows, its stripes: world:0, world:4711, and so on. A transaction takes any unlocked stripe, or makes a
// new one. So no transaction waits for world, not even for a node that is frozen in the middle of a transaction. There
// are as many stripes as transactions ever used World at the same time.

// ofWorld selects the stripes of world by the balances' ids: from the colon to the next character.
const ofWorld = "account_id >= '" + KindWorld + ":' AND account_id < '" + KindWorld + ";'"

// stripeNames is the number of random names for a new stripe. Two concurrent transactions hardly pick the same one.
const stripeNames = 10_000

// stripeFloor is the lower limit of a stripe's balance. A hundred stripes at this floor still add up within 64 bits.
const stripeFloor = -90 * rain.MaxBudget

// spread replaces World by one of its stripes, in the returned transactions and in shared.
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

// freeStripe locks an unlocked stripe of world.
func freeStripe(ctx context.Context, tx *sqldb.Tx) (Account, error) {
	var id string
	found, err := tx.First(ctx, []any{&id},
		"SELECT account_id FROM balance WHERE "+ofWorld+" ORDER BY account_id LIMIT 1"+tx.SkipLocked())
	if err != nil {
		return Account{}, fmt.Errorf("find an unlocked row of world: %w", err)
	}
	if found {
		return Account{KindWorld, strings.TrimPrefix(id, KindWorld+":")}, nil
	}
	if tx.SkipLocked() == "" { // SQLite has one writer: this is the first stripe
		return Account{KindWorld, "0"}, nil
	}
	return Account{KindWorld, strconv.Itoa(rand.N(stripeNames))}, nil //nolint:gosec // spreads load, keeps no secret
}

// Whole returns the account of a balance's row: world for each of its stripes, and the id itself for others.
func Whole(account string) string {
	if strings.HasPrefix(account, KindWorld+":") {
		return KindWorld
	}
	return account
}

// MayOwe reports whether an account, by its id, may be below zero.
func MayOwe(account string) bool { return Whole(account) == KindWorld && account != KindWorld }
