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

// allowances is what the reclaims of a batch may take.
type allowances struct {
	split map[shardKey]rain.Money // of a campaign with several shards: the amount that the shard was given
	paid  map[shardKey]rain.Money // of it, to players
	dead  map[shardKey]rain.Money // what dead letters of the shard wait for
}

// readAllowances reads what bounds the reclaims among the entries. The escrows are locked: nobody else pays or reclaims
// meanwhile.
func readAllowances(ctx context.Context, tx *sqldb.Tx, s *splits, campaigns map[string]terms,
	entries []rain.Entry) (a allowances, err error) {
	a = allowances{split: map[shardKey]rain.Money{}, paid: map[shardKey]rain.Money{}, dead: map[shardKey]rain.Money{}}
	read := map[string]bool{}
	for _, e := range entries {
		id := e.Ref.Campaign
		c, known := campaigns[id]
		if e.Reclaim == nil || !known {
			continue
		}
		if !read[id] {
			read[id] = true
			if err := a.readDead(ctx, tx, id); err != nil {
				return a, fmt.Errorf("reading dead letters: %w", err)
			}
		}
		if c.shards == 1 || e.Ref.Shard < 0 || e.Ref.Shard >= c.shards {
			continue // the escrow is the shard's own; or there is no such shard
		}
		if err := a.readShard(ctx, tx, s, shardKey{id, e.Ref.Shard}, c); err != nil {
			return a, err
		}
	}
	return a, nil
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

func (a *allowances) readShard(ctx context.Context, tx *sqldb.Tx, s *splits, key shardKey, c terms) error {
	sums, err := s.of(ctx, tx, key.campaign)
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

// most is the most that a shard's reclaim may take now from what the escrow holds.
func (a *allowances) most(ref rain.EntryRef, escrow rain.Money) rain.Money {
	key := shardKey{ref.Campaign, ref.Shard}
	most := escrow
	for other, dead := range a.dead {
		if other.campaign == ref.Campaign {
			most -= dead // no shard's reclaim takes what another's dead letters wait for either
		}
	}
	if split, bounded := a.split[key]; bounded {
		most = min(most, split-a.paid[key]-a.dead[key])
	}
	return max(most, 0)
}

// paidOf and deadOf keep the allowances up to date while the batch is classified. Without a reclaim in the batch there
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
