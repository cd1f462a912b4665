package reconcile

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// compareWins holds every win that Redis has recorded against the outbox, the ledger and the dead letters.
//
// A win is recorded in the step that writes its outbox entry, and the entry goes only when the ledger has it. So a
// win whose entry is not newer than the snapshot was in the outbox then, or is in the ledger now. The other way
// round, a payout that is not newer than the snapshot was recorded before, and the record stays.
func (r *campaignCheck) compareWins(ctx context.Context, q sqldb.Querier) error {
	c := r.campaign
	if r.look.hot == nil || c.Status == rain.Loading || r.given[posting.WholeCampaign] {
		return nil
	}
	seen := &hotWins{bits: make([]uint64, c.Packets/64+1), shards: map[int]bool{}}
	for _, n := range r.sortedShards() {
		if !r.shards[n].snapshot.Found {
			continue
		}
		if err := r.compareShard(ctx, q, n, seen); err != nil {
			return err
		}
		seen.shards[n] = true
	}
	r.seen = seen
	return nil
}

func (r *campaignCheck) compareShard(ctx context.Context, q sqldb.Querier, n int, seen *hotWins) error {
	books := r.shards[n]
	waiting := map[promise]bool{}
	for _, e := range books.snapshot.Entries {
		for _, w := range e.Wins {
			waiting[promiseOf(w)] = true
		}
	}
	var page []hotWin
	// The database's errors pass through Redis's reader, and must not be taken for Redis's.
	var failed error
	flush := func() error {
		failed = r.compareWinPage(ctx, q, page)
		page = page[:0]
		return failed
	}
	err := r.look.hot.EachWin(ctx, r.campaign, n, func(user string, w rain.Win, entry string) error {
		ms, seq, err := rain.EntryRef{ID: entry}.Position()
		if err != nil {
			return err
		}
		if books.later(ms, seq) {
			return nil
		}
		w.User = user
		if !r.place(hotWin{w, n, entry}, seen) || waiting[promiseOf(w)] {
			return nil
		}
		if page = append(page, hotWin{w, n, entry}); len(page) == sqldb.Chunk {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil && failed == nil {
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	r.compareWaiting(books, seen)
	return failed
}

// place notes a win's packet, if there can be such a win.
func (r *campaignCheck) place(w hotWin, seen *hotWins) bool {
	if w.Packet < 0 || w.Packet >= r.campaign.Packets {
		r.found.add("a win of no packet", w.entry+w.User, "%s: won in Redis, but there is no such packet",
			w.name(r.campaign))
		return false
	}
	seen.add(w.Packet)
	return true
}

// compareWaiting looks for wins in the outbox that Redis has not recorded for their player.
func (r *campaignCheck) compareWaiting(books *shardBooks, seen *hotWins) {
	for _, e := range books.snapshot.Entries {
		for _, w := range e.Wins {
			if w.Packet < 0 || w.Packet >= r.campaign.Packets || !seen.has(w.Packet) {
				h := hotWin{w, e.Ref.Shard, e.Ref.ID}
				r.found.add("an outbox win that is none", e.Ref.String()+w.User,
					"%s: in the outbox, but Redis knows no such win", h.name(r.campaign))
			}
		}
	}
}

// compareWinPage looks wins up that are in no outbox.
func (r *campaignCheck) compareWinPage(ctx context.Context, q sqldb.Querier, page []hotWin) error {
	packets := make([]int, len(page))
	for i := range page {
		packets[i] = page[i].Packet
	}
	holders, err := posting.Holders(ctx, q, r.campaign.ID, packets)
	if err != nil {
		return err
	}
	var open []hotWin
	for _, w := range page {
		if holders[w.Packet] != holderOf(w.Win) {
			open = append(open, w)
		}
	}
	if len(open) == 0 {
		return nil
	}
	buried, err := r.buried(ctx, q, open)
	if err != nil {
		return err
	}
	for _, w := range open {
		other, paid := holders[w.Packet]
		switch {
		case buried[promiseOf(w.Win)]:
		case paid:
			r.found.add("a win paid otherwise", w.entry+w.User,
				"%s: won in Redis, but the ledger has paid %d to player %s for this packet", w.name(r.campaign),
				other.Amount, other.User)
		default:
			r.found.add("a win that is lost", w.entry+w.User,
				"%s: won in Redis, but neither in an outbox nor in the ledger", w.name(r.campaign))
		}
	}
	return nil
}

// buried reads the dead letters of wins that wait for a person. One that was dealt with has a payout instead.
func (r *campaignCheck) buried(ctx context.Context, q sqldb.Querier, wins []hotWin) (map[promise]bool, error) {
	claims := make([]string, len(wins))
	for i := range wins {
		claims[i] = posting.LetterClaim(rain.ClaimID(r.campaign.ID, wins[i].Packet))
	}
	found := map[promise]bool{}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var p promise
		err := scan(&p.packet, &p.User, &p.Amount)
		found[p] = true
		return err
	}, "SELECT packet, user_id, amount FROM dead_letter WHERE kind = ? AND resolved_at = 0 AND claim IN "+
		sqldb.Marks(len(claims)),
		append([]any{posting.LetterPay}, sqldb.Args(claims)...)...)
	return found, err
}
