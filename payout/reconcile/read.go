package reconcile

import (
	"context"
	"math"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// readPayouts adds up what was paid, by shard, without what is newer than the shard's snapshot.
func (r *campaignCheck) readPayouts(ctx context.Context, q sqldb.Querier) error {
	for from := math.MinInt32; ; {
		next := max(from, 0) + r.look.stretch
		if next >= r.campaign.Packets { // the last stretch has what is beyond, which should not be there
			next = math.MaxInt32
		}
		if err := r.addPayouts(ctx, q, from, next); err != nil || next == math.MaxInt32 {
			return err
		}
		from = next
	}
}

// addPayouts adds the payouts of the packets after from, up to and with to.
func (r *campaignCheck) addPayouts(ctx context.Context, q sqldb.Querier, from, to int) error {
	cuts := []string{"SELECT -1 AS shard, 0 AS ms, 0 AS seq"} // names the columns; no payout has this shard
	var args []any
	for n, b := range r.shards {
		cuts = append(cuts, "SELECT ?, ?, ?")
		args = append(args, n, b.cutMS, b.cutSeq)
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var n int
		var packets int64
		var amount, late rain.Money
		if err := scan(&n, &packets, &amount, &late); err != nil {
			return err
		}
		r.shard(n).paid += amount - late
		r.all.Paid += packets
		r.all.AmountPaid += amount
		return nil
	}, "SELECT p.shard, COUNT(*), SUM(p.amount), "+
		"SUM(CASE WHEN p.won_at > c.ms OR (p.won_at = c.ms AND p.entry_seq > c.seq) THEN p.amount ELSE 0 END) "+
		"FROM payout p LEFT JOIN ("+strings.Join(cuts, " UNION ALL ")+") c ON c.shard = p.shard "+
		"WHERE p.campaign_id = ? AND p.packet > ? AND p.packet <= ? GROUP BY p.shard",
		append(args, r.campaign.ID, from, to)...)
}

func (r *campaignCheck) readReclaims(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var n int
		var packets, ms, seq int64
		var amount rain.Money
		if err := scan(&n, &packets, &amount, &ms, &seq); err != nil {
			return err
		}
		r.given[n] = true
		r.all.Reclaimed += packets
		r.all.AmountReclaimed += amount
		if n == posting.WholeCampaign || !r.shard(n).later(ms, seq) {
			r.reclaimed += amount
		}
		return nil
	}, "SELECT shard, packets, amount, closed_at, entry_seq FROM reclaim WHERE campaign_id = ?", r.campaign.ID)
}

func (r *campaignCheck) readDead(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := posting.ScanLetter(scan)
		if err != nil {
			return err
		}
		r.dead.Note(d)
		b := r.shard(d.Shard)
		switch {
		case b.later(d.WonAt, d.Seq):
		case d.Kind == posting.LetterReclaim:
			b.deadReclaim += d.Amount
		default:
			b.dead += d.Amount
		}
		return nil
	}, posting.LetterSelect+"WHERE campaign_id = ? AND resolved_at = 0 AND NOT "+posting.PaidLetter, r.campaign.ID)
}

// readWaiting looks up which of the promises in the outboxes are in the ledger by now; the others wait.
func (r *campaignCheck) readWaiting(ctx context.Context, q sqldb.Querier) error {
	var packets []int
	for _, b := range r.shards {
		for _, e := range b.snapshot.Entries {
			packets = posting.AppendPackets(packets, e.Wins)
		}
	}
	holders, err := posting.Holders(ctx, q, r.campaign.ID, packets)
	if err != nil {
		return err
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		for _, e := range b.snapshot.Entries {
			for _, w := range e.Wins {
				holds, paid := holders[w.Packet]
				if holds == holderOf(w) || r.dead.HasWin(e.Ref, e.SealedAt, w) {
					continue
				}
				b.waitingWins += w.Amount
				r.checkWaiting(e.Ref, w, holds, paid)
			}
			if e.Reclaim == nil || r.given[n] || r.given[posting.WholeCampaign] {
				continue
			}
			if !r.dead.HasReclaim(e) {
				b.waitingReclaim += e.Reclaim.Amount
			}
		}
	}
	return nil
}

// checkWaiting names a win in an outbox whose packet is somebody else's.
func (r *campaignCheck) checkWaiting(ref rain.EntryRef, w rain.Win, holds posting.Holder, paid bool) {
	win := hotWin{w, ref.Shard, ref.ID}
	if paid {
		r.found.add("a waiting win that is paid otherwise", ref.String()+w.User,
			"%s: in the outbox, but the ledger has paid %d to player %s for this packet",
			win.name(r.campaign), holds.Amount, holds.User)
	}
	if other, twice := r.waiting[w.Packet]; twice {
		r.found.add("a packet given twice", ref.String()+w.User,
			"%s: in the outbox, where player %s is to get %d for this packet too", win.name(r.campaign),
			other.User, other.Amount)
	}
	r.waiting[w.Packet] = holderOf(w)
}
