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

// mostSkipped bounds a shard's earlier moves that have no row or no number yet when a later one gets its row. A mover
// has eight in flight.
const mostSkipped = 10_000

// ofShard selects the moves from and to a shard.
const ofShard = "WHERE campaign_id = ? AND (from_shard = ? OR to_shard = ?)"

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
		return false, fmt.Errorf("%w: its row has packets %s from shard %d to shard %d, number %d of epoch %d",
			ErrMoveRefused, numbers, shard, is.To, is.Number, is.Epoch)
	}
	return true, nil
}

// refusalOf returns the reason why a shard cannot have lent the packets, or "". The caller has locked the shard's
// epoch, so no other move from there gets its row meanwhile.
func refusalOf(ctx context.Context, tx *sqldb.Tx, campaign string, from int, lent rain.Lent) (string, error) {
	var l rain.Layout
	known, err := tx.First(ctx, []any{&l.Packets, &l.Shards, &l.GuestsShare},
		"SELECT packets, shards, guests_share FROM campaign WHERE id = ?", campaign)
	if err != nil {
		return "", err
	}
	l.Shards = max(l.Shards, 1)
	switch {
	case !known:
		return ErrUnknownCampaign.Error(), nil
	case from < 0 || from >= l.Shards || lent.To < 0 || lent.To >= l.Shards:
		return fmt.Sprintf("the campaign has no shards %d and %d", from, lent.To), nil
	case from == lent.To:
		return "its two shards are the same", nil
	case l.LaneOfShard(from) != l.LaneOfShard(lent.To):
		return fmt.Sprintf("shards %d and %d are of different lanes, guests' and players'", from, lent.To), nil
	case len(lent.Numbers) == 0 || slices.ContainsFunc(lent.Numbers, func(r rain.Range) bool {
		return r.First < 0 || r.First > r.Last || r.Last >= l.Packets
	}):
		return "the campaign has no such packets", nil
	}
	moves, err := MoveTable.List(ctx, tx, ofShard, campaign, from, from)
	if err != nil {
		return "", err
	}
	if reason := wrongNumber(moves, from, lent.Number, lent.Epoch); reason != "" {
		return reason, nil
	}
	holds := packetSet{holdingOf(l, from, moves).Numbers}
	if foreign := holds.without(lent.Numbers); len(foreign) > 0 {
		return fmt.Sprintf("the shard does not have packets %s after its earlier moves", inShort(foreign)), nil
	}
	if once := new(packetSet).without(lent.Numbers); once.Count() != lent.Numbers.Count() {
		return "it has duplicate packets", nil
	}
	return spent(ctx, tx, campaign, lent.Numbers)
}

// wrongNumber returns the reason why a move cannot have its number among the lending shard's moves, or "". epoch is
// that of the shard.
func wrongNumber(moves []Move, shard int, number, epoch int64) string {
	for i := range moves {
		if moves[i].numberOf(shard) == number {
			return fmt.Sprintf("number %d of shard %d is move %s", number, shard, moves[i].Lent.Move)
		}
	}
	if number <= epoch {
		return fmt.Sprintf("it is number %d of shard %d, which counts from %d", number, shard, epoch)
	}
	return tooHigh(moves, shard, number, epoch)
}

// tooHigh returns the reason why a shard cannot have made so many moves, or "".
func tooHigh(moves []Move, shard int, number, epoch int64) string {
	newest := epoch
	for i := range moves {
		newest = max(newest, moves[i].numberOf(shard))
	}
	if number > newest+mostSkipped {
		return fmt.Sprintf("it is number %d of shard %d, whose newest is %d", number, shard, newest)
	}
	return ""
}

// numberOf returns a move's number among those of a shard, or 0.
func (m *Move) numberOf(shard int) int64 {
	switch shard {
	case m.From:
		return m.Number
	case m.To:
		return m.ToNumber
	}
	return 0
}

// wrongArrival returns the reason why a move cannot have its number among the receiving shard's moves, or "". The
// shard may have been rebuilt since, so the number may be of an earlier epoch.
func wrongArrival(ctx context.Context, tx *sqldb.Tx, move string, number int64) (string, error) {
	var campaign string
	var to int
	var doneAt, epoch int64
	found, err := tx.First(ctx, []any{&campaign, &to, &doneAt},
		"SELECT campaign_id, to_shard, done_at FROM move WHERE id = ?", move)
	if err != nil || !found || doneAt != 0 {
		return "", err
	}
	if _, err := tx.First(ctx, []any{&epoch}, "SELECT barrier_ms FROM shard_epoch WHERE campaign_id = ? AND shard = ?",
		campaign, to); err != nil {
		return "", err
	}
	moves, err := MoveTable.List(ctx, tx, ofShard, campaign, to, to)
	if err != nil {
		return "", err
	}
	if number < 0 {
		return fmt.Sprintf("it is number %d of shard %d", number, to), nil
	}
	return tooHigh(moves, to, number, epoch), nil
}

// spent returns the reason why packets cannot be lent any more: they are paid or returned. "" = none is.
func spent(ctx context.Context, q sqldb.Querier, campaign string, numbers rain.Numbers) (string, error) {
	for some := range slices.Chunk(numbers, rangesAtOnce) {
		within, args := withinRanges(some)
		var packet int
		paid, err := q.First(ctx, []any{&packet}, "SELECT packet FROM payout WHERE campaign_id = ? AND "+within+
			" LIMIT 1", append([]any{campaign}, args...)...)
		if err != nil {
			return "", err
		}
		if paid {
			return fmt.Sprintf("packet %d is paid", packet), nil
		}
	}
	r := reclaimed{entries: map[rain.EntryRef]bool{}, whole: map[string]bool{}, given: map[string]*packetSet{}}
	if err := r.readGiven(ctx, q, campaign); err != nil {
		return "", err
	}
	free := r.given[campaign].without(numbers)
	if gone := (&packetSet{free}).without(numbers); len(gone) > 0 {
		return fmt.Sprintf("packets %s were returned to the sponsor", inShort(gone)), nil
	}
	return "", nil
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
