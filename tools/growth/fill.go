package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// filler fills an empty ledger. Campaigns, deposits and reclaims it makes by the ledger's own code. The payouts it
// writes itself, with the chain's code and the split's amounts, in large statements; balances and totals come once, at
// the end.
type filler struct {
	db    *sqldb.DB
	l     *ledger.Ledger
	plan  *plan
	clock rain.Clock
	log   func(format string, args ...any)

	txns  atomic.Int64 // the highest number of a transaction
	done  atomic.Int64 // payouts
	total int64
	won   []rain.Money // by player
	began time.Time
}

// workers is how many transactions are written at once, each in a stripe of the chain of its own.
const workers = 3

func (f *filler) fill(ctx context.Context) error {
	jobs := f.plan.campaigns()
	var budget rain.Money
	for _, j := range jobs {
		budget += j.spec().Budget
		f.total += int64(j.paid() * shards)
	}
	if _, err := f.l.Sponsors.Deposit(ctx, sponsor, "growth", budget); err != nil {
		return err
	}
	f.won, f.began = make([]rain.Money, f.plan.count()), time.Now()
	for _, j := range jobs {
		if err := f.campaign(ctx, j); err != nil {
			return fmt.Errorf("campaign %s: %w", j.id, err)
		}
		f.log("%s: %d of %d payouts, %.0f a second", j.id, f.done.Load(), f.total,
			float64(f.done.Load())/time.Since(f.began).Seconds())
	}
	if err := f.balances(ctx); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.id == liveID {
			continue
		}
		if err := f.giveBack(ctx, j); err != nil {
			return fmt.Errorf("campaign %s: %w", j.id, err)
		}
	}
	return f.checkpoint(ctx, jobs)
}

func (p *plan) count() (n int) {
	for _, of := range p.players {
		n += len(of)
	}
	return n
}

// campaign opens a campaign and writes its payouts.
func (f *filler) campaign(ctx context.Context, j job) error {
	now := f.clock()
	c := &rain.Campaign{ID: j.id, Spec: j.spec(), Status: rain.Loading, CreatedAt: now,
		ExpiresAt: now + rain.DefaultExpiryMS, Revision: 1}
	binary.BigEndian.PutUint64(c.SplitSeed[:], uint64(j.number)) //nolint:gosec // it is never negative
	if err := f.l.Campaigns.CreateCampaign(ctx, c); err != nil {
		return err
	}
	c, err := f.l.Campaigns.Update(ctx, j.id, func(c *rain.Campaign) error {
		c.Stocked()
		c.Rains = append(c.Rains, paytest.Rain(j.id))
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.numbered(ctx); err != nil {
		return err
	}
	w := &campaignWriter{filler: f, job: j, campaign: c, perShard: batchWins / shards}
	if w.amounts, err = rain.NewAmounts(c); err != nil {
		return err
	}
	w.totals = make([]atomic.Int64, shards)
	w.newest = make([]atomic.Int64, shards)
	g, working := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		g.Go(func() error {
			for {
				first := int(next.Add(int64(w.perShard))) - w.perShard
				if first >= j.paid() {
					return nil
				}
				if err := w.post(working, first, min(first+w.perShard, j.paid())); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return w.finish(ctx)
}

// numbered goes on from the highest number of a transaction that there is: the ledger gives the next ones.
func (f *filler) numbered(ctx context.Context) error {
	var last int64
	_, err := f.db.First(ctx, []any{&last}, "SELECT COALESCE(MAX(id), 0) FROM txn")
	f.txns.Store(last)
	return err
}

// giveBack ends a campaign: what nobody has won goes back to its sponsor.
func (f *filler) giveBack(ctx context.Context, j job) error {
	_, err := f.l.Campaigns.Update(ctx, j.id, func(c *rain.Campaign) error { return c.Close(f.clock()) })
	if err != nil {
		return err
	}
	var entries []rain.Entry
	for s := range shards {
		first, n := rain.ShardRange(j.packets, shards, s)
		entries = append(entries, paytest.SealWith(f.l.Seals.Ring(), rain.Entry{SealedAt: f.clock(),
			Ref:     rain.EntryRef{Campaign: j.id, Shard: s, ID: strconv.FormatInt(f.clock(), 10) + "-0"},
			Reclaim: &rain.Reclaim{Numbers: paytest.Packets(first+j.paid(), first+n-1)}}))
	}
	posted, err := f.l.Poster.Post(ctx, entries)
	if err != nil || len(posted.Dead) > 0 {
		return fmt.Errorf("%v, %w", posted.Dead, err)
	}
	_, err = f.l.Campaigns.Update(ctx, j.id, func(c *rain.Campaign) error { c.Drained = true; return nil })
	return err
}

// balances gives the players what they have won.
func (f *filler) balances(ctx context.Context) error {
	const atOnce = 50_000
	var players []int32
	for n, won := range f.won {
		if won > 0 {
			players = append(players, int32(n))
		}
	}
	for some := range slices.Chunk(players, atOnce) {
		err := f.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			account := func(i int) string { return booking.UserAccount(player(some[i])).ID() }
			return tx.InsertEach(ctx, sqldb.Into{Table: "balance", Columns: []string{"account_id", "amount"}},
				len(some), func(i int, r *sqldb.Row) {
					r.Text(account(i))
					r.Int(int64(f.won[some[i]]))
				})
		})
		if err != nil {
			return err
		}
	}
	f.log("%d players have their balances", len(players))
	return nil
}

// campaignWriter writes the payouts of one campaign.
type campaignWriter struct {
	*filler
	job      job
	campaign *rain.Campaign
	amounts  *rain.Amounts
	perShard int
	totals   []atomic.Int64 // by shard, what was paid
	newest   []atomic.Int64 // by shard, the newest outbox entry, Unix ms
}

// finish writes what is kept once for the whole campaign.
func (w *campaignWriter) finish(ctx context.Context) error {
	return w.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var total int64
		var marks [][]any
		for s := range shards {
			total += w.totals[s].Load()
			marks = append(marks, []any{w.job.id, s, w.newest[s].Load(), 0})
		}
		err := tx.Insert(ctx, "shard_mark", []string{"campaign_id", "shard", "entry_ms", "entry_seq"}, marks,
			sqldb.Merge{})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE balance SET amount = amount - ? WHERE account_id = ?", total,
			booking.EscrowAccount(w.job.id).ID())
		if err != nil {
			return err
		}
		return posting.Tally(ctx, tx, map[string]posting.Totals{w.job.id: {Paid: int64(w.job.paid() * shards),
			AmountPaid: rain.Money(total)}})
	})
}

// payment is a transaction to be written.
type payment struct {
	id   int64
	at   int64 // Unix ms
	key  string
	wins []paidWin
	sum  rain.Money
	link chain.Link
}

type paidWin struct {
	packet, shard int
	player        int32
	user          string
	drop          string
	amount        rain.Money
}
