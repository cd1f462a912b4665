package posting

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// What a shard has lent stands in Redis until it has a row, and no seal covers it. Whoever can write to Redis could
// make a shard lend what it does not have. So before there is a row, what was lent is held against what the ledger
// knows of the shard.

// mostSkipped is how many of a shard's moves may have no row yet, or no number in theirs, when one with a higher number
// gets its row. A mover has eight under way at a time.
const mostSkipped = 10_000

// ofShard finds the moves from and to a shard.
const ofShard = "WHERE campaign_id = ? AND (from_shard = ? OR to_shard = ?)"

// isWritten tells whether what was lent has its row. A row of the same id that says something else is a refusal.
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

// refusalOf says why a shard cannot have lent something; "" where it can. The caller has locked the shard's epoch,
// so no other move from there gets its row meanwhile.
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
		return "it goes to the shard that it comes from", nil
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
		return fmt.Sprintf("packets %s are not there by the moves before", inShort(foreign)), nil
	}
	if once := new(packetSet).without(lent.Numbers); once.Count() != lent.Numbers.Count() {
		return "it names packets twice", nil
	}
	return spent(ctx, tx, campaign, lent.Numbers)
}

// wrongNumber says why a move cannot have its number among those of the shard that lends; "" where it can. epoch is the
// shard's.
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

// tooHigh says why a shard cannot have made so many moves; "" where it can.
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

// numberOf is a move's number among those of a shard; 0 where it has none.
func (m *Move) numberOf(shard int) int64 {
	switch shard {
	case m.From:
		return m.Number
	case m.To:
		return m.ToNumber
	}
	return 0
}

// wrongArrival says why a move cannot have its number among those of the shard that got it; "" where it can. The shard
// may have been rebuilt since, so the number may be of an epoch before.
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

// spent says which of some packets nobody can lend any more, because they are paid, or were given back; "" where there
// are none.
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
		return fmt.Sprintf("packets %s were given back to the sponsor", inShort(gone)), nil
	}
	return "", nil
}

// withinRanges is the condition that a packet is in one of some ranges, with its arguments.
func withinRanges(ranges rain.Numbers) (condition string, args []any) {
	for _, one := range ranges {
		args = append(args, one.First, one.Last)
	}
	return "(packet BETWEEN ? AND ?" + strings.Repeat(" OR packet BETWEEN ? AND ?", len(ranges)-1) + ")", args
}

// inShort is ranges as text, of many the first.
func inShort(numbers rain.Numbers) string {
	const shown = 5
	if len(numbers) <= shown {
		return numbers.String()
	}
	return fmt.Sprintf("%s and %d more ranges", numbers[:shown], len(numbers)-shown)
}

// holdingOf reckons what a shard has been given, and has not given away again, from the moves from and to it.
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
