package archive

import (
	"context"
	"maps"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// sumsOf adds up what transactions have paid and given back.
func sumsOf(ctx context.Context, q sqldb.Querier, ids []int64, s *chain.Step) error {
	in := sqldb.Marks(len(ids))
	for _, sum := range []struct {
		rows, amount *int64
		query        string
	}{
		{&s.Payouts, &s.AmountPaid, "SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM payout WHERE txn_id IN "},
		{&s.PacketsBack, &s.AmountBack, "SELECT COALESCE(SUM(packets), 0), COALESCE(SUM(amount), 0) FROM reclaim " +
			"WHERE txn_id IN "},
	} {
		if _, err := q.First(ctx, []any{sum.rows, sum.amount}, sum.query+in, sqldb.Args(ids)...); err != nil {
			return err
		}
	}
	return nil
}

// netOf is what transactions have done to each account, all together: what an escrow has given first.
func netOf(ctx context.Context, q sqldb.Querier, ids []int64) ([]booking.Line, error) {
	sums := map[string]rain.Money{}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var account string
		var amount rain.Money
		err := scan(&account, &amount)
		sums[account] += amount
		return err
	}, "SELECT account_id, amount FROM entry WHERE txn_id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...)
	lines := make([]booking.Line, 0, len(sums))
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		kind, owner, _ := strings.Cut(id, ":")
		lines = append(lines, booking.Line{Account: booking.Account{Kind: kind, Owner: owner}, Amount: sums[id]})
	}
	return lines, err
}

// removeTxns removes transactions with their lines and papers.
func removeTxns(ctx context.Context, tx *sqldb.Tx, ids []int64) error {
	in, args := sqldb.Marks(len(ids)), sqldb.Args(ids)
	type key struct{ campaign, shard, closed, seq any }
	cuts, err := sqldb.List(ctx, tx, func(scan sqldb.Scan) (k key, err error) {
		var campaign string
		var shard, closed, seq int64
		err = scan(&campaign, &shard, &closed, &seq)
		return key{campaign, shard, closed, seq}, err
	}, "SELECT campaign_id, shard, closed_at, entry_seq FROM reclaim WHERE txn_id IN "+in, args...)
	if err != nil {
		return err
	}
	for _, k := range cuts {
		if _, err := tx.Exec(ctx, "DELETE FROM reclaim_cut WHERE campaign_id = ? AND shard = ? AND closed_at = ? "+
			"AND entry_seq = ?", k.campaign, k.shard, k.closed, k.seq); err != nil {
			return err
		}
	}
	for _, from := range []string{"payout WHERE txn_id", "reclaim WHERE txn_id", "entry WHERE txn_id", "txn WHERE id"} {
		if _, err := tx.Exec(ctx, "DELETE FROM "+from+" IN "+in, args...); err != nil {
			return err
		}
	}
	return nil
}

// compareStubs makes sure that what is left of the campaign's transactions is what the export has.
func (c *campaignRemoval) compareStubs(ctx context.Context) error {
	found := 0
	want := map[chain.Linked]bool{}
	for _, l := range c.file.txns {
		l.ID = 0
		want[l] = true
	}
	err := c.a.db.Each(ctx, func(scan sqldb.Scan) error {
		var l chain.Linked
		var content, hash, rest []byte
		err := scan(&l.Stripe, &l.Link, &content, &hash, &l.Kind, &l.Key, &rest)
		if len(content) == len(l.Content) && len(hash) == len(l.Hash) && len(rest) == len(l.Rest) {
			l.Content, l.Hash, l.Rest = chain.Hash(content), chain.Hash(hash), chain.Hash(rest)
		}
		if want[l] {
			found++
		}
		return err
	}, "SELECT stripe, link, content, hash, kind, idem_key, rest FROM chain_stub WHERE archive = ?", c.id)
	if err == nil && found != len(want) {
		err = differs("%d of its %d transactions have left the books", found, len(want))
	}
	return err
}

// compareCarried makes sure that each account was carried, over all steps, what it has got by the transactions of the
// file. The sums of a step alone do not say who has got them.
func (c *campaignRemoval) compareCarried(ctx context.Context) error {
	steps, err := sqldb.Column[int64](ctx, c.a.db, "SELECT txn_id FROM archive_step WHERE archive = ? ORDER BY number",
		c.id)
	if err != nil {
		return err
	}
	carried := make(map[string]int64, len(c.file.net))
	for _, step := range steps {
		err := c.a.db.Each(ctx, func(scan sqldb.Scan) error {
			var account string
			var amount int64
			err := scan(&account, &amount)
			carried[account] += amount
			return err
		}, "SELECT account_id, amount FROM entry WHERE txn_id = ?", step)
		if err != nil {
			return err
		}
	}
	var others []string
	for account, want := range c.file.net {
		if carried[account] != want {
			others = append(others, account)
		}
	}
	for account, amount := range carried {
		if _, known := c.file.net[account]; !known && amount != 0 {
			others = append(others, account)
		}
	}
	if len(others) == 0 {
		return nil
	}
	first := slices.Min(others)
	return differs("%s was carried %s, and has got %s by the export; accounts that differ: %d", first,
		rain.Money(carried[first]), rain.Money(c.file.net[first]), len(others))
}
