package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"redrain/internal/sqldb"
	"redrain/payout/export"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// File is the export of a campaign, which was proved.
type File struct {
	export.Verified
	txns map[int64]chain.Linked // that leave, by their numbers
	net  map[string]int64       // what each account has got by them
}

// ErrNotProved is the error of an export in which something is wrong.
var ErrNotProved = errors.New("the export is not proved, so nothing is removed; redrain campaign verify says why")

// ReadFile reads and proves the export of a campaign.
func ReadFile(from io.Reader) (f File, err error) {
	f.txns, f.net = map[int64]chain.Linked{}, map[string]int64{}
	f.Verified, err = export.VerifyTxns(from, func(t chain.Linked, gets map[string]int64) {
		if t.Kind != booking.KindPay && t.Kind != booking.KindReclaim {
			return
		}
		f.txns[t.ID] = t
		for account, amount := range gets {
			f.net[account] += amount
		}
	})
	if err == nil && !f.Proved {
		err = ErrNotProved
	}
	return f, err
}

// Campaign removes from the books what an export has of a campaign that is over: its payouts, winners, reclaims, and
// the transactions that paid them. actor is who has it done. Called again, it goes on; once all is gone it finds that
// the file is that of the stubs, and of what was carried to each player, and changes nothing.
func (a *Archiver) Campaign(ctx context.Context, id string, f File, actor string) (p Paper, err error) {
	if f.Campaign != id {
		return p, fmt.Errorf("campaign %s: the export is of campaign %s", id, f.Campaign)
	}
	by := sqldb.Storable(actor, 200)
	c := &campaignRemoval{a: a, id: id, file: f, by: by, target: "campaign:" + id, paper: Paper{ID: id, File: f.SHA256,
		Links: int64(len(f.txns)), Payouts: f.PacketsPaid, AmountPaid: f.Paid, PacketsBack: f.PacketsBack,
		AmountBack: f.Reclaimed, Actor: by}}
	if err := c.run(ctx); err != nil {
		return c.paper, fmt.Errorf("removing campaign %s: %w", id, err)
	}
	return c.paper, nil
}

// campaignRemoval is the removal of a campaign.
type campaignRemoval struct {
	a          *Archiver
	id, target string
	by         string // who has it done
	file       File
	paper      Paper
	after      int64 // the transaction up to which all have left
}

func (c *campaignRemoval) run(ctx context.Context) error {
	if err := c.a.db.InTx(ctx, c.begin); err != nil {
		return err
	}
	if err := c.a.passed("archive.began"); err != nil {
		return err
	}
	if c.paper.FinishedAt != 0 {
		if err := c.compareStubs(ctx); err != nil {
			return err
		}
		return c.compareCarried(ctx)
	}
	for more := true; more; {
		var after int64
		err := c.a.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			after, more, err = c.step(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
		c.after = after
		if err := c.a.passed("archive.step"); err != nil {
			return err
		}
	}
	for more := true; more; {
		err := c.a.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			more, err = c.removeWinners(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
		if err := c.a.passed("archive.winners"); err != nil {
			return err
		}
	}
	if err := c.compareCarried(ctx); err != nil {
		return err
	}
	if err := c.a.db.InTx(ctx, c.end); err != nil {
		return err
	}
	return c.a.passed("archive.finished")
}

// begin makes sure that the campaign is over and the export is the ledger's, and writes the paper.
func (c *campaignRemoval) begin(ctx context.Context, tx *sqldb.Tx) error {
	err := mayDelete(ctx, tx, "payout WHERE campaign_id = ''", "winner WHERE campaign_id = ''",
		"reclaim WHERE campaign_id = ''", "reclaim_cut WHERE campaign_id = ''", "entry WHERE txn_id = 0",
		"txn WHERE id = 0")
	if err != nil {
		return err
	}
	var status string
	var drained bool
	found, err := tx.First(ctx, []any{&status, &drained}, "SELECT status, drained FROM campaign WHERE id = ?"+
		tx.ForUpdate(), c.id)
	switch {
	case err != nil:
		return err
	case !found:
		return posting.ErrUnknownCampaign
	}
	paper, known, err := lockPaper(ctx, tx, c.id)
	if err != nil || known {
		if err == nil && paper.File != c.file.SHA256 {
			err = ErrOtherFile
		}
		c.paper = paper
		return err
	}
	// Whoever posts locks the escrow until the commit: so nothing is on its way into the books from here on.
	escrow := booking.EscrowAccount(c.id)
	balances, err := booking.LockBalances(ctx, tx, []booking.Account{escrow})
	if err != nil {
		return err
	}
	over, err := export.IsOver(ctx, tx, c.id)
	if err != nil {
		return err
	}
	if status != string(rain.Closed) || !drained || !over || balances[escrow] != 0 {
		return export.ErrNotOver
	}
	if known, err = exported(ctx, tx, "campaign.export", c.target, c.file.SHA256); err != nil {
		return err
	}
	if !known {
		return ErrUnknownFile
	}
	var without int64 // packets that were given back and held nothing: no step would count them
	if _, err := tx.First(ctx, []any{&without}, "SELECT COALESCE(SUM(packets), 0) FROM reclaim WHERE campaign_id = ? "+
		"AND txn_id = 0", c.id); err != nil {
		return err
	}
	if without != 0 {
		return differs("%d packets were given back without a transaction", without)
	}
	if err := c.compareTally(ctx, tx); err != nil {
		return err
	}
	c.paper, err = c.a.begin(ctx, tx, c.paper, "campaign.drop", c.target)
	return err
}

// compareTally holds the sums of the campaign against those of the file.
func (c *campaignRemoval) compareTally(ctx context.Context, q sqldb.Querier) error {
	var t posting.Totals
	_, err := q.First(ctx, []any{&t.Paid, &t.AmountPaid, &t.Reclaimed, &t.AmountReclaimed},
		"SELECT paid, amount_paid, reclaimed, amount_reclaimed FROM campaign_tally WHERE campaign_id = ?", c.id)
	if err != nil {
		return err
	}
	if want := (posting.Totals{Paid: c.file.PacketsPaid, AmountPaid: c.file.Paid, Reclaimed: c.file.PacketsBack,
		AmountReclaimed: c.file.Reclaimed}); t != want {
		return differs("its tally is %+v, and by the export %+v", t, want)
	}
	return nil
}

// step removes some transactions. after is the last of them; more tells whether there may be others.
func (c *campaignRemoval) step(ctx context.Context, tx *sqldb.Tx) (after int64, more bool, err error) {
	p, _, err := lockPaper(ctx, tx, c.id)
	if err != nil || p.FinishedAt != 0 {
		return c.after, false, err
	}
	ids, seen, err := c.next(ctx, tx)
	if err != nil || len(ids) == 0 {
		return seen, seen > c.after, err
	}
	links, err := c.linksOf(ctx, tx, ids)
	if err != nil {
		return 0, false, err
	}
	step := chain.Step{Archive: c.id, At: c.a.clock()}
	if _, step.Number, err = left(ctx, tx, p); err != nil {
		return 0, false, err
	}
	if err := sumsOf(ctx, tx, ids, &step); err != nil {
		return 0, false, err
	}
	carried := booking.Txn{Kind: booking.KindCarried, Key: fmt.Sprintf("carried:%s:%d", c.id, step.Number)}
	if carried.Lines, err = netOf(ctx, tx, ids); err != nil {
		return 0, false, err
	}
	step, carried.Papers = chain.NewStep(chain.Txns, links, step)
	if err := removeTxns(ctx, tx, ids); err != nil {
		return 0, false, err
	}
	if step.Txn, err = booking.Carry(ctx, tx, step.At, carried); err != nil {
		return 0, false, err
	}
	return seen, true, c.a.leave(ctx, tx, chain.Txns, links, step)
}

// next are the next transactions that leave: as many as have the payouts of one step, and at least one. seen is the
// last one that was looked at.
func (c *campaignRemoval) next(ctx context.Context, q sqldb.Querier) (ids []int64, seen int64, err error) {
	page, err := sqldb.Column[int64](ctx, q, "SELECT DISTINCT txn_id FROM entry WHERE account_id = ? AND txn_id > ? "+
		"ORDER BY txn_id LIMIT ?", booking.EscrowAccount(c.id).ID(), c.after, linksAtOnce)
	if err != nil || len(page) == 0 {
		return nil, c.after, err
	}
	type txn struct {
		kind string
		rows int64
	}
	txns := map[int64]txn{}
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var t txn
		err := scan(&id, &t.kind, &t.rows)
		txns[id] = t
		return err
	}, "SELECT t.id, t.kind, (SELECT COUNT(*) FROM payout p WHERE p.txn_id = t.id) FROM txn t WHERE t.id IN "+
		sqldb.Marks(len(page)), sqldb.Args(page)...)
	if err != nil {
		return nil, 0, err
	}
	seen = c.after
	var rows int64
	for _, id := range page {
		t := txns[id]
		leaves := t.kind == booking.KindPay || t.kind == booking.KindReclaim
		if rows += t.rows; leaves && len(ids) > 0 && rows > c.a.Rows {
			break
		}
		seen = id
		if leaves {
			ids = append(ids, id)
		}
	}
	return ids, seen, nil
}

// linksOf reads transactions with all that belongs to them, and makes sure that each is, to the byte, the one of the
// export.
func (c *campaignRemoval) linksOf(ctx context.Context, q sqldb.Querier, ids []int64) ([]chain.Linked, error) {
	are, err := chain.TxnLinks(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	links := make([]chain.Linked, len(ids))
	for i, id := range ids {
		want, known := c.file.txns[id]
		switch is, linked := are[id]; {
		case !known:
			return nil, differs("transaction %d is not in it", id)
		case !linked || !same(is, want):
			return nil, differs("transaction %d, with its lines and payouts, is another one", id)
		}
		links[i] = want
	}
	return links, nil
}

// removeWinners removes what the campaign's players have won in all, some at once.
func (c *campaignRemoval) removeWinners(ctx context.Context, tx *sqldb.Tx) (more bool, err error) {
	if _, _, err := lockPaper(ctx, tx, c.id); err != nil {
		return false, err
	}
	users,
		err := sqldb.Column[string](ctx, tx,
		"SELECT user_id FROM winner WHERE campaign_id = ? ORDER BY user_id LIMIT ?",
		c.id, c.a.Rows)
	if err != nil || len(users) == 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM winner WHERE campaign_id = ? AND user_id <= ?", c.id, users[len(users)-1])
	return true, err
}

// end removes reclaims that have moved no money, and says that all is gone.
func (c *campaignRemoval) end(ctx context.Context, tx *sqldb.Tx) error {
	p, _, err := lockPaper(ctx, tx, c.id)
	if c.paper = p; err != nil || p.FinishedAt != 0 {
		return err
	}
	links, _, err := left(ctx, tx, p)
	if err != nil {
		return err
	}
	var payouts int64
	if _, err := tx.First(ctx, []any{&payouts}, "SELECT COUNT(*) FROM payout WHERE campaign_id = ?", c.id); err != nil {
		return err
	}
	if links != 0 || payouts != 0 {
		return differs("%d of its transactions are not in the ledger, and %d payouts of the ledger are not in it",
			links,
			payouts)
	}
	for _, table := range []string{"reclaim", "reclaim_cut"} {
		if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE campaign_id = ?", c.id); err != nil {
			return err
		}
	}
	return c.a.finish(ctx, tx, &c.paper, c.by, "campaign.dropped", c.target)
}
