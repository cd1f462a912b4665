package posting

import (
	"context"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Settlement is a claim that is in the ledger.
type Settlement struct {
	Campaign string
	Entry    rain.EntryRef // the outbox entry that brought it
	Claim    string
	User     string
	Packet   int
	Drop     string // the drop that won it
	Amount   rain.Money
	Balance  rain.Money // the player's, after the posting that told of it
	Total    rain.Money // all that the player has won of the campaign; 0 where this posting has added nothing to it
	WonAt    int64      // Unix ms
	New      bool       // posted by this call; false where an earlier copy was
}

// Posted is what [Poster.Post] has found and done.
type Posted struct {
	Settled []Settlement // every claim of the entries that is in the ledger now
	New     int          // how many of them are new
	Dead    []DeadLetter // what this call has put aside for a person
	Void    []DeadLetter // what came too late: of an epoch of its shard before Redis lost it; see Fence
	Dropped int          // what nobody has sealed, and was not kept because many like it are
	Held    int          // wins that this call has kept apart; they are among New, and not among Settled
	Cut     []ReclaimCut // reclaims that this call has posted with less than they asked for
}

// ReclaimCut is a reclaim that got less than it asked for.
type ReclaimCut struct {
	Ref    rain.EntryRef
	Asked  rain.Money
	Given  rain.Money
	Reason string

	numbers rain.Numbers // what was given back
}

// Totals is what a campaign has handed out and given back. They are kept beside the rows that they are the sums of,
// so that showing them costs nothing; Reconcile compares.
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
