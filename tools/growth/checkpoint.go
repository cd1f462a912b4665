package main

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/checkpoint"
	"redrain/rain"
)

// checkpoint writes what the proofs of years would have left behind: how far the chains were proved, and the sums that
// are carried forward.
func (f *filler) checkpoint(ctx context.Context, jobs []job) error {
	none, err := checkpoint.Newest(ctx, f.db, func(string) {})
	if err != nil {
		return err
	}
	c := checkpoint.Checkpoint{At: f.clock()}
	ends, err := sqldb.List(ctx, f.db, func(scan sqldb.Scan) (e chain.End, err error) {
		err = scan(&e.Book, &e.Stripe, &e.Links, &e.Hash)
		return e, err
	}, "SELECT book, stripe, links, LOWER(HEX(hash)) FROM chain_head ORDER BY book, stripe")
	if err != nil {
		return err
	}
	c.Marks = chain.MarksOf(ends)
	if _, err := f.db.First(ctx, []any{&c.LastTxn}, "SELECT MAX(id) FROM txn"); err != nil {
		return err
	}
	var sums []checkpoint.Sum
	for _, j := range jobs {
		of, err := f.sumsOf(ctx, j)
		if err != nil {
			return err
		}
		sums = append(sums, of...)
	}
	_, err = checkpoint.Add(ctx, f.db, none, c, sums)
	return err
}

// sumsOf adds up the rows of a campaign.
func (f *filler) sumsOf(ctx context.Context, j job) ([]checkpoint.Sum, error) {
	sums, err := sqldb.List(ctx, f.db, func(scan sqldb.Scan) (s checkpoint.Sum, err error) {
		var kind string
		err = scan(&kind, &s.Rows, &s.Amount)
		s.Subject = checkpoint.Escrow(j.id, kind)
		return s, err
	}, "SELECT t.kind, COUNT(*), SUM(e.amount) FROM entry e JOIN txn t ON t.id = e.txn_id "+
		"WHERE e.account_id = ? GROUP BY t.kind", booking.EscrowAccount(j.id).ID())
	if err != nil {
		return nil, err
	}
	for s := range shards {
		first, n := rain.ShardRange(j.packets, shards, s) // nothing has moved, so its payouts are of these packets
		sum := checkpoint.Sum{Subject: checkpoint.Payouts(j.id, s)}
		_, err := f.db.First(ctx, []any{&sum.Rows, &sum.Numbers, &sum.Amount}, "SELECT COUNT(*), "+
			"COALESCE(SUM(packet), 0), COALESCE(SUM(amount), 0) FROM payout "+
			"WHERE campaign_id = ? AND packet BETWEEN ? AND ?", j.id, first, first+n-1)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}
