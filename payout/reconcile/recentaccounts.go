package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/checkpoint"
	"redrain/rain"
)

// manyEntries is from how many entries on the sum of an account is carried forward. The entries of other accounts
// are all
// added up, each time that one of them is new: they cannot be changed unseen, and a sum that is kept could be.
const manyEntries = 1_000

// checkAccounts compares the balances of the accounts that were touched.
func (r *recentStep) checkAccounts(ctx context.Context, q sqldb.Querier) error {
	if r.end {
		if err := r.renew(ctx, q); err != nil {
			return err
		}
	}
	for ids := range slices.Chunk(sortedKeys(r.accounts), askedAtOnce) {
		carried, others := r.parted(ids)
		if err := checkAccounts(ctx, q, others, r.found); err != nil {
			return err
		}
		if err := checkOwners(ctx, q, ids, r.found); err != nil {
			return err
		}
		for _, id := range carried {
			r.pending[id] = true
		}
		if !r.end {
			continue
		}
		if err := r.carryMany(ctx, q, others); err != nil {
			return err
		}
	}
	if !r.end {
		return nil // what is carried is as of the links that were read, and a balance is of now
	}
	for ids := range slices.Chunk(sortedKeys(r.pending), askedAtOnce) {
		if err := r.compareCarried(ctx, q, ids); err != nil {
			return err
		}
	}
	return nil
}

// parted are the accounts whose sums are carried forward, and the others.
func (r *recentStep) parted(ids []string) (carried, others []string) {
	for _, id := range ids {
		_, is := r.ahead[checkpoint.Account(id)]
		switch {
		case r.renewed[id]: // compared by renew
		case is || strings.HasPrefix(id, booking.KindEscrow+":"):
			carried = append(carried, id)
		default:
			others = append(others, id)
		}
	}
	return carried, others
}

// compareCarried compares balances with what was carried forward and what has come since.
func (r *recentStep) compareCarried(ctx context.Context, q sqldb.Querier, ids []string) error {
	subjects := map[string][]string{}
	for _, id := range ids {
		campaign, escrow := strings.CutPrefix(id, booking.KindEscrow+":")
		if !escrow {
			subjects[id] = []string{checkpoint.Account(id)}
			continue
		}
		for _, kind := range sortedKeys(flows) {
			subjects[id] = append(subjects[id], checkpoint.Escrow(campaign, kind))
		}
	}
	if err := r.begin(ctx, q, slices.Concat(slices.Collect(maps.Values(subjects))...)); err != nil {
		return err
	}
	sums := map[string]rain.Money{}
	for id, of := range subjects {
		for _, subject := range of {
			sums[id] += r.amount(subject)
		}
		delete(r.pending, id) // unless it does not fit
	}
	var wrong []string
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		var balance rain.Money
		err := scan(&id, &balance)
		if sum := sums[id]; balance != sum {
			r.found.add("a balance that is not its entries", id+" "+delta(balance, sum),
				"the balance of %s is %d, but its entries sum to %d", id, balance, sum)
			r.pending[id] = true
			wrong = append(wrong, id)
		}
		if balance < 0 && !booking.MayOwe(id) {
			r.found.add("an account below zero", id, "the balance of %s is %d", id, balance)
		}
		delete(sums, id)
		return err
	}, "SELECT account_id, amount FROM balance WHERE account_id IN", ids)
	for _, id := range wrong {
		if err := r.addUpAnew(ctx, q, id, subjects[id]); err != nil {
			return err
		}
	}
	return err
}

// addUpAnew finds out whether it is the carried sums of an account that are wrong. They go on from what the rows say.
func (r *recentStep) addUpAnew(ctx context.Context, q sqldb.Querier, id string, subjects []string) error {
	rows := &rowSums{stretch: r.s.stretch}
	for _, subject := range subjects {
		kind := ""
		if strings.HasPrefix(id, booking.KindEscrow+":") {
			kind = subject[strings.LastIndexByte(subject, ' ')+1:]
		}
		is, err := rows.entries(ctx, q, id, kind)
		if err != nil {
			return err
		}
		aside, moved, ahead := r.aside[subject], r.moved[subject], r.ahead[subject]
		want := checkpoint.Sum{Subject: subject}.Plus(is.Rows-aside.Rows-moved.Rows, 0,
			is.Amount-aside.Amount-moved.Amount)
		if want.Rows != ahead.Rows || want.Amount != ahead.Amount {
			r.found.add("a checkpoint that is not whole", notOfItsRows(subject), "%s", notOfItsRows(subject))
			r.anew[subject] = want
		}
	}
	return nil
}

// carryMany begins to carry forward the sums of accounts with many entries, all of which are in the sum: those in holes
// too, so it waits until there are none.
func (r *recentStep) carryMany(ctx context.Context, q sqldb.Querier, ids []string) error {
	if len(r.from.Holes) > 0 {
		return nil
	}
	return sumAccounts(ctx, q, ids, func(id string, rows, amount int64) {
		if rows > r.s.many {
			subject := checkpoint.Account(id)
			r.begun[subject] = checkpoint.Sum{Subject: subject}.Plus(rows, 0, amount)
		}
	})
}

// sumAccounts adds up all entries of accounts.
func sumAccounts(ctx context.Context, q sqldb.Querier, ids []string, each func(id string, rows, amount int64)) error {
	return sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		var rows, amount int64
		err := scan(&id, &rows, &amount)
		each(id, rows, amount)
		return err
	}, "SELECT b.account_id, (SELECT COUNT(*) FROM entry e WHERE e.account_id = b.account_id), (SELECT "+
		"COALESCE(SUM(e.amount), 0) FROM entry e WHERE e.account_id = b.account_id) FROM balance b "+
		"WHERE b.account_id IN", ids)
}
