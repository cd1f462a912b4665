package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	WonAt    int64      // Unix ms
	New      bool       // posted by this call; false where an earlier copy was
}

// Posted is what [Ledger.Post] has found and done.
type Posted struct {
	Settled []Settlement // every claim of the entries that is in the ledger now
	New     int          // how many of them are new
	Dead    []DeadLetter // what this call has put aside for a person
	Void    []DeadLetter // what came too late: of a life of its shard before Redis lost it; see Fence
	Cut     []ReclaimCut // reclaims that this call has posted with less than they asked for
}

// Post brings outbox entries into the ledger, all in one transaction: it takes each campaign's escrow once, credits
// each player once, and gives reclaimed stock back to the sponsor. It may be called with the same entries any
// number of times, by any number of workers at once: what is posted already is found and skipped, and still
// reported as settled, so that who died before telling the player can do so now.
//
// What contradicts the ledger becomes a dead letter and does not stop the rest: a packet that is paid to someone
// else or with another amount, more than the escrow holds, an unknown campaign, an entry that makes no sense. A
// dead claim stays dead until [Ledger.Retry]. A reclaim that asks for more than is its shard's is posted with what
// is. What is of a shard's life before Redis lost it, and was not in the ledger when the shard was rebuilt, is
// void: it is kept, and never paid.
//
// After an error nothing is posted, or (where the commit's answer was lost) everything; calling again is right in both.
func (l *Ledger) Post(ctx context.Context, entries []rain.Entry) (Posted, error) {
	leave, err := l.hands.enter(ctx, entries)
	if err != nil {
		return Posted{}, fmt.Errorf("waiting for who has the same outbox entries: %w", err)
	}
	defer leave()
	var posted Posted
	careful := false
	err = l.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		b, err := l.readBatch(ctx, tx, entries, careful)
		if err != nil {
			return err
		}
		b.judge(entries...)
		posted, err = l.write(ctx, tx, b)
		if errors.Is(err, ErrInsufficientFunds) && !careful {
			careful = true // find out which claims are too many
			err = fmt.Errorf("%w: %w", sqldb.ErrAgain, err)
		}
		if err == nil {
			err = b.stillSameLife(ctx, tx)
		}
		return err
	})
	if err != nil {
		return Posted{}, fmt.Errorf("posting %d outbox entries: %w", len(entries), err)
	}
	return posted, nil
}

var reclaimColumns = []string{
	"campaign_id", "shard", "packets", "amount", "closed_at", "entry_seq", "reclaimed_at", "txn_id",
}

// write carries out what was judged.
func (l *Ledger) write(ctx context.Context, tx *sqldb.Tx, b *batch) (Posted, error) {
	now := l.clock()
	_, err := l.book(ctx, tx, b.txns, func(done booked) error {
		if err := l.writePayouts(ctx, tx, b, done.ids, now); err != nil {
			return err
		}
		if err := l.writeReclaims(ctx, tx, b, done.ids, now); err != nil {
			return err
		}
		if err := writeLetters(ctx, tx, b.letters, now); err != nil {
			return err
		}
		for i := range b.voids {
			b.voids[i].resolvedAt = now
		}
		if err := writeLetters(ctx, tx, b.voids, now); err != nil {
			return err
		}
		return fillBalances(ctx, tx, b.settled, done.moves)
	})
	if err != nil {
		return Posted{}, err
	}
	// The campaign's one row is last, as its escrow is in book: all workers want it.
	return Posted{Settled: b.settled, New: len(b.wins), Dead: b.letters, Void: b.voids, Cut: b.cuts},
		tally(ctx, tx, b.totals)
}

func (l *Ledger) writePayouts(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	// In key order, as everything that several workers insert.
	slices.SortFunc(b.wins, func(x, y postedWin) int {
		return cmp.Or(cmp.Compare(x.ref.Campaign, y.ref.Campaign), cmp.Compare(x.win.Packet, y.win.Packet))
	})
	return tx.InsertEach(ctx, intoPayout, len(b.wins), func(i int, r *sqldb.Row) {
		w := &b.wins[i]
		r.Text(w.ref.Campaign)
		r.Int(int64(w.win.Packet))
		r.Text(w.claim)
		r.Text(w.win.User)
		r.Int(int64(w.win.Amount))
		r.Text(string(StateSettled))
		r.Text(w.win.Drop)
		r.Int(int64(w.ref.Shard))
		r.Int(w.ms)
		r.Int(w.seq)
		r.Int(now)
		r.Int(ids[w.key])
	})
}

func (l *Ledger) writeReclaims(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	rows := make([][]any, len(b.reclaims))
	for i, r := range b.reclaims {
		rows[i] = []any{
			r.ref.Campaign, r.ref.Shard, r.reclaim.Packets, int64(r.reclaim.Amount), r.ms, r.seq, now, ids[r.key],
		}
	}
	if err := tx.Insert(ctx, "reclaim", reclaimColumns, rows, sqldb.Merge{}); err != nil {
		return err
	}
	cuts := make([][]any, len(b.cuts))
	for i, c := range b.cuts {
		cuts[i] = []any{c.Ref.Campaign, c.Ref.Shard, int64(c.Asked), int64(c.Given), c.Reason, now}
	}
	return tx.Insert(ctx, "reclaim_cut", []string{"campaign_id", "shard", "asked", "given", "reason", "created_at"},
		cuts, sqldb.Merge{})
}

// fillBalances tells each settlement its player's balance: those the posting has touched are known, the others are
// read.
func fillBalances(ctx context.Context, tx *sqldb.Tx, settled []Settlement, moves movements) error {
	var users []string
	var open []int // settlements of players whom the posting has not touched
	for i := range settled {
		balance, known := moves.balance(userAccount(settled[i].User))
		settled[i].Balance = balance
		if !known {
			users, open = append(users, settled[i].User), append(open, i)
		}
	}
	slices.Sort(users)
	others, err := userBalances(ctx, tx, slices.Compact(users))
	if err != nil {
		return err
	}
	for _, i := range open {
		settled[i].Balance = others[settled[i].User]
	}
	return nil
}

// totals is what a campaign has handed out and given back. They are kept beside the rows that they are the sums of,
// so that showing them costs nothing; Reconcile compares.
type totals struct {
	paid, reclaimed             int64 // packets
	amountPaid, amountReclaimed rain.Money
}

// tally adds to the campaigns' totals.
func tally(ctx context.Context, tx *sqldb.Tx, add map[string]totals) error {
	columns := []string{"campaign_id", "paid", "amount_paid", "reclaimed", "amount_reclaimed"}
	rows := make([][]any, 0, len(add))
	for _, id := range slices.Sorted(maps.Keys(add)) {
		t := add[id]
		rows = append(rows, []any{id, t.paid, int64(t.amountPaid), t.reclaimed, int64(t.amountReclaimed)})
	}
	return tx.Insert(ctx, "campaign_tally", columns, rows, sqldb.Merge{Key: columns[:1], Add: columns[1:]})
}

// Paid is how many packets of a campaign are in the ledger, and their amount. It is 0 for an unknown campaign.
func (l *Ledger) Paid(ctx context.Context, campaign string) (packets int64, amount rain.Money, err error) {
	_, err = l.db.First(ctx, []any{&packets, (*int64)(&amount)},
		"SELECT paid, amount_paid FROM campaign_tally WHERE campaign_id = ?", campaign)
	if err != nil {
		return 0, 0, fmt.Errorf("what campaign %s has paid: %w", campaign, err)
	}
	return packets, amount, nil
}
