package posting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Moves are the rows of stock that moves between shards. A row is written after the lending and before the borrowing,
// so the rebuild of a shard can count its packets.
type Moves struct {
	db    *sqldb.DB
	clock rain.Clock
}

// NewMoves makes Moves for a migrated database. clock gives the times that are written to it.
func NewMoves(db *sqldb.DB, clock rain.Clock) *Moves { return &Moves{db: db, clock: clock} }

// ErrCutOff means that the lending shard was rebuilt since: the packets are in its stock again, and must not be
// moved.
var ErrCutOff = errors.New("the shard was rebuilt since it lent the packets")

// ErrMoveRefused means that a move contradicts the ledger. An outsider has written to Redis, or Redis has gone back
// in time.
var ErrMoveRefused = errors.New("the move contradicts the ledger")

var moveColumns = []string{"id", "campaign_id", "from_shard", "to_shard", "numbers", "packets", "from_number", "epoch",
	"created_at"}

// Write writes the row of a loan; a second call changes nothing. It fails with ErrCutOff if the shard was rebuilt
// before the row was written, and with ErrMoveRefused if the shard cannot have lent the packets.
func (m *Moves) Write(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	err := m.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		// A fence and other moves from here lock this row, too. So one of them is first, and the others see it.
		columns := []string{"campaign_id", "shard", "attempt"}
		err := tx.Insert(ctx, "shard_epoch", columns, [][]any{{campaign, from, 0}}, sqldb.Merge{Key: columns[:2]})
		if err != nil {
			return err
		}
		var epoch int64
		if _, err := tx.First(ctx, []any{&epoch},
			"SELECT barrier_ms FROM shard_epoch WHERE campaign_id = ? AND shard = ?"+
				tx.ForUpdate(), campaign, from); err != nil {
			return err
		}
		written, err := isWritten(ctx, tx, campaign, from, lent)
		if err != nil || written {
			return err
		}
		if epoch != lent.Epoch {
			return ErrCutOff
		}
		if lent.Number > m.highest() {
			return refused("no shard has made %d moves", lent.Number)
		}
		if err := checkLoan(ctx, tx, campaign, from, lent); err != nil {
			return err
		}
		return tx.Insert(ctx, "move", moveColumns, [][]any{{lent.Move, campaign, from, lent.To, lent.Numbers.String(),
			lent.Numbers.Count(), lent.Number, lent.Epoch, m.clock()}}, sqldb.Merge{})
	})
	return sqldb.Wrap(err, "write move %s of campaign %s", lent.Move, campaign)
}

// Done marks a move as done. number is its number among the receiving shard's moves, 0 = not known. If the number is
// impossible, the move is done, the number is not stored, and the error is ErrMoveRefused. A wrong number would make
// the shard look as if it had gone back in time.
func (m *Moves) Done(ctx context.Context, move string, number int64) error {
	stored := number
	if number < 0 || number > m.highest() {
		stored = 0
	}
	n, err := m.db.Exec(ctx, "UPDATE move SET to_number = ?, done_at = ? WHERE id = ? AND done_at = 0", stored,
		m.clock(), move)
	if err == nil && n > 0 && stored != number {
		err = refused("no shard has made %d moves", number)
	}
	return sqldb.Wrap(err, "end move %s", move)
}

// highest is the largest number that a move can have. An epoch counts its moves from its begin, Unix ms.
func (m *Moves) highest() int64 { return m.clock() + farFutureMS }

// Move is a row.
type Move struct {
	rain.Lent
	From     int
	ToNumber int64 // among the borrowing shard's moves; 0: not known to have arrived
	Done     bool
}

// MoveTable maps the rows of moves for reading; [Moves.Write] writes them.
var MoveTable = sqldb.NewTable("move", func(m *Move) []any {
	return []any{"id", &m.Move, "from_shard", &m.From, "to_shard", &m.To,
		"numbers", sqldb.Via(m.Numbers.String, func(text string) (err error) {
			m.Numbers, err = rain.ParseNumbers(text, rain.MaxPackets)
			return sqldb.Wrap(err, "move %s: %q", m.Lent.Move, text)
		}),
		"from_number", &m.Number, "to_number", &m.ToNumber, "epoch", &m.Epoch,
		"done_at", sqldb.Via(func() int64 { return 0 }, func(at int64) error {
			m.Done = at != 0
			return nil
		})}
})

// Open lists a campaign's moves in flight that have rows.
func (m *Moves) Open(ctx context.Context, campaign string) ([]Move, error) {
	moves, err := MoveTable.List(ctx, m.db, "WHERE done_at = 0 AND campaign_id = ? ORDER BY created_at", campaign)
	return moves, sqldb.Wrap(err, "read the open moves of campaign %s", campaign)
}

// Known is the newest state of a shard that the ledger has seen: its newest entry, and its number of moves. A Redis
// of an earlier epoch has fewer moves than the known epoch begins with.
type Known struct {
	Entry string
	Moves int64
}

// Known returns the newest known state of each shard of a campaign. A Redis with an older state has gone back in
// time.
//
// The barrier shows that, too. An open shard never has a lower barrier than the ledger (see epoch.go), unless Redis
// has returned to its state before the rebuild.
func (m *Moves) Known(ctx context.Context, c *rain.Campaign) ([]Known, error) {
	known := make([]Known, max(c.Shards, 1))
	for i := range known {
		known[i].Entry = "0-0"
	}
	err := m.db.Each(ctx, func(scan sqldb.Scan) error {
		var shard int
		var ms, seq, moves int64
		if err := scan(&shard, &ms, &seq, &moves); err != nil || shard < 0 || shard >= len(known) {
			return err
		}
		if ms > 0 {
			known[shard].Entry = fmt.Sprintf("%d-%d", ms, seq)
		}
		known[shard].Moves = max(known[shard].Moves, moves)
		return nil
	}, "SELECT shard, entry_ms, entry_seq, 0 FROM shard_mark WHERE campaign_id = ? UNION ALL "+
		"SELECT from_shard, 0, 0, MAX(from_number) FROM move WHERE campaign_id = ? GROUP BY from_shard UNION ALL "+
		"SELECT to_shard, 0, 0, MAX(to_number) FROM move WHERE campaign_id = ? GROUP BY to_shard UNION ALL "+
		// Each epoch counts its moves from its own time.
		"SELECT shard, 0, 0, barrier_ms FROM shard_epoch WHERE campaign_id = ?", c.ID, c.ID, c.ID, c.ID)
	return known, sqldb.Wrap(err, "read the known state of campaign %s", c.ID)
}

// Holding is a shard's packets by the moves in the ledger.
type Holding struct {
	Numbers  rain.Numbers // its part of the split, without lent packets, with borrowed ones
	Borrowed []string     // the moves that brought packets
	Moves    int64        // the highest number among this shard's moves
}

// Holding reads the packets of a shard. The result is final once the shard is fenced.
func (r *Rebuilds) Holding(ctx context.Context, c *rain.Campaign, shard int) (h Holding, err error) {
	return readHolding(ctx, r.db, c, shard)
}

func readHolding(ctx context.Context, q sqldb.Querier, c *rain.Campaign, shard int) (h Holding, err error) {
	moves, err := MoveTable.List(ctx, q, ofShard, c.ID, shard, shard)
	if err != nil {
		return h, fmt.Errorf("read the moves of shard %d of campaign %s: %w", shard, c.ID, err)
	}
	return holdingOf(c.Layout(), shard, moves), nil
}

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
