package reconcile

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// hotWin is a win's record in Redis.
type hotWin struct {
	rain.WinRecord
	shard int
}

func (w *hotWin) ref(campaign string) rain.EntryRef {
	return rain.EntryRef{Campaign: campaign, Shard: w.shard, ID: w.Entry}
}

// name describes the win in findings.
func (w *hotWin) name(campaign string) string {
	return fmt.Sprintf("claim %s (packet %d, player %s, amount %d, outbox entry %s)", rain.ClaimID(campaign, w.Packet),
		w.Packet, w.User, w.Amount, w.ref(campaign))
}

// recordCheck reads the records of the players of one shard.
type recordCheck struct {
	*campaignCheck
	b       *shardBooks
	q       sqldb.Querier
	players []rain.PlayerRecord // whose wins must still be followed
	again   map[int]bool        // packets in the outbox that came twice
	wins    int                 // distinct ones, up to the snapshot

	newest hotWin // the newest win after the snapshot
	at     position
	failed error // the database's error, in contrast to that of Redis
}

// compareRecords compares every win in Redis with the outbox, the ledger and the dead letters.
//
// A win is recorded in the step that writes its outbox entry, and the entry is removed only after its posting. So a
// win up to the snapshot was in the outbox then, or is in the ledger now. Conversely, a payout up to the snapshot was
// recorded before, and the record stays.
func (r *campaignCheck) compareRecords(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.scope.hot == nil {
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
	s := &recordCheck{campaignCheck: r, b: b, q: q, again: map[int]bool{}, at: position{ms: -1}}
	err := r.scope.hot.EachRecord(ctx, r.campaign, n, func(page rain.Records) error { return s.page(ctx, page) })
	if err == nil && len(s.again) > 0 {
		err = s.checkAgain(ctx)
	}
	if err == nil {
		err = s.followWins(ctx)
	}
	if s.failed != nil {
		return s.failed
	}
	if err != nil {
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	newest, err := r.newestNow(ctx, n)
	if err != nil {
		return err
	}
	if s.wins != b.snapshot.Won {
		r.found.add("a state that is not its wins", shardName(n)+" "+delta(rain.Money(b.snapshot.Won),
			rain.Money(s.wins)),
			"shard %d: its state says that %d packets are won, but %d are recorded for players", n, b.snapshot.Won,
			s.wins)
	}
	if s.at.after(newest) {
		r.found.add("a win of a later entry", s.newest.Entry+s.newest.User, "%s: won in Redis, but the newest entry "+
			"that the shard has ever written is %s", s.newest.name(r.campaign.ID), newest)
	}
	lost := b.holding.list(func(w int) uint64 { return b.recorded.word(w) &^ b.counted.word(w) })
	if len(lost) > 0 {
		r.found.add("wins that are not counted", shardName(n)+lost.String(), "shard %d: Redis has wins of %s, "+
			"which it has not counted for their players", n, packets(lost))
	}
	return nil
}

// page checks some records.
func (s *recordCheck) page(ctx context.Context, page rain.Records) error {
	n := s.b.snapshot.Shard
	for _, what := range page.Unreadable {
		s.found.add("invalid data in Redis", shardName(n)+what, "shard %d: among the wins, %s, which no script has "+
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
	for _, p := range page.Players {
		if p.Wins > s.campaign.WinsPerUser {
			s.found.add("a player with too many wins", p.User, "shard %d: Redis says that player %s has won %d "+
				"packets, but they may win %d", n, p.User, p.Wins, s.campaign.WinsPerUser)
		}
	}
	if s.players = append(s.players, page.Players...); len(s.players) < sqldb.Chunk {
		return nil
	}
	return s.followWins(ctx)
}

// followWins reads each waiting player's wins from the newest to the first, all players at once, and compares their
// number with the player's count. Wins are never removed or changed, so this is exact even while players win more.
func (s *recordCheck) followWins(ctx context.Context) error {
	n := s.b.snapshot.Shard
	type trail struct {
		rain.PlayerRecord
		next string // drop
		wins int    // so far
	}
	trails := make([]trail, len(s.players))
	for i, p := range s.players {
		trails[i] = trail{p, p.Newest, 0}
	}
	s.players = s.players[:0]
	for len(trails) > 0 {
		wins := make([]rain.Win, len(trails))
		for i, t := range trails {
			wins[i] = rain.Win{User: t.User, Drop: t.next}
		}
		records, err := s.scope.hot.WinsOf(ctx, s.campaign, n, wins)
		if err != nil {
			return err
		}
		left := trails[:0]
		for i, t := range trails {
			if records[i].User == "" {
				s.found.add("a win that is missing", t.User+t.next, "shard %d: Redis says that player %s has won with "+
					"drop %s, but has no such win", n, t.User, t.next)
				continue
			}
			if at, ok := s.b.holding.index(records[i].Packet); ok {
				s.b.counted.add(at, s.b.holding.count)
			}
			t.next, t.wins = records[i].Before, t.wins+1
			switch {
			case t.next != "" && t.wins < min(t.Wins, s.campaign.WinsPerUser):
				left = append(left, t)
			case t.next != "" || t.wins != t.Wins:
				s.found.add("a count of wins that is wrong", t.User, "shard %d: Redis says that player %s has won %d "+
					"packets, but knows %d wins one after the other", n, t.User, t.Wins, t.wins)
			}
		}
		trails = left
	}
	return nil
}

// place records a win's packet. It reports whether the win must be looked up.
func (s *recordCheck) place(w *hotWin) bool {
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
	} else if waits {
		s.again[w.Packet] = true
	}
	return !waits // a win in the outbox is compared there
}

// compareWins looks up wins that are not in an outbox.
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

// deadWin identifies a win in a dead letter.
type deadWin struct {
	packet             int
	user, drop, source string
}

// deadWins reads the open dead letters of wins. A resolved one has a payout instead.
func (s *recordCheck) deadWins(ctx context.Context, wins []hotWin) (map[deadWin]bool, error) {
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

// checkAgain decides whether packets in the outbox came twice because Redis returned a record twice, or because two
// players have them.
func (s *recordCheck) checkAgain(ctx context.Context) error {
	owners := map[int]hotWin{}
	n := s.b.snapshot.Shard
	return s.scope.hot.EachRecord(ctx, s.campaign, n, func(page rain.Records) error {
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
