package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"

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

	ends     []byte // as they are in the row
	previous string
	key      int64
	is       string // the seal of the row, as it is there
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

const columns = "number, taken_at, ends, last_txn, previous, key_id, seal"

func scan(row sqldb.Scan) (c Checkpoint, err error) {
	if err := row(&c.Number, &c.At, &c.ends, &c.LastTxn, &c.previous, &c.key, &c.is); err != nil {
		return c, err
	}
	var ends []chain.End
	if json.Unmarshal(c.ends, &ends) == nil { // else its seal is wrong, which is said
		c.Marks = chain.MarksOf(ends)
	}
	return c, nil
}

// content is what the seal is over.
func (c *Checkpoint) content() []byte {
	return fmt.Appendf(nil, "checkpoint %d %d %d %d %q %s", c.Number, c.At, c.LastTxn, c.key, c.previous, c.ends)
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
	for below := int64(1 << 62); ; {
		c := Checkpoint{}
		list, err := sqldb.List(ctx, q, scan, "SELECT "+columns+" FROM proof_checkpoint WHERE number < ? "+
			"ORDER BY number DESC LIMIT 1", below)
		if err != nil {
			return none, fmt.Errorf("the newest checkpoint: %w", err)
		}
		if len(list) == 0 {
			return none, nil
		}
		if c = list[0]; c.sealed(k) && c.Number > 0 {
			c.Seal = c.is
			return c, nil
		}
		found(c.name() + " was changed or added by hand: its seal is wrong")
		below = c.Number
	}
}

// Check holds all checkpoints against their seals and each other, and the newest ones against the chains, and calls
// found for each that is not whole.
func Check(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	k, err := readKeys(ctx, q)
	if err != nil {
		return err
	}
	var last Checkpoint
	for {
		list, err := sqldb.List(ctx, q, scan, "SELECT "+columns+" FROM proof_checkpoint WHERE number > ? "+
			"ORDER BY number LIMIT ?", last.Number, sqldb.Chunk)
		if err != nil {
			return fmt.Errorf("the checkpoints: %w", err)
		}
		for _, c := range list {
			switch {
			case !c.sealed(k):
				found(c.name() + " was changed or added by hand: its seal is wrong")
			case c.Number != last.Number+1:
				found(fmt.Sprintf("checkpoints %d to %d were removed", last.Number+1, c.Number-1))
			case c.previous != last.is:
				found(c.name() + " does not follow the one before: one of them was replaced")
			}
			last = c
		}
		if len(list) < sqldb.Chunk {
			break
		}
	}
	if last.Number == 0 || !last.sealed(k) {
		return nil
	}
	for _, end := range last.Marks.Ends() {
		if err := chain.CheckEnd(ctx, q, last.name(), end, found); err != nil {
			return err
		}
	}
	return nil
}

// Add writes a checkpoint behind another one, with the sums that have changed since. Another process may have been
// faster, which is no fault: then nothing is written, and added is false.
func Add(ctx context.Context, db *sqldb.DB, before Checkpoint, c Checkpoint, sums []Sum) (added bool, err error) {
	c.Number, c.previous = before.Number+1, before.Seal
	if c.ends, err = json.Marshal(c.Marks.Ends()); err != nil {
		return false, err
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		k, err := readKeys(ctx, tx)
		if err != nil {
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
		err = tx.Insert(ctx, "proof_checkpoint", []string{"number", "taken_at", "ends", "last_txn", "previous",
			"key_id", "seal"}, [][]any{{c.Number, c.At, string(c.ends), c.LastTxn, c.previous, c.key,
			secret.Checkpoint(c.content())}}, sqldb.Merge{})
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
	return true, nil
}
