package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
)

// Checkpoint is how far the books were proved.
type Checkpoint struct {
	Number  int64 // 0: there is none, and everything is still to be read
	At      int64 // Unix ms
	Marks   chain.Marks
	LastTxn int64  // the highest number of a transaction that was proved
	Seal    string // "" until it is added
	// Holes are parts of the chains before the marks in which something is wrong: they count as what came since, so
	// they are read again by each proof, and no sum has them.
	Holes []Hole
	// Skipped are numbers that checkpoints have passed over, because something had them already: rows that somebody has
	// added, or sums of checkpoints that somebody has removed. No sum of these is carried forward.
	Skipped []Range
	// Accounts are those whose balances are still to be compared with the sums, or did not fit them.
	Accounts []string

	ends     []byte // as they are in the row
	open     []byte // the same of Holes and Accounts
	previous string
	key      int64
	is       string // the seal of the row, as it is there
}

// Hole is a part of the chains.
type Hole struct {
	From    []chain.End `json:"from"`
	To      []chain.End `json:"to"`
	LastTxn int64       `json:"last_txn"` // the highest number of a transaction before it
}

// Range is some numbers of checkpoints, from one to another.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// open is what a checkpoint has not closed, and what it has passed over.
type open struct {
	Holes    []Hole   `json:"holes,omitempty"`
	Accounts []string `json:"accounts,omitempty"`
	Skipped  []Range  `json:"skipped,omitempty"`
}

// Since are the transactions that the checkpoint has not closed: those behind its marks, and those in its holes.
func (c *Checkpoint) Since(ctx context.Context, q sqldb.Querier) ([]int64, error) {
	ids, err := chain.TxnsAfter(ctx, q, c.Marks)
	if err != nil {
		return nil, err
	}
	for _, h := range c.Holes {
		of, err := chain.TxnsBetween(ctx, q, chain.MarksOf(h.From), chain.MarksOf(h.To))
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Txns is how many transactions were proved.
func (c *Checkpoint) Txns() (links int64) {
	for stripe, at := range c.Marks {
		if stripe.Book == chain.Txns {
			links += at.Links
		}
	}
	return links
}

const columns = "number, taken_at, ends, last_txn, holes, previous, key_id, seal"

func scan(row sqldb.Scan) (c Checkpoint, err error) {
	if err := row(&c.Number, &c.At, &c.ends, &c.LastTxn, &c.open, &c.previous, &c.key, &c.is); err != nil {
		return c, err
	}
	var ends []chain.End
	if json.Unmarshal(c.ends, &ends) == nil { // else its seal is wrong, which is said
		c.Marks = chain.MarksOf(ends)
	}
	var left open
	if json.Unmarshal(c.open, &left) == nil {
		c.Holes, c.Accounts, c.Skipped = left.Holes, left.Accounts, left.Skipped
	}
	return c, nil
}

// content is what the seal is over.
func (c *Checkpoint) content() []byte {
	return fmt.Appendf(nil, "checkpoint %d %d %d %d %q %d %s %s", c.Number, c.At, c.LastTxn, c.key, c.previous,
		len(c.ends), c.ends, c.open)
}

// name is how findings speak of it.
func (c *Checkpoint) name() string { return fmt.Sprintf("checkpoint %d", c.Number) }

// sealed tells whether the row is what was written.
func (c *Checkpoint) sealed(k keys) bool {
	secret, known := k[c.key]
	return known && secret.Checkpoint(c.content()) == c.is
}

// Newest is the newest checkpoint that is whole; its number is 0 where there is none. found hears of those that are
// not.
func Newest(ctx context.Context, q sqldb.Querier, found func(fault string)) (Checkpoint, error) {
	none := Checkpoint{Marks: chain.Marks{}}
	k, err := readKeys(ctx, q)
	if err != nil {
		return none, err
	}
	for below, some := int64(math.MaxInt64), 1; ; some = sqldb.Chunk {
		list, err := sqldb.List(ctx, q, scan, "SELECT "+columns+" FROM proof_checkpoint WHERE number <= ? "+
			"ORDER BY number DESC LIMIT ?", below, some)
		if err != nil {
			return none, fmt.Errorf("the newest checkpoint: %w", err)
		}
		for _, c := range list {
			if c.sealed(k) && c.Number > 0 && c.Number < mostNumber {
				c.Seal = c.is
				return c, nil
			}
			found(c.name() + " was changed or added by hand: its seal is wrong")
			below = c.Number - 1
		}
		if len(list) < some || below > list[len(list)-1].Number {
			return none, nil
		}
	}
}

// Check holds all checkpoints against their seals and each other, and the newest ones against the chains, and calls
// found for each that is not whole.
func Check(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	k, err := readKeys(ctx, q)
	if err != nil {
		return err
	}
	var last, whole Checkpoint // the one before, and the newest one before that is sealed
	for after := int64(math.MinInt64); ; after = last.Number {
		list, err := sqldb.List(ctx, q, scan, "SELECT "+columns+" FROM proof_checkpoint WHERE number > ? "+
			"ORDER BY number LIMIT ?", after, sqldb.Chunk)
		if err != nil {
			return fmt.Errorf("the checkpoints: %w", err)
		}
		for _, c := range list {
			switch {
			case !c.sealed(k):
				found(c.name() + " was changed or added by hand: its seal is wrong")
			case c.previous == whole.is: // whatever forged one was between them, or is
			case c.Number != last.Number+1:
				found(fmt.Sprintf("checkpoints %d to %d were removed", last.Number+1, c.Number-1))
			default:
				found(c.name() + " does not follow the one before: one of them was replaced")
			}
			if last = c; c.sealed(k) {
				whole = c
			}
		}
		if len(list) < sqldb.Chunk {
			break
		}
	}
	for _, end := range whole.Marks.Ends() {
		if err := chain.CheckEnd(ctx, q, whole.name(), end, found); err != nil {
			return err
		}
	}
	return nil
}

// Add writes a checkpoint behind another one, with the sums that have changed since. Another process may have been
// faster, which is no fault: then nothing is written, and added is false.
func Add(ctx context.Context, db *sqldb.DB, before Checkpoint, c Checkpoint, sums []Sum) (added bool, err error) {
	c.previous = before.Seal
	if c.ends, err = json.Marshal(c.Marks.Ends()); err != nil {
		return false, err
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		k, err := readKeys(ctx, tx)
		if err != nil {
			return err
		}
		if added, c.Number, err = next(ctx, tx, k, before.Number); err != nil || !added {
			return err
		}
		c.Skipped = before.Skipped
		if c.Number > before.Number+1 {
			c.Skipped = append(slices.Clone(c.Skipped), Range{before.Number + 1, c.Number - 1})
		}
		if c.open, err = json.Marshal(open{c.Holes, c.Accounts, c.Skipped}); err != nil {
			return err
		}
		c.key = k.newest()
		secret := k[c.key]
		rows := make([][]any, len(sums))
		for i, s := range sums {
			s.checkpoint, s.key = c.Number, c.key
			rows[i] = []any{s.Subject, s.checkpoint, s.Rows, s.Numbers, s.Amount, s.key,
				secret.Checkpoint(s.content())}
		}
		err = tx.Insert(ctx, "proof_checkpoint", []string{"number", "taken_at", "ends", "last_txn", "holes",
			"previous", "key_id", "seal"}, [][]any{{c.Number, c.At, string(c.ends), c.LastTxn, string(c.open),
			c.previous, c.key, secret.Checkpoint(c.content())}}, sqldb.Merge{})
		if err != nil || len(rows) == 0 {
			return err
		}
		return tx.Insert(ctx, "proof_sum", sumColumns, rows, sqldb.Merge{})
	})
	if sqldb.IsDuplicate(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing a checkpoint of the proof: %w", err)
	}
	return added, nil
}
