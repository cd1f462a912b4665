package main

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/rain"
)

// wonAt is the id of the transaction's outbox entries, of which it has one of each shard.
func (p *payment) wonAt() int64 { return p.at - 1 }

// post writes one transaction, which pays some packets of each shard.
func (w *campaignWriter) post(ctx context.Context, from, to int) error {
	p := w.payment(from, to)
	err := w.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		head, err := chain.Take(ctx, tx, chain.Txns)
		if err != nil {
			return err
		}
		p.link = head.Add(w.content(&p))
		for _, write := range []func(context.Context, *sqldb.Tx, *payment) error{writeTxn, w.writeEntries,
			w.writePayouts, w.writeWinners} {
			if err := write(ctx, tx, &p); err != nil {
				return err
			}
		}
		return head.Save(ctx, tx)
	})
	if err != nil {
		return err
	}
	w.done.Add(int64(len(p.wins)))
	return nil
}

// payment makes up who has won what. Each player is in it once, so two workers never add to the same of their figures.
func (w *campaignWriter) payment(from, to int) payment {
	p := payment{id: w.txns.Add(1), at: w.clock()}
	for s := range shards {
		first, _ := rain.ShardRange(w.job.packets, shards, s)
		for n := from; n < to; n++ {
			who, packet := w.job.winner(s, n), first+n
			win := paidWin{packet: packet, shard: s, player: who, user: player(who), drop: paytest.DropOf(packet),
				amount: w.amounts.Of(packet)}
			p.wins = append(p.wins, win)
			p.sum += win.amount
			w.won[who] += win.amount
			w.totals[s].Add(int64(win.amount))
		}
		for newest := w.newest[s].Load(); newest < p.wonAt() && !w.newest[s].CompareAndSwap(newest, p.wonAt()); {
			newest = w.newest[s].Load()
		}
	}
	slices.SortFunc(p.wins, func(a, b paidWin) int { return a.packet - b.packet })
	p.key = fmt.Sprintf("pay:%s.0.%d-0:%d", w.job.id, p.wonAt(), p.wins[0].packet)
	return p
}

// content is what the chain holds of the transaction: its payouts as they are in the order of their packets, and its
// lines.
func (w *campaignWriter) content(p *payment) chain.Hash {
	var papers, c chain.Content
	for i := range p.wins {
		win := &p.wins[i]
		papers.Text(w.job.id)
		papers.Int(int64(win.packet))
		papers.Text(rain.ClaimID(w.job.id, win.packet))
		papers.Text(win.user)
		papers.Int(int64(win.amount))
		papers.Text("settled")
		papers.Text(win.drop)
		papers.Int(int64(win.shard))
		papers.Int(p.wonAt())
		papers.Int(0)
		papers.Int(p.at)
	}
	c.Txn(p.at, papers.Sum())
	for n := range len(p.wins) + 1 {
		account, amount := w.line(p, n)
		c.Int(int64(n))
		c.Text(account)
		c.Int(int64(amount))
	}
	content, _ := c.SumTxn(booking.KindPay, p.key)
	return content
}

// line is a line of the transaction.
func (w *campaignWriter) line(p *payment, n int) (account string, amount rain.Money) {
	if n == 0 {
		return booking.EscrowAccount(w.job.id).ID(), -p.sum
	}
	return booking.UserAccount(p.wins[n-1].user).ID(), p.wins[n-1].amount
}

func writeTxn(ctx context.Context, tx *sqldb.Tx, p *payment) error {
	columns := append([]string{"id", "kind", "idem_key", "created_at"}, chain.Columns...)
	return tx.InsertEach(ctx, sqldb.Into{Table: "txn", Columns: columns}, 1, func(_ int, r *sqldb.Row) {
		r.Int(p.id)
		r.Text(booking.KindPay)
		r.Text(p.key)
		r.Int(p.at)
		p.link.Put(r)
	})
}

func (w *campaignWriter) writeEntries(ctx context.Context, tx *sqldb.Tx, p *payment) error {
	columns := []string{"txn_id", "line_no", "account_id", "amount"}
	return tx.InsertEach(ctx, sqldb.Into{Table: "entry", Columns: columns}, len(p.wins)+1, func(i int, r *sqldb.Row) {
		account, amount := w.line(p, i)
		r.Int(p.id)
		r.Int(int64(i))
		r.Text(account)
		r.Int(int64(amount))
	})
}

func (w *campaignWriter) writePayouts(ctx context.Context, tx *sqldb.Tx, p *payment) error {
	columns := []string{"campaign_id", "packet", "user_id", "amount", "drop_id", "shard", "won_at", "entry_seq",
		"settled_at", "txn_id"}
	return tx.InsertEach(ctx, sqldb.Into{Table: "payout", Columns: columns}, len(p.wins), func(i int, r *sqldb.Row) {
		win := &p.wins[i]
		r.Text(w.job.id)
		r.Int(int64(win.packet))
		r.Text(win.user)
		r.Int(int64(win.amount))
		r.Text(win.drop)
		r.Int(int64(win.shard))
		r.Int(p.wonAt())
		r.Int(0)
		r.Int(p.at)
		r.Int(p.id)
	})
}

func (w *campaignWriter) writeWinners(ctx context.Context, tx *sqldb.Tx, p *payment) error {
	columns := []string{"campaign_id", "user_id", "wins", "amount"}
	byUser := slices.SortedFunc(slices.Values(p.wins), func(a, b paidWin) int { return int(a.player - b.player) })
	return tx.InsertEach(ctx, sqldb.Into{Table: "winner", Columns: columns}, len(byUser), func(i int, r *sqldb.Row) {
		r.Text(w.job.id)
		r.Text(byUser[i].user)
		r.Int(1)
		r.Int(int64(byUser[i].amount))
	})
}
