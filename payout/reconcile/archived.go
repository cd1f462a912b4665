package reconcile

import (
	"context"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	ledgerchain "redrain/payout/ledger/chain"
	"redrain/payout/ledger/checkpoint"
	"redrain/payout/ledger/history"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// A campaign that was dropped has its payouts in an export. What the ledger still has of it is proved: that the escrow
// was emptied by what is left and by what was carried, that the steps in which rows have left add up to the tally and
// the budget, and that nothing is left once the last step is done.

// readArchived proves a campaign whose payouts have left the books, or are leaving them.
func (r *campaignCheck) readArchived(ctx context.Context, q sqldb.Querier) error {
	r.given = true     // no packet has a place of its own any more
	r.look.anew = true // and no sum goes on from a checkpoint
	if !r.campaign.Drained || r.campaign.Status != rain.Closed {
		r.found.add("a campaign that was dropped", r.campaign.ID,
			"the table archive says that the campaign was dropped, "+
				"and it is not over: somebody has changed one or the other")
	}
	return r.run(ctx, q, []func(context.Context, sqldb.Querier) error{
		r.checkHistory, r.checkSettings, r.noteLetters, r.addArchived,
		func(ctx context.Context, q sqldb.Querier) error {
			if !r.look.txns {
				return nil
			}
			return r.checkTxns(ctx, q)
		},
		func(ctx context.Context, q sqldb.Querier) error {
			return ledgerchain.CheckArchive(ctx, q, r.campaign.ID, func(fault string) {
				r.found.add("what has left the books", fault, "%s", fault)
			})
		},
	})
}

// noteLetters reads the dead letters that wait. They hold no money: what they are about is in the export.
func (r *campaignCheck) noteLetters(ctx context.Context, q sqldb.Querier) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := posting.ScanLetter(scan)
		if err == nil {
			r.waiting.letter(letterRow{d.ID, d.Kind, "", d.Claim, d.Packet, d.User, d.Amount, d.Reason})
		}
		return err
	}, posting.LetterSelect+"WHERE campaign_id = ? AND resolved_at = 0 ORDER BY id", r.campaign.ID)
}

// addArchived adds up what has left and what is left, and holds it against the escrow, the tally and the budget.
func (r *campaignCheck) addArchived(ctx context.Context, q sqldb.Querier) error {
	var finished int64
	_, err := q.First(ctx, []any{&finished}, "SELECT finished_at FROM archive WHERE id = ?", r.campaign.ID)
	if err != nil {
		return err
	}
	steps, err := ledgerchain.Steps(ctx, q, r.campaign.ID)
	if err != nil {
		return err
	}
	var gone posting.Totals
	for _, s := range steps {
		gone.Paid += s.Payouts
		gone.AmountPaid += rain.Money(s.AmountPaid)
		gone.Reclaimed += s.PacketsBack
		gone.AmountReclaimed += rain.Money(s.AmountBack)
		if err := r.checkStepTxn(ctx, q, &s); err != nil {
			return err
		}
	}
	var here posting.Totals
	var winners, cuts int64
	for _, part := range []struct {
		dest  []any
		query string
	}{
		{[]any{&here.Paid, &here.AmountPaid}, "SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM payout "},
		{[]any{&here.Reclaimed, &here.AmountReclaimed},
			"SELECT COALESCE(SUM(packets), 0), COALESCE(SUM(amount), 0) FROM reclaim "},
		{[]any{&winners}, "SELECT COUNT(*) FROM winner "},
		{[]any{&cuts}, "SELECT COUNT(*) FROM reclaim_cut "},
	} {
		if _, err := q.First(ctx, part.dest, part.query+"WHERE campaign_id = ?", r.campaign.ID); err != nil {
			return err
		}
	}
	if left := here.Paid + here.Reclaimed + winners + cuts; finished != 0 && left > 0 {
		r.found.add("rows of a campaign that was dropped", r.campaign.ID,
			"the campaign was dropped, and %d payouts, %d "+
				"packets given back, %d winners and %d shortened reclaims of it are there: somebody has added them",
			here.Paid, here.Reclaimed, winners, cuts)
	}
	r.all = posting.Totals{Paid: gone.Paid + here.Paid, AmountPaid: gone.AmountPaid + here.AmountPaid,
		Reclaimed:       gone.Reclaimed + here.Reclaimed,
		AmountReclaimed: gone.AmountReclaimed + here.AmountReclaimed}
	r.astray, r.reclaimed = r.all.AmountPaid, r.all.AmountReclaimed
	if n := r.all.Paid + r.all.Reclaimed; n != int64(r.campaign.Packets) {
		r.found.add("packets of a campaign that was dropped", r.campaign.ID,
			"%d packets were paid and %d given back, and "+
				"the campaign had %d", r.all.Paid, r.all.Reclaimed, r.campaign.Packets)
	}
	if err := r.checkTally(ctx, q); err != nil {
		return err
	}
	return r.checkArchivedEscrow(ctx, q, here, gone)
}

// checkArchivedEscrow is checkEscrow of a campaign that was dropped: what has left is carried.
func (r *campaignCheck) checkArchivedEscrow(ctx context.Context, q sqldb.Querier, here, gone posting.Totals) error {
	escrow := booking.EscrowAccount(r.campaign.ID)
	sums, err := r.escrowByKind(ctx, q)
	if err != nil {
		return err
	}
	var total rain.Money
	for _, sum := range sums {
		total += sum
	}
	r.funded = sums[booking.KindFund]
	r.compare("funded", r.funded, "the campaign's budget is", r.campaign.Budget)
	r.compare("paid out of the escrow", -sums[booking.KindPay], "the payouts sum to", here.AmountPaid)
	r.compare("given back out of the escrow", -sums[booking.KindReclaim], "the reclaims sum to", here.AmountReclaimed)
	r.compare("carried out of the escrow", -sums[booking.KindCarried], "what has left the books sums to",
		gone.AmountPaid+gone.AmountReclaimed)
	balance, _, err := booking.BalanceOf(ctx, q, escrow)
	r.compare("the escrow's balance", balance, "its entries sum to", total)
	r.compare("the escrow's balance", balance, "of a campaign that was dropped it is", 0)
	return err
}

// checkStepTxn holds the transaction that carries what a step has removed against the step.
func (r *campaignCheck) checkStepTxn(ctx context.Context, q sqldb.Querier, s *ledgerchain.Step) error {
	sums := map[string]rain.Money{}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var account, kind string
		var amount rain.Money
		err := scan(&account, &kind, &amount)
		owner, _, _ := strings.Cut(account, ":")
		if account == booking.EscrowAccount(r.campaign.ID).ID() ||
			account == booking.SponsorAccount(r.campaign.Sponsor).ID() ||
			owner == booking.KindUser {
			sums[owner] += amount
		}
		if kind != booking.KindCarried {
			sums["another kind"]++
		}
		return err
	}, "SELECT e.account_id, t.kind, e.amount FROM entry e JOIN txn t ON t.id = e.txn_id WHERE t.id = ?", s.Txn)
	if paid, back := rain.Money(s.AmountPaid), rain.Money(s.AmountBack); err == nil &&
		(sums["another kind"] != 0 || sums[booking.KindEscrow] != -paid-back || sums[booking.KindUser] != paid ||
			sums[booking.KindSponsor] != back) {
		r.found.add("what was carried", txnKey(s.Txn),
			"step %d of archive %s: transaction %d carries %d to players and %d "+
				"to the sponsor, and %d and %d have left the books", s.Number, s.Archive, s.Txn, sums[booking.KindUser],
			sums[booking.KindSponsor], paid, back)
	}
	return err
}

// archives holds what is left of rows that have left the books against the steps in which they did.
func (r *fullProof) archives(ctx context.Context) error {
	return r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		return ledgerchain.CheckStubs(ctx, tx, func(fault string) {
			r.found.add("what has left the books", fault, "%s", fault)
		})
	})
}

// checkArchives holds the archives that have changed against what is left of their rows.
func (r *recentStep) checkArchives(ctx context.Context, q sqldb.Querier) error {
	for _, id := range sortedKeys(r.things[history.Archive]) {
		err := ledgerchain.CheckArchive(ctx, q, id, func(fault string) {
			r.found.add("what has left the books", fault, "%s", fault)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renew adds up anew the accounts of which entries have left the books since the newest checkpoint, and those of the
// escrows of campaigns that were dropped: what was carried forward of them has rows that are gone.
func (r *recentStep) renew(ctx context.Context, q sqldb.Querier) error {
	var campaigns []string
	for _, of := range []map[string]bool{r.accounts, r.pending} {
		for id := range of {
			if campaign, escrow := strings.CutPrefix(id, booking.KindEscrow+":"); escrow {
				campaigns = append(campaigns, campaign)
			}
		}
	}
	slices.Sort(campaigns)
	dropped, err := archivedOf(ctx, q, slices.Compact(campaigns))
	if err != nil {
		return err
	}
	for campaign := range dropped {
		r.renewed[booking.EscrowAccount(campaign).ID()] = true
	}
	for ids := range slices.Chunk(sortedKeys(r.renewed), askedAtOnce) {
		if err := checkAccounts(ctx, q, ids, r.found); err != nil {
			return err
		}
		if err := r.carryAnew(ctx, q, ids); err != nil {
			return err
		}
	}
	for id := range r.renewed {
		delete(r.pending, id)
	}
	return nil
}

// archivedOf are those of some campaigns whose payouts have left the books, or are leaving them.
func archivedOf(ctx context.Context, q sqldb.Querier, campaigns []string) (map[string]bool, error) {
	dropped := map[string]bool{}
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		err := scan(&id)
		dropped[id] = true
		return err
	}, "SELECT id FROM archive WHERE id IN", campaigns)
	return dropped, err
}

// countSteps is in how many steps rows have left the books.
func countSteps(ctx context.Context, q sqldb.Querier) (steps int64, err error) {
	_, err = q.First(ctx, []any{&steps}, "SELECT COUNT(*) FROM archive_step")
	return steps, err
}

// carryAnew begins the sums of accounts anew, of those that are carried forward. One that was not is begun as carryMany
// does: what is in holes is not known of it.
func (r *recentStep) carryAnew(ctx context.Context, q sqldb.Querier, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return strings.HasPrefix(id, booking.KindEscrow+":")
	})
	subjects := make([]string, len(ids))
	for i, id := range ids {
		subjects[i] = checkpoint.Account(id)
	}
	if err := r.begin(ctx, q, subjects); err != nil {
		return err
	}
	return sumAccounts(ctx, q, ids, func(id string, rows, amount int64) {
		subject := checkpoint.Account(id)
		sum := checkpoint.Sum{Subject: subject}.Plus(rows, 0, amount)
		if _, carried := r.ahead[subject]; carried {
			r.fresh[subject] = sum
		} else if rows > r.s.many && len(r.from.Holes) == 0 {
			r.begun[subject] = sum
		}
	})
}

// leaveOutArchived takes out the sums of campaigns whose payouts have left the books: nothing goes on from them.
func leaveOutArchived(ctx context.Context, q sqldb.Querier, sums map[string]checkpoint.Sum) error {
	of := map[string][]string{}
	for subject := range sums {
		if kind, rest, _ := strings.Cut(subject, " "); kind != "account" {
			if at := strings.LastIndexByte(rest, ' '); at >= 0 {
				of[rest[:at]] = append(of[rest[:at]], subject)
			}
		}
	}
	dropped, err := archivedOf(ctx, q, sortedKeys(of))
	for campaign := range dropped {
		for _, subject := range of[campaign] {
			delete(sums, subject)
		}
	}
	return err
}
