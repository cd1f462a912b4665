package reconcile

import (
	"context"
	"fmt"
	"hash/maphash"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// recordedWin is a win's record in Redis.
type recordedWin struct {
	rain.WinRecord
	shard int
}

func (w *recordedWin) ref(campaign string) rain.EntryRef {
	return rain.EntryRef{Campaign: campaign, Shard: w.shard, ID: w.Entry}
}

// name describes the win in findings.
func (w *recordedWin) name(campaign string) string {
	return fmt.Sprintf("claim %s (packet %d, player %s, amount %d, outbox entry %s)", rain.ClaimID(campaign, w.Packet),
		w.Packet, w.User, w.Amount, w.ref(campaign))
}

// recordCheck reads the records of the players of one shard.
type recordCheck struct {
	*campaignCheck
	b        *shardBooks
	q        sqldb.Querier
	seed     maphash.Seed
	inOutbox map[int]uint64 // the hash of the record of each packet in the outbox
	wins     int            // distinct ones, up to the snapshot

	newest recordedWin // the newest win after the snapshot
	at     position
	failed error // the database's error, in contrast to that of Redis
}

// compareRecords compares every win in Redis with the outbox, the ledger and the dead letters.
//
// A win is recorded in the step that writes its outbox entry, and the entry is removed only after its posting. So a
// win up to the snapshot was in the outbox then, or is in the ledger now. Conversely, a payout up to the snapshot was
// recorded before, and the record stays.
func (r *campaignCheck) compareRecords(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.scope.live == nil {
		return nil
	}
	for n := range r.shards {
		if !r.shards[n].snapshot.Found {
			continue
		}
		err := r.compareShard(ctx, q, n)
		r.shards[n].compared = err == nil
		if err := r.unread(n, err); err != nil {
			return err
		}
	}
	return nil
}

func (r *campaignCheck) compareShard(ctx context.Context, q sqldb.Querier, n int) error {
	b := r.shards[n]
	s := &recordCheck{campaignCheck: r, b: b, q: q, seed: maphash.MakeSeed(), inOutbox: map[int]uint64{},
		at: position{ms: -1}}
	err := r.scope.live.EachRecord(ctx, r.campaign, n, func(page rain.Records) error { return s.page(ctx, page) })
	if s.failed != nil {
		return s.failed
	}
	if err != nil {
		return fmt.Errorf("shard %d: %w: %w", n, ErrLiveState, err)
	}
	newest, err := r.newestNow(ctx, n)
	if err != nil {
		return err
	}
	if s.wins != b.snapshot.Won {
		r.found.add("a state that is not its wins", "shard %d: its state says that %d packets are won, but %d are "+
			"recorded for players", n, b.snapshot.Won, s.wins)
	}
	if s.at.after(newest) {
		r.found.add("a win of a later entry", "%s: won in Redis, but the newest entry that the shard has ever "+
			"written is %s", s.newest.name(r.campaign.ID), newest)
	}
	return nil
}

// page checks some records.
func (s *recordCheck) page(ctx context.Context, page rain.Records) error {
	n := s.b.snapshot.Shard
	for _, what := range page.Unreadable {
		s.found.add("invalid data in Redis", "shard %d: among the wins, %s, which no script has written", n, what)
	}
	var open []recordedWin
	for _, record := range page.Wins {
		w := recordedWin{record, n}
		w.Amount = s.amounts.Of(w.Packet)
		if s.place(&w) {
			open = append(open, w)
		}
	}
	s.failed = s.compareWins(ctx, open)
	return s.failed
}

// place records a win's packet. It reports whether the win must be looked up.
func (s *recordCheck) place(w *recordedWin) bool {
	at, err := positionOf(w.Entry)
	if err != nil {
		return false // an invalid id
	}
	if s.b.later(at) {
		if at.after(s.at) {
			s.newest, s.at = *w, at
		}
		return false
	}
	if w.Packet >= s.campaign.Packets {
		s.found.add("a win of no packet", "%s: won in Redis, but there is no such packet", w.name(s.campaign.ID))
		return false
	}
	i, ok := s.b.holding.index(w.Packet)
	if !ok {
		s.found.add("a win of another shard's packet", "%s: won in Redis, but shard %d has no such packet",
			w.name(s.campaign.ID), w.shard)
		return false
	}
	waits := s.b.won.has(i) && !s.b.paid.has(i) && !s.b.dead.has(i)
	if s.b.recorded.add(i, s.b.holding.count) {
		s.wins++
	}
	if waits { // a win in the outbox is compared there
		hash := maphash.Comparable(s.seed, w.WinRecord)
		if first, again := s.inOutbox[w.Packet]; again && first != hash {
			s.found.add("a packet won twice", "%s: won in Redis, where another record has this packet too",
				w.name(s.campaign.ID))
		}
		s.inOutbox[w.Packet] = hash
	}
	return !waits
}

// compareWins looks up wins that are not in an outbox.
func (s *recordCheck) compareWins(ctx context.Context, wins []recordedWin) error {
	numbers := make([]int, len(wins))
	for i := range wins {
		numbers[i] = wins[i].Packet
	}
	paid, err := s.payoutsOf(ctx, s.q, numbers)
	if err != nil {
		return err
	}
	var open []recordedWin
	for i := range wins {
		w := &wins[i]
		if row, is := paid[w.Packet]; !is || !row.is(w.User, w.Drop, w.ref(s.campaign.ID)) {
			open = append(open, *w)
		}
	}
	if len(open) == 0 {
		return nil
	}
	dead, err := s.deadWins(ctx, open)
	if err != nil {
		return err
	}
	for i := range open {
		w := &open[i]
		row, is := paid[w.Packet]
		at, _ := s.b.holding.index(w.Packet)
		switch {
		case dead[deadWin{w.Packet, w.User, w.Drop, w.ref(s.campaign.ID).String()}]:
		case is:
			s.found.add("a win paid otherwise", "%s: won in Redis, but the ledger has paid %d to player %s for this "+
				"packet%s", w.name(s.campaign.ID), row.amount, row.user, row.otherwise(w.User))
		case s.b.stock.has(at):
			s.found.add("a win that is in the stock", "%s: won in Redis, but others can win this packet too",
				w.name(s.campaign.ID))
		default:
			s.found.add("a win that is lost", "%s: won in Redis, but neither in an outbox nor in the ledger",
				w.name(s.campaign.ID))
		}
	}
	return nil
}

// deadWin identifies a win in a dead letter.
type deadWin struct {
	packet             int
	user, drop, source string
}

// deadWins reads the open dead letters of wins. A resolved one has a payout instead.
func (s *recordCheck) deadWins(ctx context.Context, wins []recordedWin) (map[deadWin]bool, error) {
	claims := make([]string, len(wins))
	for i := range wins {
		claims[i] = posting.LetterClaim(rain.ClaimID(s.campaign.ID, wins[i].Packet))
	}
	found := map[deadWin]bool{}
	err := sqldb.EachIn(ctx, s.q, func(scan sqldb.Scan) error {
		d, err := posting.LetterTable.Scan(scan)
		if err != nil {
			return err
		}
		if e, err := d.Entry(); err == nil && len(e.Wins) == 1 {
			found[deadWin{d.Packet, d.User, e.Wins[0].Drop, e.Ref.String()}] = true
		}
		return nil
	}, posting.LetterTable.Select("WHERE kind = ? AND resolved_at = 0 AND claim IN"), claims, posting.LetterPay)
	return found, err
}
