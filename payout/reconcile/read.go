package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// readTally reads the payouts' sums from the tally, and subtracts payouts after the shards' snapshots. It reads only
// these payouts, so its cost does not depend on the campaign's size.
func (r *campaignCheck) readTally(ctx context.Context, q sqldb.Querier) error {
	t, err := r.tally(ctx, q)
	if err != nil {
		return err
	}
	r.all.Paid, r.all.AmountPaid, r.astray = t.Paid, t.AmountPaid, t.AmountPaid
	for n, b := range r.shards {
		if !b.snapshot.Found {
			continue
		}
		var packets int64
		var amount rain.Money
		_, err := q.First(ctx, []any{&packets, &amount}, "SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM payout "+
			"WHERE campaign_id = ? AND shard = ? AND (won_at > ? OR (won_at = ? AND entry_seq > ?))", r.campaign.ID, n,
			b.cut.ms, b.cut.ms, b.cut.seq)
		if err != nil {
			return err
		}
		r.later += packets
		r.astray -= amount
	}
	return nil
}

// reclaimRow is a row of the table reclaim.
type reclaimRow struct {
	ref     rain.EntryRef
	at      position
	asked   rain.Numbers
	packets int // reclaimed ones
	amount  rain.Money
}

func (r *campaignCheck) readReclaims(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		row := reclaimRow{ref: rain.EntryRef{Campaign: r.campaign.ID}}
		var text string
		if err := scan(&row.ref.Shard, &text, &row.packets, &row.amount, &row.at.ms, &row.at.seq); err != nil {
			return err
		}
		row.ref.ID = row.at.String()
		r.all.Reclaimed += int64(row.packets)
		r.all.AmountReclaimed += row.amount
		b := r.shard(row.ref.Shard)
		if row.ref.Shard == posting.WholeCampaign {
			r.given = true
		} else if b != nil && b.later(row.at) {
			b.laterReclaims = append(b.laterReclaims, row)
			return nil
		}
		r.reclaimed += row.amount
		if b == nil && row.ref.Shard != posting.DismissedLetter {
			return nil
		}
		if r.amounts == nil {
			return nil // the packets are unknown
		}
		var err error
		if row.asked, err = rain.ParseNumbers(text, r.campaign.Packets); err != nil {
			r.found.add("a reclaim that cannot be read", "the reclaim of entry %s: %q are no packets of the campaign",
				row.ref, text)
		}
		if b == nil {
			r.dismissed = append(r.dismissed, row)
		} else {
			b.reclaims = append(b.reclaims, row)
		}
		return nil
	}, "SELECT shard, numbers, packets, amount, closed_at, entry_seq FROM reclaim WHERE campaign_id = ? "+
		"ORDER BY shard, closed_at, entry_seq", r.campaign.ID)
}

// readLetters reads the open dead letters.
func (r *campaignCheck) readLetters(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := posting.LetterTable.Scan(scan)
		if err != nil {
			return err
		}
		r.letters.Note(d)
		r.letterTexts.deadLetter(d, "")
		b, at := r.shard(d.Shard), position{d.WonAt, d.Seq}
		if b == nil || b.later(at) {
			return nil
		}
		switch d.Kind {
		case posting.LetterPay:
			if !r.counted() {
				b.deadPay += d.Amount
				return nil
			}
			// If the campaign's row was invalid, the dead letter has no amount.
			b.deadPay += cmp.Or(d.Amount, r.amounts.Of(d.Packet))
			foreign, twice := b.holding.put(&b.dead, rain.Numbers{{First: d.Packet, Last: d.Packet}})
			if len(twice) > 0 || len(foreign) > 0 && r.known(b) {
				r.found.add("an unpayable dead letter", "dead letter %s (player %s, amount %d): its shard %d does "+
					"not have this packet, or it is in another dead letter too", d.Claim, d.User, d.Amount, d.Shard)
			}
		case posting.LetterReclaim:
			e, err := d.Entry()
			if err != nil || e.Reclaim == nil {
				r.found.add("a dead letter that cannot be read", "dead letter %s: %v", d.Claim, err)
				return nil
			}
			if !r.counted() {
				return nil
			}
			if foreign, _ := b.holding.put(&b.deadReclaimed, e.Reclaim.Numbers); len(foreign) > 0 {
				r.foreign(d.Shard, "in a reclaim among the dead letters", foreign)
			}
		}
		return nil
	}, posting.LetterTable.Select("WHERE campaign_id = ? AND resolved_at = 0 AND NOT "+posting.PaidLetter),
		r.campaign.ID)
}

// readPaid finds the packets in the outboxes and the dead letters that are paid.
func (r *campaignCheck) readPaid(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() {
		return nil
	}
	for _, b := range r.shards {
		numbers := b.holding.list(func(w int) uint64 { return b.won.word(w) | b.dead.word(w) })
		page := make([]int, 0, paidAtOnce)
		for packet := range numbers.Each() {
			if page = append(page, packet); len(page) == paidAtOnce {
				if err := r.notePaid(ctx, q, b, page); err != nil {
					return err
				}
				page = page[:0]
			}
		}
		if err := r.notePaid(ctx, q, b, page); err != nil {
			return err
		}
	}
	return nil
}

// paidAtOnce is the number of packets in one query. They are nearly always consecutive.
const paidAtOnce = 10_000

// notePaid records which packets of a shard are paid as of its snapshot. They are in rising order.
func (r *campaignCheck) notePaid(ctx context.Context, q sqldb.Querier, b *shardBooks, page []int) error {
	if len(page) == 0 {
		return nil
	}
	row := func(scan sqldb.Scan) error {
		var packet int
		var at position
		err := scan(&packet, &at.ms, &at.seq)
		if _, asked := slices.BinarySearch(page, packet); asked && !b.later(at) {
			i, _ := b.holding.index(packet)
			b.paid.add(i, b.holding.count)
		}
		return err
	}
	const query = "SELECT packet, won_at, entry_seq FROM payout WHERE campaign_id = ? AND shard = ? AND packet "
	if first, last := page[0], page[len(page)-1]; last < first+2*len(page) {
		return q.Each(ctx, row, query+"BETWEEN ? AND ?", r.campaign.ID, b.snapshot.Shard, first, last)
	}
	return sqldb.EachIn(ctx, q, row, query+"IN", page, r.campaign.ID, b.snapshot.Shard)
}

// payoutsOf reads the payouts of some packets.
func (r *campaignCheck) payoutsOf(ctx context.Context, q sqldb.Querier, numbers []int) (map[int]paidRow, error) {
	rows := make(map[int]paidRow, len(numbers))
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		p, err := scanPayout(scan)
		rows[p.packet] = p
		return err
	}, payoutSelect+"WHERE campaign_id = ? AND packet IN", numbers, r.campaign.ID)
	return rows, err
}

// deadLetter adds the description of a dead letter, with the campaign if it is not "". It names a limited number of
// each kind, and counts the others.
func (f *findings) deadLetter(d posting.DeadLetter, campaign string) {
	of := []string{d.Kind}
	if campaign != "" {
		of = append(of, "campaign "+campaign)
	}
	if d.Packet >= 0 {
		of = append(of, packets(rain.Numbers{{First: d.Packet, Last: d.Packet}}))
	}
	if d.User != "" {
		of = append(of, "player "+d.User)
	}
	if d.Amount != 0 && d.Kind != posting.LetterForged {
		of = append(of, fmt.Sprint("amount ", int64(d.Amount)))
	}
	f.add("dead letters of kind "+d.Kind, "dead letter %s (%s): %s", d.Claim, strings.Join(of, ", "), d.Reason)
}

// allLetters returns the descriptions of all open dead letters.
func allLetters(ctx context.Context, q sqldb.Querier) ([]string, error) {
	waiting := findings{texts: []string{}}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := posting.LetterTable.Scan(scan)
		waiting.deadLetter(d, d.Campaign)
		return err
	}, posting.LetterTable.Select("WHERE resolved_at = 0 AND NOT "+posting.PaidLetter+"ORDER BY id"))
	return waiting.all(), err
}
