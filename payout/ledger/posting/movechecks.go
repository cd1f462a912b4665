package posting

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// A loan of stock exists only in Redis until the ledger has its row, and no seal covers it. An outsider with access
// to Redis could forge one. So the loan is checked against the ledger before its row is written.

// ofShard selects the moves from and to a shard.
const ofShard = "WHERE campaign_id = ? AND (from_shard = ? OR to_shard = ?)"

// refused is the error of a move that contradicts the ledger.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMoveRefused}, args...)...)
}

// isWritten reports whether the loan has its row. It fails with ErrMoveRefused if a row with the same id differs.
func isWritten(ctx context.Context, tx *sqldb.Tx, campaign string, from int, lent rain.Lent) (bool, error) {
	var of, numbers string
	var is rain.Lent
	var shard int
	found, err := tx.First(ctx, []any{&of, &shard, &is.To, &numbers, &is.Number, &is.Epoch},
		"SELECT campaign_id, from_shard, to_shard, numbers, from_number, epoch FROM move WHERE id = ?", lent.Move)
	if err != nil || !found {
		return false, err
	}
	if of != campaign || shard != from || is.To != lent.To || numbers != lent.Numbers.String() ||
		is.Number != lent.Number || is.Epoch != lent.Epoch {
		return false, refused("its row has packets %s from shard %d to shard %d, number %d of epoch %d", numbers, shard,
			is.To, is.Number, is.Epoch)
	}
	return true, nil
}

// checkLoan fails with ErrMoveRefused if a shard cannot have lent the packets. The caller has locked the shard's
// epoch, so no other move from there gets its row meanwhile.
func checkLoan(ctx context.Context, tx *sqldb.Tx, campaign string, from int, lent rain.Lent) error {
	var l rain.Layout
	known, err := tx.First(ctx, []any{&l.Packets, &l.Shards, &l.GuestsShare},
		"SELECT packets, shards, guests_share FROM campaign WHERE id = ?", campaign)
	if err != nil {
		return err
	}
	l.Shards = max(l.Shards, 1)
	switch {
	case !known:
		return refused("%w", ErrUnknownCampaign)
	case from < 0 || from >= l.Shards || lent.To < 0 || lent.To >= l.Shards:
		return refused("the campaign has no shards %d and %d", from, lent.To)
	case from == lent.To:
		return refused("its two shards are the same")
	case l.LaneOfShard(from) != l.LaneOfShard(lent.To):
		return refused("shards %d and %d are of different lanes, guests' and players'", from, lent.To)
	case !within(lent.Numbers, l.Packets):
		return refused("the campaign has no such packets")
	}
	moves, err := MoveTable.List(ctx, tx, ofShard, campaign, from, from)
	if err != nil {
		return err
	}
	for _, m := range moves {
		if m.From == from && m.Number == lent.Number || m.To == from && m.ToNumber == lent.Number {
			return refused("number %d of shard %d is move %s", lent.Number, from, m.Move)
		}
	}
	if lent.Number <= lent.Epoch {
		return refused("it is number %d of shard %d, which counts from %d", lent.Number, from, lent.Epoch)
	}
	if foreign := without(lent.Numbers, holdingOf(l, from, moves).Numbers); len(foreign) > 0 {
		return refused("the shard does not have packets %s after its earlier moves", inShort(foreign))
	}
	if rain.Remaining(lent.Numbers, nil).Count() != lent.Numbers.Count() {
		return refused("it has duplicate packets")
	}
	return checkUnspent(ctx, tx, campaign, lent.Numbers)
}

// within reports whether there are packets, and a campaign of so many has all of them.
func within(numbers rain.Numbers, packets int) bool {
	return len(numbers) > 0 && !slices.ContainsFunc(numbers, func(some rain.Range) bool {
		return some.First < 0 || some.First > some.Last || some.Last >= packets
	})
}

// checkUnspent fails with ErrMoveRefused if some of the packets are paid or returned.
func checkUnspent(ctx context.Context, q sqldb.Querier, campaign string, numbers rain.Numbers) error {
	for some := range slices.Chunk(numbers, rangesAtOnce) {
		inRanges, args := withinRanges(some)
		var packet int
		paid, err := q.First(ctx, []any{&packet}, "SELECT packet FROM payout WHERE campaign_id = ? AND "+inRanges+
			" LIMIT 1", append([]any{campaign}, args...)...)
		if err != nil {
			return err
		}
		if paid {
			return refused("packet %d is paid", packet)
		}
	}
	r, err := readReclaimed(ctx, q, nil, map[string]int64{campaign: 1})
	if err != nil {
		return err
	}
	if gone := without(numbers, without(numbers, r.given[campaign])); len(gone) > 0 {
		return refused("packets %s were returned to the sponsor", inShort(gone))
	}
	return nil
}

// withinRanges returns the condition that a packet is in one of the ranges, with its arguments.
func withinRanges(ranges rain.Numbers) (condition string, args []any) {
	for _, one := range ranges {
		args = append(args, one.First, one.Last)
	}
	return "(packet BETWEEN ? AND ?" + strings.Repeat(" OR packet BETWEEN ? AND ?", len(ranges)-1) + ")", args
}

// inShort formats ranges. It shows only the first of many.
func inShort(numbers rain.Numbers) string {
	const shown = 5
	if len(numbers) <= shown {
		return numbers.String()
	}
	return fmt.Sprintf("%s and %d more ranges", numbers[:shown], len(numbers)-shown)
}

// holdingOf computes the packets of a shard from the moves from and to it.
func holdingOf(l rain.Layout, shard int, moves []Move) (h Holding) {
	came, gone := l.Stock(shard), rain.Numbers{}
	for i := range moves {
		move := &moves[i]
		if move.From == shard {
			gone = append(gone, move.Numbers...)
			h.Moves = max(h.Moves, move.Number)
		}
		if move.To == shard {
			came = append(came, move.Numbers...)
			h.Borrowed = append(h.Borrowed, move.Move)
			h.Moves = max(h.Moves, move.ToNumber)
		}
	}
	h.Numbers = rain.Remaining(came, gone)
	return h
}
