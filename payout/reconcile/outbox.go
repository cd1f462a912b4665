package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// outbox is what waits in a shard's outbox, as far as the snapshot knows of it. The wins are held as their packets'
// numbers only, of which those of one entry follow each other mostly: hundreds of thousands of entries may wait.
type outbox struct {
	won      rain.Numbers
	reclaims []rain.Entry
}

// readOutbox reads the numbers in the outboxes. It comes before the ledger is read: an entry that is removed from then
// on is in the ledger by then, or still waits as far as this reconciliation is concerned.
func (r *campaignCheck) readOutbox(ctx context.Context) error {
	if r.look.hot == nil || r.amounts == nil {
		return nil
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		r.checkNewest(n)
		upTo := "+"
		if b.snapshot.Found {
			upTo = laterID(b.snapshot.LastEntry, b.snapshot.NewestEntry)
		}
		err := r.look.hot.EachEntry(ctx, r.campaign, n, upTo, func(e rain.Entry, unreadable error) error {
			if unreadable != nil {
				r.found.add("what cannot be read", e.Ref.String(), "outbox entry %s: it cannot be read, and may be "+
					"anybody's "+
					"money: %v", e.Ref, unreadable)
				return nil
			}
			if b.laterRef(e.Ref) {
				r.found.add("an outbox entry from elsewhere", e.Ref.String(), "outbox entry %s (%s): no script has "+
					"written it, "+
					"the newest of the shard is %s", e.Ref, entryInWords(&e), b.snapshot.LastEntry)
				return nil
			}
			if e.Reclaim != nil {
				b.outbox.reclaims = append(b.outbox.reclaims, e)
			}
			for i := range e.Wins {
				b.outbox.won = b.outbox.won.Add(e.Wins[i].Packet)
			}
			return nil
		})
		if err := r.unread(n, err); err != nil {
			return err
		}
	}
	return nil
}

// checkNewest compares what the state and the outbox say of the newest entry. The scripts write both in one step. Of an
// outbox that never had one the stand-in for Redis says nothing.
func (r *campaignCheck) checkNewest(n int) {
	s := &r.shards[n].snapshot
	newest := cmp.Or(s.NewestEntry, "0-0")
	if s.Found && newest != s.LastEntry && newest != rain.UnknownEntry {
		r.found.add("an outbox that was changed", shardName(n), "shard %d: the newest entry that its scripts have "+
			"written is %s, but the outbox says %q", n, s.LastEntry, s.NewestEntry)
	}
}

// laterID is the later of two ids of entries; one that is none is earlier.
func laterID(a, b string) string {
	first, errA := positionOf(a)
	second, errB := positionOf(b)
	if errB != nil || errA == nil && !second.after(first) {
		return a
	}
	return b
}

func entryInWords(e *rain.Entry) string {
	if e.Reclaim != nil {
		return packets(e.Reclaim.Numbers) + " given back"
	}
	return packets(e.Packets()) + " won, by " + e.Wins[0].User
}

// waitingWin is a win in an outbox.
type waitingWin struct {
	rain.Win
	ref      rain.EntryRef
	sealedAt int64
}

// name is how findings speak of the win.
func (w *waitingWin) name() string {
	h := hotWin{WinRecord: rain.WinRecord{Win: w.Win, Entry: w.ref.ID}, shard: w.ref.Shard}
	return h.name(w.ref.Campaign)
}

// compareOutbox holds what is still in the outboxes against the ledger, page by page, and with rows against what Redis
// has recorded for the players too. The numbers have been compared before; this is about who gets them.
func (r *campaignCheck) compareOutbox(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.look.hot == nil {
		return nil
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		if len(b.outbox.won) == 0 || !r.look.rows && b.paid.words == nil && b.dead.words == nil {
			continue // nothing of it is in the ledger
		}
		if err := r.unread(n, r.compareOutboxOf(ctx, q, n)); err != nil {
			return err
		}
	}
	return nil
}

func (r *campaignCheck) compareOutboxOf(ctx context.Context, q sqldb.Querier, n int) error {
	b := r.shards[n]
	upTo := "+"
	if b.snapshot.Found {
		upTo = b.snapshot.LastEntry
	}
	var page []waitingWin
	var failed error // must not be taken for that of reading the outbox
	flush := func() error {
		failed = r.compareWaiting(ctx, q, b, page)
		page = page[:0]
		return failed
	}
	err := r.look.hot.EachEntry(ctx, r.campaign, n, upTo, func(e rain.Entry, _ error) error {
		for _, w := range e.Wins {
			page = append(page, waitingWin{w, e.Ref, e.SealedAt})
		}
		if len(page) < sqldb.Chunk {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil && failed == nil {
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	return failed
}

// compareWaiting compares some wins in a shard's outbox.
func (r *campaignCheck) compareWaiting(ctx context.Context, q sqldb.Querier, b *shardBooks, page []waitingWin) error {
	wins := make([]rain.Win, len(page))
	numbers := make([]int, len(page))
	for i := range page {
		page[i].Amount = r.amounts.Of(page[i].Packet)
		wins[i], numbers[i] = page[i].Win, page[i].Packet
	}
	paid, err := r.payoutsOf(ctx, q, numbers)
	if err != nil {
		return err
	}
	var records []rain.WinRecord
	recorded := r.look.rows && b.snapshot.Found
	if recorded {
		if records, err = r.look.hot.WinsOf(ctx, r.campaign, b.snapshot.Shard, wins); err != nil {
			return fmt.Errorf("shard %d: %w: %w", b.snapshot.Shard, ErrHot, err)
		}
	}
	for i := range page {
		w := &page[i]
		if recorded && (records[i].Packet != w.Packet || records[i].Entry != w.ref.ID || records[i].User == "") {
			r.found.add("an outbox win that is none", w.ref.String()+w.User, "%s: in the outbox, but Redis knows no "+
				"such win",
				w.name())
		}
		at, inside := b.holding.index(w.Packet)
		if !inside || r.letters.HasWin(w.ref, w.sealedAt, w.Win) {
			continue
		}
		row, is := paid[w.Packet]
		switch {
		case is && row.is(w.User, w.Drop, w.ref):
		case is:
			r.found.add("a waiting win that is paid otherwise", w.ref.String()+w.User,
				"%s: in the outbox, but the ledger has paid %d to player %s for this packet%s", w.name(),
				row.amount, row.user,
				row.otherwise(w.User))
			if b.paid.has(at) {
				b.mismatched += w.Amount
			}
		case b.dead.has(at):
			r.found.add("a packet given twice", w.ref.String()+w.User, "%s: in the outbox, but a dead letter "+
				"promises this "+
				"packet "+
				"to another player, or by another entry", w.name())
			b.mismatched += w.Amount
		}
	}
	return nil
}
