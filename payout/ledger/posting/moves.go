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

var moveColumns = []string{"id", "campaign_id", "from_shard", "to_shard", "numbers", "packets", "from_number", "epoch",
	"created_at"}

// Write writes the row of what a shard has lent; the same again changes nothing. It fails with ErrCutOff where the
// shard was rebuilt before there was a row.
func (m *Moves) Write(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	err := m.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		// A fence locks this row too: of the two one comes first, and the other one sees it.
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
		if epoch != lent.Epoch {
			var known string
			written, err := tx.First(ctx, []any{&known}, "SELECT id FROM move WHERE id = ? AND campaign_id = ?",
				lent.Move,
				campaign)
			if err == nil && !written {
				err = ErrCutOff
			}
			return err
		}
		return tx.Insert(ctx, "move", moveColumns, [][]any{{lent.Move, campaign, from, lent.To, lent.Numbers.String(),
			lent.Numbers.Count(), lent.Number, lent.Epoch, m.clock()}}, sqldb.Merge{Key: moveColumns[:1]})
	})
	if err != nil {
		return fmt.Errorf("move %s of campaign %s: %w", lent.Move, campaign, err)
	}
	return nil
}

// Done marks a move as done; number is its number among the moves of the shard that got the packets.
func (m *Moves) Done(ctx context.Context, move string, number int64) error {
	_, err := m.db.Exec(ctx, "UPDATE move SET to_number = ?, done_at = ? WHERE id = ? AND done_at = 0", number,
		m.clock(),
		move)
	if err != nil {
		return fmt.Errorf("ending move %s: %w", move, err)
	}
	return nil
}

// Move is a row.
type Move struct {
	rain.Lent
	From     int
	ToNumber int64 // among the moves of the shard that borrows; 0: it is not known to have arrived
	Done     bool
}

// MoveSelect begins a query for moves, whose rows ScanMove reads.
const MoveSelect = "SELECT id, from_shard, to_shard, numbers, from_number, to_number, epoch, done_at FROM move "

// ScanMove reads a row of a query that MoveSelect begins.
func ScanMove(scan sqldb.Scan) (m Move, err error) {
	var numbers string
	var doneAt int64
	if err := scan(&m.Move, &m.From, &m.To, &numbers, &m.Number, &m.ToNumber, &m.Epoch, &doneAt); err != nil {
		return m, err
	}
	m.Done = doneAt != 0
	m.Numbers, err = rain.ParseNumbers(numbers, rain.MaxPackets)
	if err != nil {
		err = fmt.Errorf("move %s: %q: %w", m.Lent.Move, numbers, err)
	}
	return m, err
}

// Open are the moves of a campaign that are under way, as far as they have rows.
func (m *Moves) Open(ctx context.Context, campaign string) ([]Move, error) {
	moves, err := sqldb.List(ctx, m.db, ScanMove,
		MoveSelect+"WHERE done_at = 0 AND campaign_id = ? ORDER BY created_at",
		campaign)
	if err != nil {
		return nil, fmt.Errorf("the moves of campaign %s: %w", campaign, err)
	}
	return moves, nil
}

// Known is the highest that the ledger has seen of a shard: its newest entry, and its number of moves. A rebuild is
// seen as well, also where nothing was posted or moved since: a shard begins an epoch with the barrier as its newest
// entry, and counts its moves from the epoch's time on.
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
		err = tx.Each(ctx, func(scan sqldb.Scan) error {
			var shard int
			var barrier int64
			if err := scan(&shard, &barrier); err != nil {
				return err
			}
			if shard >= 0 && shard < len(known) {
				known[shard].begin(barrier)
			}
			return nil
		}, "SELECT shard, barrier_ms FROM shard_epoch WHERE barrier_ms > 0 AND campaign_id = ?", c.ID)
		if err != nil {
			return err
		}
		for _, query := range []string{
			"SELECT from_shard, MAX(from_number) FROM move WHERE campaign_id = ? GROUP BY from_shard",
			"SELECT to_shard, MAX(to_number) FROM move WHERE campaign_id = ? GROUP BY to_shard",
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
	if err != nil {
		return nil, fmt.Errorf("what the ledger has seen of campaign %s: %w", c.ID, err)
	}
	return known, nil
}

// begin takes in that an epoch of the shard has begun.
func (k *Known) begin(barrier int64) {
	ms, _, err := rain.EntryRef{ID: k.Entry}.Position()
	if err != nil || ms < barrier {
		k.Entry = barrierID(barrier)
	}
	k.Moves = max(k.Moves, barrier)
}

// Holding is what a shard has been given, and has not given away again.
type Holding struct {
	Numbers  rain.Numbers // its part of the split, less what it lent, with what it borrowed
	Borrowed []string     // the moves that have brought something
	Moves    int64        // the highest number of a move of this shard
}

// Holding reads the packets of a shard. It is right once the shard is fenced.
func (r *Rebuilds) Holding(ctx context.Context, c *rain.Campaign, shard int) (h Holding, err error) {
	first, n := rain.ShardRange(c.Packets, max(c.Shards, 1), shard)
	came, gone := rain.Numbers{{First: first, Last: first + n - 1}}, rain.Numbers{}
	moves, err := sqldb.List(ctx, r.db, ScanMove,
		MoveSelect+"WHERE campaign_id = ? AND (from_shard = ? OR to_shard = ?)",
		c.ID, shard, shard)
	if err != nil {
		return h, fmt.Errorf("the moves of shard %d of campaign %s: %w", shard, c.ID, err)
	}
	for _, move := range moves {
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
	return h, nil
}
