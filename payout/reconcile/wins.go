package reconcile

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// hotWin is a win as Redis has recorded it.
type hotWin struct {
	rain.WinRecord
	shard int
}

func (w *hotWin) ref(campaign string) rain.EntryRef {
	return rain.EntryRef{Campaign: campaign, Shard: w.shard, ID: w.Entry}
}

// name is how findings speak of the win.
func (w *hotWin) name(campaign string) string {
	return fmt.Sprintf("claim %s (packet %d, player %s, amount %d, outbox entry %s)", rain.ClaimID(campaign, w.Packet),
		w.Packet, w.User, w.Amount, w.ref(campaign))
}

// recordCheck goes through what Redis has recorded for the players of one shard.
type recordCheck struct {
	*campaignCheck
	b     *shardBooks
	q     sqldb.Querier
	chain winChain
	again map[int]bool // packets in the outbox that came twice
	wins  int          // different ones, up to the snapshot

	newest  hotWin // the newest win after the snapshot
	ms, seq int64  // its entry's place
	failed  error  // the database's error, which must not be taken for Redis's
}

// compareRecords holds every win that Redis has recorded against the outbox, the ledger and the dead letters.
//
// A win is recorded in the step that writes its outbox entry, and the entry goes only when the ledger has it. So a
// win whose entry is not newer than the snapshot was in the outbox then, or is in the ledger now. The other way
// round, a payout that is not newer than the snapshot was recorded before, and the record stays.
func (r *campaignCheck) compareRecords(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.look.hot == nil {
		return nil
	}
	for _, n := range r.sortedShards() {
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
	s := &recordCheck{campaignCheck: r, b: b, q: q, chain: newWinChain(), again: map[int]bool{}, ms: -1}
	err := r.look.hot.EachRecord(ctx, r.campaign, n, func(page rain.Records) error { return s.page(ctx, page) })
	if err == nil && len(s.again) > 0 {
		err = s.checkAgain(ctx)
	}
	if err == nil && !s.chain.fits() {
		err = s.checkChains(ctx)
	}
	if s.failed != nil {
		return s.failed
	}
	var entry string
	var epoch int64
	var found bool
	if err == nil {
		entry, epoch, found, err = r.look.hot.Newest(ctx, r.campaign, n)
	}
	if err != nil {
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	if (!found || epoch != b.snapshot.Epoch) && !r.look.last {
		return errStale
	}
	if s.wins != b.snapshot.Won {
		r.found.add("a state that is not its wins", shardName(n)+" "+delta(rain.Money(b.snapshot.Won),
			rain.Money(s.wins)),
			"shard %d: its state says that %d packets are won, but %d are recorded for players", n, b.snapshot.Won,
			s.wins)
	}
	if ms, seq, err := (rain.EntryRef{ID: entry}).Position(); err != nil || s.ms > ms || s.ms == ms && s.seq > seq {
		r.found.add("a win of a later entry", s.newest.Entry+s.newest.User, "%s: won in Redis, but the newest entry "+
			"that "+
			"the shard "+
			"has ever written is %s", s.newest.name(r.campaign.ID), entry)
	}
	return nil
}

// page checks some records.
func (s *recordCheck) page(ctx context.Context, page rain.Records) error {
	n := s.b.snapshot.Shard
	for _, what := range page.Unreadable {
		s.found.add("what cannot be read", shardName(n)+what, "shard %d: among the wins, %s, which no script has "+
			"written", n, what)
	}
	var open []hotWin
	for _, record := range page.Wins {
		w := hotWin{record, n}
		w.Amount = s.amounts.Of(w.Packet)
		if s.place(&w) {
			open = append(open, w)
		}
	}
	if s.failed = s.compareWins(ctx, open); s.failed != nil {
		return s.failed
	}
	return s.players(ctx, page.Players)
}

// place notes a win's packet. It tells whether the win has to be looked up.
func (s *recordCheck) place(w *hotWin) bool {
	ms, seq, err := rain.EntryRef{ID: w.Entry}.Position()
	if err != nil {
		return false // what is no id cannot be read
	}
	if s.b.later(ms, seq) {
		if ms > s.ms || ms == s.ms && seq > s.seq {
			s.newest, s.ms, s.seq = *w, ms, seq
		}
		return false
	}
	if w.Packet >= s.campaign.Packets {
		s.found.add("a win of no packet", w.Entry+w.User, "%s: won in Redis, but there is no such packet",
			w.name(s.campaign.ID))
		return false
	}
	i, ok := s.b.holding.index(w.Packet)
	if !ok {
		s.found.add("a win of another shard's packet", w.Entry+w.User, "%s: won in Redis, but shard %d has no such "+
			"packet",
			w.name(s.campaign.ID), w.shard)
		return false
	}
	waits := s.b.won.has(i) && !s.b.paid.has(i) && !s.b.dead.has(i)
	if s.b.recorded.add(i, s.b.holding.count) {
		s.wins++
		s.chain.win(&w.WinRecord)
	} else if waits {
		s.again[w.Packet] = true
	}
	return !waits // what waits is looked up from the outbox
}

// compareWins looks up wins that do not wait in an outbox.
func (s *recordCheck) compareWins(ctx context.Context, wins []hotWin) error {
	numbers := make([]int, len(wins))
	for i := range wins {
		numbers[i] = wins[i].Packet
	}
	paid, err := s.payoutsOf(ctx, s.q, numbers)
	if err != nil {
		return err
	}
	var open []hotWin
	for i := range wins {
		w := &wins[i]
		if row, is := paid[w.Packet]; !is || !row.is(w.User, w.Drop, w.ref(s.campaign.ID)) {
			open = append(open, *w)
		}
	}
	if len(open) == 0 {
		return nil
	}
	buried, err := s.buried(ctx, open)
	if err != nil {
		return err
	}
	for i := range open {
		w := &open[i]
		row, is := paid[w.Packet]
		at, _ := s.b.holding.index(w.Packet)
		switch {
		case buried[promise{w.Packet, w.User, w.Drop, w.ref(s.campaign.ID).String()}]:
		case is:
			s.found.add("a win paid otherwise", w.Entry+w.User,
				"%s: won in Redis, but the ledger has paid %d to player %s for this packet%s",
				w.name(s.campaign.ID), row.amount,
				row.user, row.otherwise(w.User))
		case s.b.stock.has(at):
			s.found.add("a win that is in the stock", w.Entry+w.User, "%s: won in Redis, but others can win this "+
				"packet too",
				w.name(s.campaign.ID))
		default:
			s.found.add("a win that is lost", w.Entry+w.User,
				"%s: won in Redis, but neither in an outbox nor in the ledger", w.name(s.campaign.ID))
		}
	}
	return nil
}

// promise is a win in a dead letter.
type promise struct {
	packet             int
	user, drop, source string
}

// buried reads the dead letters of wins that wait for a person. One that was dealt with has a payout instead.
func (s *recordCheck) buried(ctx context.Context, wins []hotWin) (map[promise]bool, error) {
	claims := make([]string, len(wins))
	for i := range wins {
		claims[i] = posting.LetterClaim(rain.ClaimID(s.campaign.ID, wins[i].Packet))
	}
	found := map[promise]bool{}
	err := sqldb.EachIn(ctx, s.q, func(scan sqldb.Scan) error {
		d, err := posting.LetterTable.Scan(scan)
		if err != nil {
			return err
		}
		if e, err := d.Entry(); err == nil && len(e.Wins) == 1 {
			found[promise{d.Packet, d.User, e.Wins[0].Drop, e.Ref.String()}] = true
		}
		return nil
	}, posting.LetterTable.Select("WHERE kind = ? AND resolved_at = 0 AND claim IN"), claims, posting.LetterPay)
	return found, err
}

// checkAgain finds out whether packets in the outbox came twice because Redis gives a record twice at times, or because
// two players have them.
func (s *recordCheck) checkAgain(ctx context.Context) error {
	owners := map[int]hotWin{}
	n := s.b.snapshot.Shard
	return s.look.hot.EachRecord(ctx, s.campaign, n, func(page rain.Records) error {
		for _, record := range page.Wins {
			w := hotWin{record, n}
			if !s.again[w.Packet] {
				continue
			}
			w.Amount = s.amounts.Of(w.Packet)
			if first, known := owners[w.Packet]; known && first != w {
				s.found.add("a packet won twice", w.Entry+w.User, "%s: won in Redis, where %s is won too",
					w.name(s.campaign.ID),
					first.name(s.campaign.ID))
			}
			owners[w.Packet] = w
		}
		return nil
	})
}
