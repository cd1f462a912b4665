package posting

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// stateSettled is the state of every payout and the column's default: the row is written with the money.
const stateSettled = "settled"

var intoPayout = sqldb.Into{Table: "payout", Columns: []string{
	"campaign_id", "packet", // the key
	"user_id", "amount", "drop_id", "shard", "won_at", "entry_seq", "settled_at", "txn_id", "claim",
}} // the state is the column's default

var reclaimColumns = []string{
	"campaign_id", "shard", "numbers", "packets", "amount", "closed_at", "entry_seq", "reclaimed_at", "txn_id",
}

// write carries out the decisions of classify.
func (p *Poster) write(ctx context.Context, tx *sqldb.Tx, b *batch) (Posted, error) {
	now := p.clock()
	if err := p.limitLetters(ctx, tx, b); err != nil {
		return Posted{}, err
	}
	slices.SortFunc(b.wins, func(x, y postedWin) int {
		return cmp.Or(cmp.Compare(x.ref.Campaign, y.ref.Campaign), cmp.Compare(x.win.Packet, y.win.Packet))
	})
	b.sumPapers(now)
	b.hold(now)
	if err := b.leaveOutHeld(ctx, tx); err != nil {
		return Posted{}, err
	}
	_, err := booking.Book(ctx, tx, now, b.txns, func(done booking.Booked) error {
		if err := p.writePayouts(ctx, tx, b, done.IDs, now); err != nil {
			return err
		}
		if err := p.writeReclaims(ctx, tx, b, done.IDs, now); err != nil {
			return err
		}
		if err := b.writeHeld(ctx, tx, done.IDs, now); err != nil {
			return err
		}
		totals, err := countWins(ctx, tx, b)
		if err != nil {
			return err
		}
		for i := range b.settled {
			b.settled[i].Total = totals[playerKey{b.settled[i].Campaign, b.settled[i].User}]
		}
		if err := WriteLetters(ctx, tx, b.letters, now); err != nil {
			return err
		}
		if err := WriteLetters(ctx, tx, b.voids, now); err != nil {
			return err
		}
		return fillBalances(ctx, tx, b.settled, done.Moves)
	})
	if err != nil {
		return Posted{}, err
	}
	if err := writeMarks(ctx, tx, b, now+farFutureMS); err != nil {
		return Posted{}, err
	}
	// The row of campaign_tally is last, as the escrow is in Book: all workers want it.
	return Posted{Settled: b.settled, New: len(b.wins), Dead: b.letters, Discarded: b.discarded, Void: b.voids,
			Cut: b.cuts, Held: len(b.held)},
		Tally(ctx, tx, b.totals)
}

func (p *Poster) writePayouts(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	// Workers insert in key order, so they do not deadlock.
	return tx.InsertEach(ctx, intoPayout, len(b.wins), func(i int, r *sqldb.Row) {
		w := &b.wins[i]
		r.Text(w.ref.Campaign)
		r.Int(int64(w.win.Packet))
		r.Text(w.win.User)
		r.Int(int64(w.win.Amount))
		r.Text(w.win.Drop)
		r.Int(int64(w.ref.Shard))
		r.Int(w.ms)
		r.Int(w.seq)
		r.Int(now)
		r.Int(ids[w.key])
		r.Text(w.claim)
	})
}

func (p *Poster) writeReclaims(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	rows := make([][]any, len(b.reclaims))
	for i, r := range b.reclaims {
		rows[i] = []any{
			r.ref.Campaign, r.ref.Shard, r.asked.String(), r.packets, int64(r.amount), r.ms, r.seq, now, ids[r.key],
		}
	}
	if err := tx.Insert(ctx, "reclaim", reclaimColumns, rows, sqldb.Merge{}); err != nil {
		return err
	}
	cuts := make([][]any, len(b.cuts))
	for i, c := range b.cuts {
		ms, seq, err := c.Ref.Position()
		if err != nil {
			return err
		}
		cuts[i] = []any{c.Ref.Campaign, c.Ref.Shard, ms, seq, int64(c.Asked), int64(c.Given),
			c.numbers.String(), c.Reason, now}
	}
	return tx.Insert(ctx, "reclaim_cut", []string{"campaign_id", "shard", "closed_at", "entry_seq", "asked", "given",
		"numbers", "reason", "created_at"}, cuts, sqldb.Merge{})
}

// fillBalances sets the balance in each settlement. The posting knows those that it has changed, and reads the
// others.
func fillBalances(ctx context.Context, tx *sqldb.Tx, settled []Settlement, moves booking.Movements) error {
	var users []string
	var open []int // settlements of players whose balance did not change
	for i := range settled {
		balance, known := moves.Balance(booking.UserAccount(settled[i].User))
		settled[i].Balance = balance
		if !known {
			users, open = append(users, settled[i].User), append(open, i)
		}
	}
	slices.Sort(users)
	others, err := booking.UserBalances(ctx, tx, slices.Compact(users))
	if err != nil {
		return err
	}
	for _, i := range open {
		settled[i].Balance = others[settled[i].User]
	}
	return nil
}

// sumPapers hashes the source documents of the batch's transactions, the payouts and reclaims, in their database form.
// The wins are in the order of their keys.
func (b *batch) sumPapers(now int64) {
	papers := make(map[string]chain.Hash, len(b.txns))
	var c chain.Content
	for i := range b.wins { // the wins of a campaign have one transaction
		b.wins[i].addTo(&c, now)
		if i+1 == len(b.wins) || b.wins[i+1].key != b.wins[i].key {
			papers[b.wins[i].key] = c.Sum()
		}
	}
	for _, r := range b.reclaims {
		if r.amount > 0 { // else it has no transaction
			b.addReclaim(&c, r, now)
			papers[r.key] = c.Sum()
		}
	}
	for i := range b.txns {
		b.txns[i].Papers = papers[b.txns[i].Key]
	}
}

// addTo adds a payout's row without its transaction's id.
func (w *postedWin) addTo(c *chain.Content, now int64) {
	c.Text(w.ref.Campaign)
	c.Int(int64(w.win.Packet))
	c.Text(w.claim)
	c.Text(w.win.User)
	c.Int(int64(w.win.Amount))
	c.Text(stateSettled)
	c.Text(w.win.Drop)
	c.Int(int64(w.ref.Shard))
	c.Int(w.ms)
	c.Int(w.seq)
	c.Int(now)
}

// addReclaim adds a reclaim's row, without its transaction's id and its cut.
func (b *batch) addReclaim(c *chain.Content, r postedReclaim, now int64) {
	c.Add(r.ref.Campaign, r.ref.Shard, r.asked.String(), r.packets, r.amount, r.ms, r.seq, now)
	for _, cut := range b.cuts {
		if cut.Ref == r.ref {
			c.Add(cut.Asked, cut.Given, cut.numbers.String(), cut.Reason, now)
			return
		}
	}
	c.Add(nil, nil, nil, nil, nil)
}

// writeMarks records the newest entry of each shard in the batch: a Redis with only older ones has gone back in time.
// All workers want these rows, so it runs late. writeMarks ignores times from limit on (Unix ms), because only a
// forger writes them.
func writeMarks(ctx context.Context, tx *sqldb.Tx, b *batch, limit int64) error {
	newest := map[shardKey]entryAt{}
	note := func(at entryAt) {
		if at.ms >= limit {
			return
		}
		key := shardKey{at.ref.Campaign, at.ref.Shard}
		if was, known := newest[key]; !known || cmp.Or(cmp.Compare(at.ms, was.ms), cmp.Compare(at.seq, was.seq)) > 0 {
			newest[key] = at
		}
	}
	for i := range b.wins {
		note(b.wins[i].entryAt)
	}
	for i := range b.reclaims {
		note(b.reclaims[i].entryAt)
	}
	keys := slices.SortedFunc(maps.Keys(newest), func(x, y shardKey) int {
		return cmp.Or(cmp.Compare(x.campaign, y.campaign), cmp.Compare(x.shard, y.shard))
	})
	columns := []string{"campaign_id", "shard", "entry_ms", "entry_seq"}
	into := sqldb.Into{Table: "shard_mark", Columns: columns, Merge: sqldb.Merge{Key: columns[:2], Larger: columns[2:]}}
	return tx.InsertEach(ctx, into, len(keys), func(i int, r *sqldb.Row) {
		at := newest[keys[i]]
		r.Text(keys[i].campaign)
		r.Int(int64(keys[i].shard))
		r.Int(at.ms)
		r.Int(at.seq)
	})
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
