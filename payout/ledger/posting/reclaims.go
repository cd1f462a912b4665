package posting

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// A shard's reclaim names the remaining packets in Redis. If Redis had lost a paid win (by a failover or a power cut),
// the win's packet was in stock again. A packet is taken if it is paid, in an open dead letter, or reclaimed before. A
// reclaim gets only packets that are not taken.
//
// A reclaimed packet is never paid, because its money has left the escrow.

// reclaimed is the state that decides about the reclaims of a batch.
type reclaimed struct {
	entries map[rain.EntryRef]bool  // posted reclaims
	whole   map[string]bool         // campaigns whose whole budget was returned
	given   map[string]rain.Numbers // by campaign, in order
	taken   map[string]rain.Numbers // by campaign, of the packets that the batch asks for, in order
}

// readReclaimed reads the state for the reclaims among the entries. before counts the earlier reclaims of campaigns;
// those with any are read. If an entry is a reclaim, the escrows are locked, so no other transaction pays or reclaims
// meanwhile.
func readReclaimed(ctx context.Context, q sqldb.Querier, entries []rain.Entry,
	before map[string]int64) (reclaimed, error) {
	r := reclaimed{map[rain.EntryRef]bool{}, map[string]bool{}, map[string]rain.Numbers{}, map[string]rain.Numbers{}}
	for campaign := range before {
		if err := r.readGiven(ctx, q, campaign); err != nil {
			return r, err
		}
	}
	asked := map[string]rain.Numbers{}
	for i := range entries {
		if e := &entries[i]; e.Reclaim != nil {
			asked[e.Ref.Campaign] = append(asked[e.Ref.Campaign], e.Reclaim.Numbers...)
		}
	}
	for campaign, numbers := range asked {
		taken := slices.Clone(r.given[campaign])
		for some := range slices.Chunk(numbers, rangesAtOnce) {
			if err := readTaken(ctx, q, campaign, some, &taken); err != nil {
				return r, err
			}
		}
		r.taken[campaign] = rain.Remaining(taken, nil)
	}
	return r, nil
}

// rangesAtOnce is the number of ranges in one statement.
const rangesAtOnce = 100

// readGiven reads the packets that were reclaimed before.
func (r *reclaimed) readGiven(ctx context.Context, q sqldb.Querier, campaign string) error {
	var all rain.Numbers
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var shard int
		var text string
		var ms, seq int64
		if err := scan(&shard, &text, &ms, &seq); err != nil {
			return err
		}
		r.whole[campaign] = r.whole[campaign] || shard == WholeCampaign
		r.entries[rain.EntryRef{Campaign: campaign, Shard: shard, ID: fmt.Sprintf("%d-%d", ms, seq)}] = true
		numbers, err := rain.ParseNumbers(text, rain.MaxPackets)
		if err != nil {
			return fmt.Errorf("reclaim %d-%d of shard %d of campaign %s: %q: %w", ms, seq, shard, campaign, text, err)
		}
		all = append(all, numbers...)
		return nil
	}, "SELECT r.shard, COALESCE(cut.numbers, r.numbers), r.closed_at, r.entry_seq FROM reclaim r "+
		"LEFT JOIN reclaim_cut cut ON cut.campaign_id = r.campaign_id AND cut.shard = r.shard "+
		"AND cut.closed_at = r.closed_at AND cut.entry_seq = r.entry_seq WHERE r.campaign_id = ?", campaign)
	r.given[campaign] = rain.Remaining(all, nil)
	return err
}

// readTaken adds the packets of ranges that are paid, or in an open dead letter, to taken.
func readTaken(ctx context.Context, q sqldb.Querier, campaign string, ranges rain.Numbers, taken *rain.Numbers) error {
	within, args := withinRanges(ranges)
	args = append([]any{campaign}, args...)
	row := func(scan sqldb.Scan) error {
		var packet int
		err := scan(&packet)
		*taken = taken.Add(packet)
		return err
	}
	if err := q.Each(ctx, row, "SELECT packet FROM payout WHERE campaign_id = ? AND "+within, args...); err != nil {
		return err
	}
	return q.Each(ctx, row, "SELECT packet FROM dead_letter WHERE campaign_id = ? AND resolved_at = 0 AND kind = '"+
		LetterPay+"' AND NOT "+PaidLetter+"AND "+within, args...)
}

// takeFree returns those of the packets that are not taken, and marks them as taken.
func (r *reclaimed) takeFree(campaign string, asked rain.Numbers) (free rain.Numbers) {
	free = without(asked, r.taken[campaign])
	r.taken[campaign] = rain.Remaining(slices.Concat(r.taken[campaign], free), nil)
	return free
}

// take marks a packet as taken by a player of the batch.
func (r *reclaimed) take(campaign string, packet int) {
	if taken, asked := r.taken[campaign]; asked {
		r.taken[campaign] = rain.Remaining(taken.Add(packet), nil)
	}
}

// has reports whether a packet is in one of the ranges, which are in order.
func has(ranges rain.Numbers, packet int) bool {
	i, found := slices.BinarySearchFunc(ranges, packet, func(r rain.Range, packet int) int {
		return cmp.Compare(r.First, packet)
	})
	return found || i > 0 && ranges[i-1].Last >= packet
}

// without returns the packets that are not in the ordered set, each once and in order.
func without(numbers, set rain.Numbers) rain.Numbers {
	return rain.Remaining(rain.Remaining(numbers, nil), set)
}

// PaidLetter selects dead letters whose win is paid to their player: another node posted a copy of the entry while it
// was given up. It only needs to be resolved.
const PaidLetter = "(dead_letter.kind = '" + LetterPay +
	"' AND EXISTS (SELECT 1 FROM payout p WHERE p.campaign_id = dead_letter.campaign_id " +
	"AND p.packet = dead_letter.packet AND p.user_id = dead_letter.user_id AND p.amount = dead_letter.amount)) "

// NoAmount selects dead letters without a known amount: the campaign's row was missing or invalid.
const NoAmount = "(dead_letter.kind = '" + LetterPay + "' AND dead_letter.amount = 0)"

// LettersInEscrow selects the dead letters of a campaign that keep money in its escrow. Wins that the campaign cannot
// have had keep none.
const LettersInEscrow = "FROM dead_letter JOIN campaign c ON c.id = dead_letter.campaign_id WHERE c.id = ? " +
	"AND resolved_at = 0 " +
	"AND amount > 0 AND amount <= c.budget AND NOT " + PaidLetter + "AND (kind = '" + LetterPay +
	"' AND packet >= 0 AND packet < c.packets OR kind = '" + LetterReclaim + "') "

// A closing seal covers campaign, shard and time, because only Redis knows the remaining numbers. So the numbers of a
// reclaim are compared with the moves in the ledger. A move's row is written before its packets arrive, so a shard
// never has more than the moves say.

// readHoldings reads the packets that the shards with reclaims in the entries can have.
func readHoldings(ctx context.Context, q sqldb.Querier, entries []rain.Entry,
	campaigns map[string]terms) (map[shardKey]rain.Numbers, error) {
	holdings := map[shardKey]rain.Numbers{}
	for i := range entries {
		c, known := campaigns[entries[i].Ref.Campaign]
		shard := entries[i].Ref.Shard
		if entries[i].Reclaim == nil || !known || shard < 0 || shard >= max(c.Shards, 1) {
			continue
		}
		h, err := readHolding(ctx, q, c.Campaign, shard)
		if err != nil {
			return nil, err
		}
		holdings[shardKey{c.ID, shard}] = h.Numbers
	}
	return holdings, nil
}
