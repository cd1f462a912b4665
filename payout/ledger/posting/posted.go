package posting

import (
	"context"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Settlement is a claim in the ledger.
type Settlement struct {
	Campaign string
	Entry    rain.EntryRef // the outbox entry that contained it
	Claim    string
	User     string
	Packet   int
	Drop     string // the drop that won it
	Amount   rain.Money
	Balance  rain.Money // the player's balance after the posting
	Total    rain.Money // the player's total in the campaign; 0 if this posting has not changed it
	WonAt    int64      // Unix ms
	New      bool       // posted by this call; false if by an earlier one
}

// Posted is the result of [Poster.Post].
type Posted struct {
	Settled []Settlement // every claim of the entries that is in the ledger now
	New     int          // how many of them are new
	Dead    []DeadLetter // new dead letters of this call
	Void    []DeadLetter // too late: of an earlier epoch of its shard; see Fence
	Dropped int          // forged input that was not kept, because many like it are
	Held    int          // wins that this call has held; they are in New and not in Settled
	Cut     []ReclaimCut // reclaims that this call has posted with less than they asked for
}

// ReclaimCut is a reclaim that got less than it asked for.
type ReclaimCut struct {
	Ref    rain.EntryRef
	Asked  rain.Money
	Given  rain.Money
	Reason string

	numbers rain.Numbers // the returned packets
}

// Totals are sums of a campaign's payouts and reclaims. They are stored beside the rows, so that showing them is
// cheap. Reconciliation compares them.
type Totals struct {
	Paid, Reclaimed             int64 // packets
	AmountPaid, AmountReclaimed rain.Money
}

// Tally adds to the campaigns' totals.
func Tally(ctx context.Context, tx *sqldb.Tx, add map[string]Totals) error {
	columns := []string{"campaign_id", "paid", "amount_paid", "reclaimed", "amount_reclaimed"}
	rows := make([][]any, 0, len(add))
	for _, id := range slices.Sorted(maps.Keys(add)) {
		t := add[id]
		rows = append(rows, []any{id, t.Paid, int64(t.AmountPaid), t.Reclaimed, int64(t.AmountReclaimed)})
	}
	return tx.Insert(ctx, "campaign_tally", columns, rows, sqldb.Merge{Key: columns[:1], Add: columns[1:]})
}
