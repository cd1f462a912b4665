package posting

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// A shard's reclaim names the packets that Redis had left. Where Redis had lost a win that was paid (a failover, a
// power cut), its packet was back in the stock, and the reclaim asks for money that is somebody's already. So a reclaim
// gets what of its packets is nobody's: not paid, not waiting as a dead letter, not given back before.
//
// The other way round, a packet that was given back is nobody's win any more: what is left in the escrow is of others.

// reclaimed is what stands against the reclaims of a batch, and what of its campaigns was given back before.
type reclaimed struct {
	entries   map[rain.EntryRef]bool // reclaims that are posted
	whole     map[string]bool        // campaigns whose whole budget was given back
	given     map[string]*packetSet  // by campaign
	somebodys map[string]*packetSet  // by campaign, of the packets that the batch asks for
}

// readReclaimed reads what stands against the reclaims among the entries, and what their campaigns gave back before:
// those in which this was done, before counts how often. With a reclaim the escrows are locked: nobody else pays or
// reclaims meanwhile.
func readReclaimed(ctx context.Context, q sqldb.Querier, entries []rain.Entry,
	before map[string]int64) (reclaimed, error) {
	r := reclaimed{entries: map[rain.EntryRef]bool{}, whole: map[string]bool{}, given: map[string]*packetSet{},
		somebodys: map[string]*packetSet{}}
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
		var taken rain.Numbers
		if given := r.given[campaign]; given != nil {
			taken = slices.Clone(given.ranges)
		}
		for some := range slices.Chunk(numbers, rangesAtOnce) {
			if err := readTaken(ctx, q, campaign, some, &taken); err != nil {
				return r, err
			}
		}
		r.somebodys[campaign] = &packetSet{}
		r.somebodys[campaign].add(taken)
	}
	return r, nil
}

// rangesAtOnce is how many ranges one statement asks for.
const rangesAtOnce = 100

// readGiven reads what was given back before.
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
	r.given[campaign] = &packetSet{}
	r.given[campaign].add(all)
	return err
}

// wasGiven tells whether a packet was given back before.
func (r *reclaimed) wasGiven(campaign string, packet int) bool {
	set := r.given[campaign]
	return set != nil && set.has(packet)
}

// readTaken adds those packets of ranges to taken that are paid, or promised and not paid yet.
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

// nobodys is what of some packets is nobody's; they are somebody's from then on.
func (r *reclaimed) nobodys(campaign string, asked rain.Numbers) (free rain.Numbers) {
	taken := r.somebodys[campaign]
	free = taken.without(asked)
	taken.add(free)
	return free
}

// take notes that a packet of the batch is a player's.
func (r *reclaimed) take(campaign string, packet int) {
	if set := r.somebodys[campaign]; set != nil {
		set.add(rain.Numbers{{First: packet, Last: packet}})
	}
}

// packetSet is a set of packets, as ranges in order.
type packetSet struct{ ranges rain.Numbers }

// add puts packets into the set.
func (s *packetSet) add(numbers rain.Numbers) {
	s.ranges = rain.Remaining(slices.Concat(s.ranges, numbers), nil)
}

// has tells whether a packet is in the set.
func (s *packetSet) has(packet int) bool {
	i, found := slices.BinarySearchFunc(s.ranges, packet, func(r rain.Range, packet int) int {
		return cmp.Compare(r.First, packet)
	})
	return found || i > 0 && s.ranges[i-1].Last >= packet
}

// without is what of some packets is not in the set, each once.
func (s *packetSet) without(numbers rain.Numbers) rain.Numbers {
	return rain.Remaining(rain.Remaining(numbers, nil), s.ranges)
}

// PaidLetter is true of a dead letter whose win is paid to its player: another node posted a copy of the entry in
// the moment in which it was given up. It waits for nothing but to be resolved.
const PaidLetter = "(dead_letter.kind = '" + LetterPay +
	"' AND EXISTS (SELECT 1 FROM payout p WHERE p.campaign_id = dead_letter.campaign_id " +
	"AND p.packet = dead_letter.packet AND p.user_id = dead_letter.user_id AND p.amount = dead_letter.amount)) "

// NoAmount is true of a dead letter of which nobody knew how much it is about: its campaign's row was gone, or changed
// by hand.
const NoAmount = "(dead_letter.kind = '" + LetterPay + "' AND dead_letter.amount = 0)"

// HeldLetters finds the dead letters of a campaign that money in its escrow waits for. What the campaign cannot
// have promised holds nothing back.
const HeldLetters = "FROM dead_letter JOIN campaign c ON c.id = dead_letter.campaign_id WHERE c.id = ? " +
	"AND resolved_at = 0 " +
	"AND amount > 0 AND amount <= c.budget AND NOT " + PaidLetter + "AND (kind = '" + LetterPay +
	"' AND packet >= 0 AND packet < c.packets OR kind = '" + LetterReclaim + "') "
