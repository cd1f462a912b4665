package reconcile

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// The moves determine the packets of each shard, even though stock moves while the shards are read one after the
// other. Each shard numbers the moves from and to it, and a snapshot has the newest number. So it is known for each
// move whether the lender's and the borrower's snapshots were before or after it. This decides where its packets count:
//
//	lender's snapshot   borrower's snapshot   the packets count
//	before the loan     before the arrival    at the lender
//	before the loan     after the arrival     at both, and count once
//	after the loan      before the arrival    in flight: by the row or, without a row, by the lender's lent hash
//	after the loan      after the arrival     at the borrower, even if they move on
//
// A row is marked as done after the packets have come. For an unfinished row, Redis knows the borrower's number of the
// move. It never changes. A rebuilt shard begins with the packets of earlier rows, so its snapshot must be of the
// ledger's epoch, which is checked first. Each epoch numbers its moves from its own time.
//
// So we know exactly which packets each shard held at its snapshot. All of them together, with the packets in flight
// and without double counts, are the split.

// move is a row of the table move.
type move struct {
	posting.Move
	packets int
	text    string // of the numbers
	fault   string // the reason why it is invalid, or ""

	gone bool // the lender's snapshot is after the lending
	came bool // the borrower's snapshot is after the borrowing
}

// name describes the move in findings.
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
		case m.From == m.To || r.shard(m.From) == nil || r.shard(m.To) == nil:
			m.fault = "there are no two such shards"
		case layout.LaneOfShard(m.From) != layout.LaneOfShard(m.To):
			m.fault = "one shard is the guests', the other one the players'"
		case m.Number <= 0 || m.ToNumber < 0 || m.ToNumber > 0 && !m.Done:
			m.fault = fmt.Sprintf("it is number %d of its lender and number %d of its borrower, and done is %v",
				m.Number,
				m.ToNumber, m.Done)
		}
		if m.fault != "" {
			r.found.add("a move that cannot be", "%s: %s", m.name(), m.fault)
			return err
		}
		r.moves[m.Lent.Move] = m
		return err
	}, "SELECT id, from_shard, to_shard, numbers, packets, from_number, to_number, epoch, done_at FROM move "+
		"WHERE campaign_id = ?", r.campaign.ID)
}

// readEpochs checks that the snapshots are of the ledger's epochs.
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
	for n, b := range r.shards {
		if !b.snapshot.Found || b.snapshot.Epoch == epochs[n] {
			continue
		}
		if !r.scope.last {
			return errStale
		}
		r.found.add("a shard of another epoch", "shard %d: what Redis has is of the time since %d, but the ledger "+
			"has rebuilt the shard at %d: Redis has gone back in time", n, b.snapshot.Epoch, epochs[n])
	}
	return nil
}

// moved is the effect of the moves on one shard, as of its snapshot.
type moved struct{ came, gone rain.Numbers }

// hold computes the packets of each shard.
func (r *campaignCheck) hold(ctx context.Context) error {
	if err := r.askForMoves(ctx); err != nil {
		return err
	}
	of := make([]moved, len(r.shards))
	for _, id := range sortedKeys(r.moves) {
		m := r.moves[id]
		if m.gone {
			of[m.From].gone = append(of[m.From].gone, m.Numbers...)
		}
		if m.came {
			of[m.To].came = append(of[m.To].came, m.Numbers...)
		}
		switch {
		case m.gone && !m.came:
			r.inFlight = append(r.inFlight, m.Numbers...)
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

// lend adds the loans in a shard's lent hash, and compares them with their rows.
func (r *campaignCheck) lend(n int, of *moved) {
	s := &r.shards[n].snapshot
	lent := map[string]bool{}
	for _, l := range s.Lent {
		lent[l.Move] = true
		switch m := r.moves[l.Move]; {
		case m == nil:
			of.gone = append(of.gone, l.Numbers...)
			r.inFlight = append(r.inFlight, l.Numbers...)
		case m.From != n || m.To != l.To || m.Number != l.Number || m.Epoch != l.Epoch || m.text != l.Numbers.String():
			r.found.add("a move that is not what was lent", "%s, number %d, epoch %d: but shard %d has lent packets "+
				"%s to shard %d under it, number %d, epoch %d", m.name(), m.Number, m.Epoch, n, l.Numbers, l.To,
				l.Number, l.Epoch)
		}
	}
	for _, id := range sortedKeys(r.moves) {
		if m := r.moves[id]; s.Found && m.From == n && m.gone && !m.Done && m.Epoch == s.Epoch && !lent[id] {
			r.found.add("a move that its shard has forgotten", "%s: it is not done, but shard %d does not know of it",
				m.name(), n)
		}
	}
}

// holdShard computes the packets of one shard.
func (r *campaignCheck) holdShard(n int, of *moved) {
	came := slices.Concat(of.came, r.campaign.Layout().Stock(n))
	here := rain.Remaining(came, of.gone)
	r.shards[n].holding = newHolding(here)
	if !r.known(r.shards[n]) {
		return // Redis lost this shard, so we do not know which loans arrived
	}
	if twice := rain.Remaining(came, slices.Concat(of.gone, here)); len(twice) > 0 {
		r.found.add("packets moved twice", "shard %d: by the moves, %s came to it while being there", n, packets(twice))
	}
	if absent := rain.Remaining(of.gone, came); len(absent) > 0 {
		r.found.add("packets moved that were not there", "shard %d: by the moves, %s left it without having been there",
			n, packets(absent))
	}
}

// askForMoves decides for each move which snapshots are after it.
func (r *campaignCheck) askForMoves(ctx context.Context) error {
	open := map[int][]*move{}
	for _, id := range sortedKeys(r.moves) {
		m := r.moves[id]
		from, to := &r.shards[m.From].snapshot, &r.shards[m.To].snapshot
		m.gone = !from.Found || m.Number <= from.Moves
		switch {
		case !to.Found:
			m.came = m.Done || r.campaign.Drained // which has no move in flight
		case m.Done:
			m.came = m.ToNumber <= to.Moves // 0: it came by a rebuild
		default:
			open[m.To] = append(open[m.To], m)
		}
	}
	for _, n := range sortedKeys(open) {
		borrowed, err := r.readBorrowed(ctx, n)
		if err := r.unread(n, err); err != nil {
			return err
		}
		for _, m := range open[n] {
			if number, come := borrowed[m.Lent.Move]; come && number >= 0 && number <= r.shards[n].snapshot.Moves {
				m.came, m.ToNumber = true, number
			}
		}
	}
	return nil
}

// readBorrowed reads the moves that have come to a shard, with their numbers. They never change.
func (r *campaignCheck) readBorrowed(ctx context.Context, n int) (map[string]int64, error) {
	borrowed := map[string]int64{}
	err := r.scope.live.EachBorrowed(ctx, r.campaign, n, func(id string, number int64) { borrowed[id] = number })
	if err != nil {
		return nil, fmt.Errorf("shard %d: %w: %w", n, ErrLiveState, err)
	}
	_, err = r.newestNow(ctx, n)
	return borrowed, err
}
