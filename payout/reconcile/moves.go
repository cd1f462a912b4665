package reconcile

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// What each shard must have follows from the moves, also while stock moves and the shards are read one after the other.
// Each shard numbers the moves from and to it, and a snapshot has the number of the newest, so of each move it is
// certain whether the snapshot of the donor, and that of the recipient, was taken before or after it:
//
//	lent, without a row        the packets are on their way: the lent hash of the donor has them, and no other place
//	row, lent after            the packets are the donor's still. If they have come to the recipient by its (later)
//	the donor's snapshot       snapshot, they are in both, and count once
//	row, lent before, not      the packets are on their way: the row has them, and the donor's lent hash, unless the
//	come or come after the     donor was rebuilt since
//	recipient's snapshot
//	row, lent and come before  the packets are the recipient's, wherever they go from there
//
// A row is marked as done after the packets have come. So of a row that is not done, Redis is asked for the number that
// the move has got among those of the recipient: it never changes. A shard that is rebuilt has from the start what the
// rows of before bring it; that its snapshot is of the epoch that the ledger knows is looked at first. Each epoch
// numbers its moves from its own time on.
//
// So for each shard there is an exact list of packets that must be in its stock, in its outbox or dealt with by the
// ledger, and the lists of all shards, with what is on its way, and without what counts twice, are the split.

// move is the row of a move, as it is in the database.
type move struct {
	posting.Move
	packets int
	text    string // of the numbers
	fault   string // why it cannot be one; "" where it can

	gone bool // the donor's snapshot is of after the lending
	came bool // the recipient's snapshot is of after the borrowing
}

// name is how findings speak of the move.
func (m *move) name() string {
	return fmt.Sprintf("move %s (packets %s from shard %d to shard %d)", m.Lent.Move, m.text, m.From, m.To)
}

// readMoves reads the moves of the campaign.
func (r *campaignCheck) readMoves(ctx context.Context, q sqldb.Querier) error {
	layout := r.campaign.Layout()
	return q.Each(ctx, func(scan sqldb.Scan) error {
		m := &move{}
		var doneAt int64
		err := scan(&m.Lent.Move, &m.From, &m.To, &m.text, &m.packets, &m.Number, &m.ToNumber, &m.Epoch, &doneAt)
		m.Done = doneAt != 0
		var unreadable error
		m.Numbers, unreadable = rain.ParseNumbers(m.text, r.campaign.Packets)
		switch {
		case unreadable != nil || m.packets != m.Numbers.Count() || m.packets == 0:
			m.fault = fmt.Sprintf("its numbers are not %d packets of the campaign", m.packets)
		case m.From == m.To || r.shards[m.From] == nil || r.shards[m.To] == nil:
			m.fault = "there are no two such shards"
		case layout.LaneOfShard(m.From) != layout.LaneOfShard(m.To):
			m.fault = "one shard is the guests', the other one the players'"
		case m.Number <= 0 || m.ToNumber < 0 || m.ToNumber > 0 && !m.Done:
			m.fault = fmt.Sprintf("it is number %d of its donor and number %d of its recipient, and done is %v",
				m.Number,
				m.ToNumber, m.Done)
		}
		if m.fault != "" {
			r.found.add("a move that cannot be", m.Lent.Move, "%s: %s", m.name(), m.fault)
			r.cannotBe[m.Lent.Move] = true
			return err
		}
		r.moves[m.Lent.Move] = m
		return err
	}, "SELECT id, from_shard, to_shard, numbers, packets, from_number, to_number, epoch, done_at FROM move "+
		"WHERE campaign_id = ?", r.campaign.ID)
}

// readEpochs makes sure that the snapshots are of the epochs that the ledger knows.
func (r *campaignCheck) readEpochs(ctx context.Context, q sqldb.Querier) error {
	epochs := map[int]int64{}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var n int
		var epoch int64
		err := scan(&n, &epoch)
		epochs[n] = epoch
		return err
	}, "SELECT shard, barrier_ms FROM shard_epoch WHERE campaign_id = ?", r.campaign.ID)
	if err != nil {
		return err
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		if !b.snapshot.Found || b.snapshot.Epoch == epochs[n] {
			continue
		}
		if !r.look.last {
			return errStale
		}
		r.found.add("a shard of another epoch", shardName(n), "shard %d: what Redis has is of the time since %d, "+
			"but the "+
			"ledger has rebuilt the shard at %d: Redis has gone back in time", n, b.snapshot.Epoch, epochs[n])
	}
	return nil
}

// moved is what the moves have done to one shard, as of its snapshot.
type moved struct {
	came, gone rain.Numbers
	numbers    []int64 // of the moves
}

// hold finds out which packets each shard must have.
func (r *campaignCheck) hold(ctx context.Context) error {
	if err := r.askForMoves(ctx); err != nil {
		return err
	}
	of := make([]moved, len(r.shards))
	for _, id := range sortedKeys(r.moves) {
		m := r.moves[id]
		if m.gone {
			of[m.From].gone = append(of[m.From].gone, m.Numbers...)
			of[m.From].numbers = append(of[m.From].numbers, m.Number)
		}
		if m.came {
			of[m.To].came = append(of[m.To].came, m.Numbers...)
			of[m.To].numbers = append(of[m.To].numbers, m.ToNumber)
		}
		switch {
		case m.gone && !m.came:
			r.onTheWay = append(r.onTheWay, m.Numbers...)
		case m.came && !m.gone:
			r.twiceSeen = append(r.twiceSeen, m.Numbers...)
		}
	}
	for n := range of {
		r.lend(n, &of[n])
		r.holdShard(n, &of[n])
	}
	return nil
}

// lend takes in what a shard keeps of its moves.
func (r *campaignCheck) lend(n int, of *moved) {
	s := &r.shards[n].snapshot
	lent := map[string]bool{}
	for _, l := range s.Lent {
		lent[l.Move] = true
		if l.Number > s.Moves || l.Number <= s.Epoch || l.Epoch != s.Epoch {
			r.found.add("a move that its shard has not made", l.Move, "shard %d: it has lent packets %s as move %s, "+
				"its move "+
				"number "+
				"%d of the time since %d; but it has made moves up to number %d since %d", n, l.Numbers, l.Move,
				l.Number, l.Epoch,
				s.Moves, s.Epoch)
		}
		if m := r.moves[l.Move]; m != nil {
			r.checkLent(n, l, m)
			continue
		}
		of.gone = append(of.gone, l.Numbers...)
		of.numbers = append(of.numbers, l.Number)
		r.onTheWay = append(r.onTheWay, l.Numbers...)
	}
	r.checkMoves(n, lent, of.numbers)
}

// holdShard makes the list of the packets that a shard must have.
func (r *campaignCheck) holdShard(n int, of *moved) {
	came := slices.Concat(of.came, r.campaign.Layout().Stock(n))
	here := rain.Remaining(came, of.gone)
	r.shards[n].holding = newHolding(here)
	if !r.known(r.shards[n]) {
		return // what is open to it may have come
	}
	if twice := rain.Remaining(came, slices.Concat(of.gone, here)); len(twice) > 0 {
		r.found.add("packets moved twice", shardName(n)+twice.String(), "shard %d: by the moves, %s came to it while "+
			"being there",
			n, packets(twice))
	}
	if absent := rain.Remaining(of.gone, came); len(absent) > 0 {
		r.found.add("packets moved that were not there", shardName(n)+absent.String(), "shard %d: by the moves, %s "+
			"left it "+
			"without having been there", n, packets(absent))
	}
}

// askForMoves decides of each move which snapshots are of after it.
func (r *campaignCheck) askForMoves(ctx context.Context) error {
	open := map[int][]*move{}
	for _, id := range sortedKeys(r.moves) {
		m := r.moves[id]
		from, to := &r.shards[m.From].snapshot, &r.shards[m.To].snapshot
		m.gone = !from.Found || m.Number <= from.Moves
		switch {
		case !to.Found:
			m.came = m.Done || r.campaign.Drained // which nothing is on its way of
		case m.Done:
			m.came = m.ToNumber <= to.Moves // 0: it came by a rebuild
		default:
			open[m.To] = append(open[m.To], m)
		}
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		if !b.snapshot.Found || len(open[n]) == 0 && !r.look.rows {
			continue
		}
		if err := r.unread(n, r.readBorrowed(ctx, n)); err != nil {
			return err
		}
		for _, m := range open[n] {
			if number, come := b.borrowed[m.Lent.Move]; come && number >= 0 && number <= b.snapshot.Moves {
				m.came, m.ToNumber = true, number
			}
		}
	}
	return nil
}

// readBorrowed reads which moves have come to a shard. What it has been told of them never changes.
func (r *campaignCheck) readBorrowed(ctx context.Context, n int) error {
	b := r.shards[n]
	borrowed := map[string]int64{}
	err := r.look.hot.EachBorrowed(ctx, r.campaign, n, func(id string, number int64) { borrowed[id] = number })
	if err != nil {
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	_, epoch, _, err := r.look.hot.Newest(ctx, r.campaign, n)
	switch {
	case err != nil:
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	case epoch == b.snapshot.Epoch:
		b.borrowed = borrowed
		return nil
	case r.look.last:
		return fmt.Errorf("shard %d: %w: %w", n, ErrHot, errStale)
	}
	return errStale
}

// checkLent compares what a shard keeps of a move with the move's row.
func (r *campaignCheck) checkLent(shard int, l rain.Lent, m *move) {
	if m.From != shard || m.To != l.To || m.Number != l.Number || m.Epoch != l.Epoch || m.text != l.Numbers.String() {
		r.found.add("a move that is not what was lent", l.Move, "%s, number %d, epoch %d: but shard %d has lent "+
			"packets "+
			"%s to "+
			"shard %d under it, number %d, epoch %d", m.name(), m.Number, m.Epoch, shard, l.Numbers, l.To,
			l.Number, l.Epoch)
	}
}

// checkMoves looks for moves that a shard has counted and nobody knows, or the other way round. lent is the moves that
// the shard keeps, numbers those of its moves.
func (r *campaignCheck) checkMoves(shard int, lent map[string]bool, numbers []int64) {
	s := &r.shards[shard].snapshot
	if !s.Found {
		return
	}
	for _, id := range sortedKeys(r.moves) {
		if m := r.moves[id]; m.From == shard && m.gone && !m.Done && m.Epoch == s.Epoch && !lent[id] {
			r.found.add("a move that its shard has forgotten", id, "%s: it is not done, but shard %d does not know "+
				"of it",
				m.name(),
				shard)
		}
	}
	slices.Sort(numbers)
	next := s.Epoch + 1
	var unknown rain.Numbers
	for i, number := range numbers {
		switch {
		case number <= s.Epoch: // of an earlier epoch
		case i > 0 && number == numbers[i-1]:
			r.found.add("a number of two moves", fmt.Sprint(shardName(shard), number),
				"shard %d: two moves are its move number %d", shard, number)
		default:
			if next < number {
				unknown = append(unknown, rain.Range{First: int(next), Last: int(number - 1)})
			}
			next = number + 1
		}
	}
	if next <= s.Moves {
		unknown = append(unknown, rain.Range{First: int(next), Last: int(s.Moves)})
	}
	if len(unknown) > 0 {
		r.found.add("moves that nobody knows", shardName(shard)+unknown.String(), "shard %d: it has counted %d "+
			"moves, but "+
			"the "+
			"rows have no move with its number %s", shard, s.Moves-s.Epoch, inWords(unknown))
	}
}

// checkBorrowed holds the moves that are done against what the recipients have recorded, and what they have recorded
// against the rows. A move has its row before it comes, so one that the shard's snapshot knows of has it.
func (r *campaignCheck) checkBorrowed(context.Context, sqldb.Querier) error {
	for _, id := range sortedKeys(r.moves) {
		m := r.moves[id]
		b := r.shards[m.To]
		if !m.Done || b.borrowed == nil {
			continue
		}
		switch number, come := b.borrowed[id]; {
		case !come || number < 0:
			r.found.add("a move that has not come", id, "%s: it is done, but shard %d has not got it", m.name(), m.To)
		case number > 0 && number != m.ToNumber:
			r.found.add("a move with another number", id, "%s: it is number %d of shard %d, which says %d", m.name(),
				m.ToNumber, m.To, number)
		}
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		for _, id := range sortedKeys(b.borrowed) {
			m := r.moves[id]
			if b.borrowed[id] <= b.snapshot.Moves && (m == nil || m.To != n) && !r.cannotBe[id] {
				r.found.add("a move that nobody made", shardName(n)+id,
					"shard %d: it says that move %q has come to it, but there is no such move to it", n, id)
			}
		}
	}
	return nil
}
