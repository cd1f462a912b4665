package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// outbox is a shard's outbox up to the snapshot. It keeps only the packet numbers of the wins, because hundreds of
// thousands of entries may wait. Those of one entry are mostly consecutive.
type outbox struct {
	won      rain.Numbers
	reclaims []rain.Entry
}

// readOutbox reads the numbers in the outboxes. It runs before the ledger is read. An entry that is removed later is
// in the ledger by then, or counts as still in the outbox.
func (r *campaignCheck) readOutbox(ctx context.Context) error {
	if r.scope.live == nil || r.amounts == nil {
		return nil
	}
	for n, b := range r.shards {
		r.checkNewest(n)
		upTo := "+"
		if b.snapshot.Found {
			upTo = laterID(b.snapshot.LastEntry, b.snapshot.NewestEntry)
		}
		err := r.scope.live.EachEntry(ctx, r.campaign, n, upTo, func(e rain.Entry, unreadable error) error {
			if unreadable != nil {
				r.found.add("invalid data in Redis", "outbox entry %s: it cannot be read, and may be anybody's "+
					"money: %v", e.Ref, unreadable)
				return nil
			}
			if b.laterRef(e.Ref) {
				r.found.add("an outbox entry from elsewhere", "outbox entry %s (%s): no script has written it, the "+
					"newest of the shard is %s", e.Ref, entryInWords(&e), b.snapshot.LastEntry)
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

// checkNewest compares the newest entry of the state with that of the outbox. The scripts write both in one step. The
// in-process Redis does not have it for an outbox that was never used.
func (r *campaignCheck) checkNewest(n int) {
	s := &r.shards[n].snapshot
	newest := cmp.Or(s.NewestEntry, "0-0")
	if s.Found && newest != s.LastEntry && newest != rain.UnknownEntry {
		r.found.add("an outbox that was changed", "shard %d: the newest entry that its scripts have written is %s, "+
			"but the outbox says %q", n, s.LastEntry, s.NewestEntry)
	}
}

// laterID returns the later of two entry ids. An invalid id is earlier, so that the valid one limits the reading.
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
		return packets(e.Reclaim.Numbers) + " returned"
	}
	return packets(e.Packets()) + " won, by " + e.Wins[0].User
}

// waitingWin is a win in an outbox.
type waitingWin struct {
	rain.Win
	ref      rain.EntryRef
	sealedAt int64
}

// name describes the win in findings.
func (w *waitingWin) name() string {
	h := recordedWin{WinRecord: rain.WinRecord{Win: w.Win, Entry: w.ref.ID}, shard: w.ref.Shard}
	return h.name(w.ref.Campaign)
}

// compareOutbox compares the entries in the outboxes with the ledger, page by page, and with rows also with the
// players' records in Redis. The packet numbers were compared before. This is about their owners.
func (r *campaignCheck) compareOutbox(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.scope.live == nil {
		return nil
	}
	for n, b := range r.shards {
		if len(b.outbox.won) == 0 || !r.scope.rows && b.paid.words == nil && b.dead.words == nil {
			continue // none of it is in the ledger
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
	var failed error // the ledger's, in contrast to that of reading the outbox
	flush := func() error {
		failed = r.compareWaiting(ctx, q, b, page)
		page = page[:0]
		return failed
	}
	err := r.scope.live.EachEntry(ctx, r.campaign, n, upTo, func(e rain.Entry, _ error) error {
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
		return fmt.Errorf("shard %d: %w: %w", n, ErrLiveState, err)
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
	recorded := r.scope.rows && b.snapshot.Found
	if recorded {
		if records, err = r.scope.live.WinsOf(ctx, r.campaign, b.snapshot.Shard, wins); err != nil {
			return fmt.Errorf("shard %d: %w: %w", b.snapshot.Shard, ErrLiveState, err)
		}
	}
	for i := range page {
		w := &page[i]
		if recorded && (records[i].Packet != w.Packet || records[i].Entry != w.ref.ID || records[i].User == "") {
			r.found.add("an outbox win that is none", "%s: in the outbox, but Redis knows no such win", w.name())
		}
		at, inside := b.holding.index(w.Packet)
		if !inside || r.letters.HasWin(w.ref, w.sealedAt, w.Win) {
			continue
		}
		row, is := paid[w.Packet]
		switch {
		case is && row.is(w.User, w.Drop, w.ref):
		case is:
			r.found.add("a waiting win that is paid otherwise", "%s: in the outbox, but the ledger has paid %d to "+
				"player %s for this packet%s", w.name(), row.amount, row.user, row.otherwise(w.User))
			if b.paid.has(at) {
				b.mismatched += w.Amount
			}
		case b.dead.has(at):
			r.found.add("a packet given twice", "%s: in the outbox, but a dead letter gives this packet to another "+
				"player, or is of another entry", w.name())
			b.mismatched += w.Amount
		}
	}
	return nil
}
