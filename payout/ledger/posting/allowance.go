package posting

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// A shard's reclaim asks for what Redis had left. Where Redis had lost a win that was paid (a failover, a power
// cut), its packet was back in the stock, and the reclaim asks for money that is somebody's already: another
// shard's, a player's whose win is on its way or waits as a dead letter. So a reclaim gets no more than is the
// shard's own: its part of the split, less what was paid of it and what its dead letters wait for.

// ReclaimCut is a reclaim that got less than it asked for.
type ReclaimCut struct {
	Ref    rain.EntryRef
	Asked  rain.Money
	Given  rain.Money
	Reason string
}

// splitsKept is how many campaigns' sums are remembered at most.
const splitsKept = 1000

// allowances is what the reclaims of a batch may take.
type allowances struct {
	split map[shardKey]rain.Money // of a campaign with several shards: the amount that the shard was given
	paid  map[shardKey]rain.Money // of it, to players
	dead  map[shardKey]rain.Money // what dead letters of the shard wait for
}

// readAllowances reads what bounds the reclaims in the batch. The escrows are locked: nobody else pays or reclaims
// meanwhile.
func (p *Poster) readAllowances(ctx context.Context, tx *sqldb.Tx, b *batch, entries []rain.Entry) error {
	b.allow = allowances{split: map[shardKey]rain.Money{}, paid: map[shardKey]rain.Money{},
		dead: map[shardKey]rain.Money{}}
	read := map[string]bool{}
	for _, e := range entries {
		id := e.Ref.Campaign
		c, known := b.campaigns[id]
		if e.Reclaim == nil || !known {
			continue
		}
		if !read[id] {
			read[id] = true
			if err := b.allow.readDead(ctx, tx, id); err != nil {
				return fmt.Errorf("reading dead letters: %w", err)
			}
		}
		if c.shards == 1 || e.Ref.Shard < 0 || e.Ref.Shard >= c.shards {
			continue // the escrow is the shard's own; or there is no such shard
		}
		if err := p.readShard(ctx, tx, &b.allow, shardKey{id, e.Ref.Shard}, c); err != nil {
			return err
		}
	}
	return nil
}

// PaidLetter is true of a dead letter whose win is paid to its player: another node posted a copy of the entry in
// the moment in which it was given up. It waits for nothing but to be resolved.
const PaidLetter = "(dead_letter.kind = '" + LetterPay +
	"' AND EXISTS (SELECT 1 FROM payout p WHERE p.campaign_id = dead_letter.campaign_id " +
	"AND p.packet = dead_letter.packet AND p.user_id = dead_letter.user_id AND p.amount = dead_letter.amount)) "

// HeldLetters finds the dead letters of a campaign that money in its escrow waits for. What the campaign cannot
// have promised holds nothing back.
const HeldLetters = "FROM dead_letter JOIN campaign c ON c.id = dead_letter.campaign_id WHERE c.id = ? " +
	"AND resolved_at = 0 " +
	"AND amount > 0 AND amount <= c.budget AND NOT " + PaidLetter + "AND (kind = '" + LetterPay +
	"' AND packet >= 0 AND packet < c.packets OR " +
	"kind = '" + LetterReclaim + "' AND NOT EXISTS (SELECT 1 FROM reclaim r WHERE r.campaign_id = " +
	"dead_letter.campaign_id AND r.shard = dead_letter.shard)) "

// readDead adds up the promises of a campaign that wait.
func (a *allowances) readDead(ctx context.Context, tx *sqldb.Tx, campaign string) error {
	return tx.Each(ctx, func(scan sqldb.Scan) error {
		key := shardKey{campaign: campaign}
		var sum rain.Money
		err := scan(&key.shard, &sum)
		a.dead[key] = sum
		return err
	}, "SELECT dead_letter.shard, SUM(amount) "+HeldLetters+"AND kind = ? GROUP BY dead_letter.shard", campaign,
		LetterPay)
}

func (p *Poster) readShard(ctx context.Context, tx *sqldb.Tx, a *allowances, key shardKey, c terms) error {
	sums, err := p.splitSums(ctx, tx, key.campaign)
	if err != nil || sums == nil {
		return err
	}
	a.split[key] = sums[key.shard]
	first, n := rain.ShardRange(c.packets, c.shards, key.shard)
	var paid rain.Money
	_, err = tx.First(ctx, []any{&paid}, "SELECT COALESCE(SUM(amount), 0) FROM payout WHERE campaign_id = ? "+
		"AND packet >= ? AND packet < ?",
		key.campaign, first, first+n)
	if err != nil {
		return fmt.Errorf("what shard %d of campaign %s has paid: %w", key.shard, key.campaign, err)
	}
	a.paid[key] = paid
	return nil
}

// splitSums is what each shard of a campaign was given. It is computed once: the split of the largest campaign
// takes a second and tens of megabytes, so one is computed at a time. They are nil where the campaign cannot be
// split.
func (p *Poster) splitSums(ctx context.Context, tx *sqldb.Tx, campaign string) ([]rain.Money, error) {
	p.splits.mu.Lock()
	defer p.splits.mu.Unlock()
	if sums, ok := p.splits.sums[campaign]; ok {
		return sums, nil
	}
	c, err := p.campaigns.Read(ctx, tx, campaign)
	if err != nil {
		return nil, err
	}
	amounts, err := c.Cut(c.SplitSeed)
	if err != nil {
		return nil, nil // what cannot be split was never stocked: then the escrow alone is the limit
	}
	sums := make([]rain.Money, c.Shards)
	for shard := range sums {
		first, n := rain.ShardRange(c.Packets, c.Shards, shard)
		if sums[shard], err = rain.Sum(amounts[first : first+n]); err != nil {
			return nil, fmt.Errorf("campaign %s: %w", campaign, err)
		}
	}
	if len(p.splits.sums) >= splitsKept {
		clear(p.splits.sums)
	}
	p.splits.sums[campaign] = sums
	return sums, nil
}

// allowance is the most that a shard's reclaim may take now.
func (b *batch) allowance(ref rain.EntryRef) rain.Money {
	key := shardKey{ref.Campaign, ref.Shard}
	most := b.escrow[ref.Campaign]
	for other, dead := range b.allow.dead {
		if other.campaign == ref.Campaign {
			most -= dead // no shard's reclaim takes what another's dead letters wait for either
		}
	}
	if split, bounded := b.allow.split[key]; bounded {
		most = min(most, split-b.allow.paid[key]-b.allow.dead[key])
	}
	return max(most, 0)
}

// paidOf and deadOf keep the allowances up to date while the batch is judged. Without a reclaim in the batch there
// are none.
func (a *allowances) paidOf(ref rain.EntryRef, amount rain.Money) {
	if a.paid != nil {
		a.paid[shardKey{ref.Campaign, ref.Shard}] += amount
	}
}

func (a *allowances) deadOf(d DeadLetter, c terms) {
	if a.dead != nil && d.Kind == LetterPay && d.Packet >= 0 && d.Packet < c.packets && d.Amount > 0 &&
		d.Amount <= c.budget {
		a.dead[shardKey{d.Campaign, d.Shard}] += d.Amount
	}
}
