package posting

import (
	"context"
	"errors"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Moves are the rows of stock that moves from one shard to another. A row is written between the lending and the
// borrowing, so whoever rebuilds a shard knows what has left it and what has come.
type Moves struct {
	db    *sqldb.DB
	clock rain.Clock
}

// NewMoves makes the moves of a migrated database. clock gives the times that are written to it.
func NewMoves(db *sqldb.DB, clock rain.Clock) *Moves { return &Moves{db: db, clock: clock} }

// ErrCutOff says that the shard that lent stock was cut off from that by a rebuild: what it lent is in its stock again,
// and must not be moved any more.
var ErrCutOff = errors.New("the shard was rebuilt since it lent the packets")

// ErrMoveRefused says that the ledger does not bear a move out. Somebody who is not redrain has written to Redis, or
// Redis has gone back in time.
var ErrMoveRefused = errors.New("the ledger does not bear the move out")

var moveColumns = []string{"id", "campaign_id", "from_shard", "to_shard", "numbers", "packets", "from_number", "epoch",
	"created_at"}

// Write writes the row of what a shard has lent; the same again changes nothing. It fails with ErrCutOff where the
// shard was rebuilt before there was a row, and with ErrMoveRefused where the shard cannot have lent that.
func (m *Moves) Write(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	err := m.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		// A fence locks this row too, and so does another move from here: of the two one comes first, and the other
		// one sees it.
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
		reason, err := refusalOf(ctx, tx, campaign, from, lent)
		if err != nil {
			return err
		}
		if reason != "" {
			return fmt.Errorf("%w: %s", ErrMoveRefused, reason)
		}
		return tx.Insert(ctx, "move", moveColumns, [][]any{{lent.Move, campaign, from, lent.To, lent.Numbers.String(),
			lent.Numbers.Count(), lent.Number, lent.Epoch, m.clock()}}, sqldb.Merge{})
	})
	return sqldb.Wrap(err, "move %s of campaign %s", lent.Move, campaign)
}

// Done marks a move as done; number is its number among the moves of the shard that got the packets, 0 where that is
// not known. It fails with ErrMoveRefused where it cannot have that number: then the move is done, and the number is
// not kept, because a shard that knows of fewer moves than the ledger counts as one that has gone back in time.
func (m *Moves) Done(ctx context.Context, move string, number int64) error {
	var reason string
	err := m.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		keep := number
		var err error
		if reason, err = wrongArrival(ctx, tx, move, number); err != nil {
			return err
		}
		if reason != "" {
			keep = 0
		}
		_, err = tx.Exec(ctx, "UPDATE move SET to_number = ?, done_at = ? WHERE id = ? AND done_at = 0", keep,
			m.clock(), move)
		return err
	})
	if err == nil && reason != "" {
		err = fmt.Errorf("%w: %s", ErrMoveRefused, reason)
	}
	return sqldb.Wrap(err, "ending move %s", move)
}

// Move is a row.
type Move struct {
	rain.Lent
	From     int
	ToNumber int64 // among the moves of the shard that borrows; 0: it is not known to have arrived
	Done     bool
}

// MoveTable maps the rows of moves, to read them; [Moves.Write] writes them.
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

// Open are the moves of a campaign that are under way, as far as they have rows.
func (m *Moves) Open(ctx context.Context, campaign string) ([]Move, error) {
	moves, err := MoveTable.List(ctx, m.db, "WHERE done_at = 0 AND campaign_id = ? ORDER BY created_at", campaign)
	return moves, sqldb.Wrap(err, "the moves of campaign %s", campaign)
}

// Known is the highest that the ledger has seen of a shard: its newest entry, and its number of moves. What Redis
// had of an epoch before has fewer moves than the epoch that the ledger knows begins with.
type Known struct {
	Entry string
	Moves int64
}

// Known is what the ledger has seen of each shard of a campaign. A Redis that knows less has gone back in time.
//
// That holds for the barrier too: a shard is never there with a lower barrier than the ledger's (see epoch.go), unless
// Redis has come back with what it knew before the rebuild.
func (m *Moves) Known(ctx context.Context, c *rain.Campaign) ([]Known, error) {
	known := make([]Known, max(c.Shards, 1))
	for i := range known {
		known[i].Entry = "0-0"
	}
	err := m.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Each(ctx, func(scan sqldb.Scan) error {
			var shard int
			var ms, seq int64
			if err := scan(&shard, &ms, &seq); err != nil {
				return err
			}
			if shard >= 0 && shard < len(known) {
				known[shard].Entry = fmt.Sprintf("%d-%d", ms, seq)
			}
			return nil
		}, "SELECT shard, entry_ms, entry_seq FROM shard_mark WHERE campaign_id = ?", c.ID)
		if err != nil {
			return err
		}
		for _, query := range []string{
			"SELECT from_shard, MAX(from_number) FROM move WHERE campaign_id = ? GROUP BY from_shard",
			"SELECT to_shard, MAX(to_number) FROM move WHERE campaign_id = ? GROUP BY to_shard",
			// Each epoch counts its moves from its own time on.
			"SELECT shard, barrier_ms FROM shard_epoch WHERE campaign_id = ?",
		} {
			err := tx.Each(ctx, func(scan sqldb.Scan) error {
				var shard int
				var number int64
				if err := scan(&shard, &number); err != nil {
					return err
				}
				if shard >= 0 && shard < len(known) {
					known[shard].Moves = max(known[shard].Moves, number)
				}
				return nil
			}, query, c.ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return known, sqldb.Wrap(err, "what the ledger has seen of campaign %s", c.ID)
}

// Holding is what a shard has been given, and has not given away again.
type Holding struct {
	Numbers  rain.Numbers // its part of the split, less what it lent, with what it borrowed
	Borrowed []string     // the moves that have brought something
	Moves    int64        // the highest number of a move of this shard
}

// Holding reads the packets of a shard. It is right once the shard is fenced.
func (r *Rebuilds) Holding(ctx context.Context, c *rain.Campaign, shard int) (h Holding, err error) {
	moves, err := MoveTable.List(ctx, r.db, ofShard, c.ID, shard, shard)
	if err != nil {
		return h, fmt.Errorf("the moves of shard %d of campaign %s: %w", shard, c.ID, err)
	}
	return holdingOf(c.Layout(), shard, moves), nil
}
