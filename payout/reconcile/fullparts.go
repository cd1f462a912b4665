package reconcile

import (
	"context"
	"errors"
	"math"
	"strconv"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// sliceRows is the approximate minimum number of rows in one slice.
const sliceRows = 10_000

// txns checks the transactions in the order of their ids, including ids that only lines or source rows have. A
// transaction that is committed before the current page is left to the next reconciliation.
func (r *fullProof) txns(ctx context.Context) (more bool, err error) {
	after := int64(math.MinInt64)
	if r.after != "" {
		after, _ = strconv.ParseInt(r.after, 10, 64)
	}
	for seen := int64(0); seen < sliceRows; {
		var ids []int64
		err := r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
			var err error
			if ids, err = nextTxns(ctx, tx, after); err != nil || len(ids) == 0 {
				return err
			}
			return checkTxns(ctx, tx, ids, &r.found)
		})
		if err != nil || len(ids) == 0 {
			return false, err
		}
		seen += int64(len(ids)) * r.ofTxn
		r.books.Transactions += int64(len(ids))
		r.progress.Done += int64(len(ids)) * r.ofTxn
		after = ids[len(ids)-1]
		r.after = strconv.FormatInt(after, 10)
	}
	return true, nil
}

// accounts compares a page of balances with their entries, in one snapshot.
func (r *fullProof) accounts(ctx context.Context) (more bool, err error) {
	err = r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		for seen := int64(0); seen < sliceRows; {
			ids, err := nextAccounts(ctx, tx, r.after)
			if more = len(ids) > 0; err != nil || !more {
				return err
			}
			if err := checkAccounts(ctx, tx, ids, &r.found); err != nil {
				return err
			}
			if err := checkOwners(ctx, tx, ids, &r.found); err != nil {
				return err
			}
			seen += int64(len(ids)) * r.ofAccount
			r.books.Accounts += int64(len(ids))
			r.progress.Done += int64(len(ids)) * r.ofAccount
			r.after = ids[len(ids)-1]
		}
		return nil
	})
	return more, err
}

// total sums all balances, in stretches and in one snapshot.
func (r *fullProof) total(ctx context.Context) error {
	return r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		total, err := allBalances(ctx, tx, r.s.stretch)
		if err != nil {
			return err
		}
		if total != 0 {
			r.found.add("all balances", "all balances together are %d, not 0: money has come from nowhere or is gone",
				total)
		}
		return nil
	})
}

// allBalances sums all balances.
func allBalances(ctx context.Context, q sqldb.Querier, stretch int) (total rain.Money, err error) {
	for after, rows := "", stretch; rows == stretch; {
		var sum rain.Money
		_, err := q.First(ctx, []any{&rows, &after, &sum}, "SELECT COUNT(*), COALESCE(MAX(account_id), ''), "+
			"COALESCE(SUM(amount), 0) FROM (SELECT account_id, amount FROM balance WHERE account_id > ? "+
			"ORDER BY account_id LIMIT ?) some", after, stretch)
		if err != nil {
			return 0, err
		}
		total += sum
	}
	return total, nil
}

// withdrawals checks the states and histories of all withdrawals, and compares withdrawals and held wins with their
// accounts.
func (r *fullProof) withdrawals(ctx context.Context) error {
	return r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := checkWithdrawals(ctx, tx, &r.found); err != nil {
			return err
		}
		return checkHeld(ctx, tx, &r.found)
	})
}

// blocks compares the audit with its hashes, and the hashes of all rows with their blocks.
func (r *fullProof) blocks(ctx context.Context) (more bool, err error) {
	if r.walk == nil {
		r.walk = &chain.Walk{SkipTxns: true, Found: r.found.addFault}
	}
	before := r.walk.Rows
	more, err = r.walk.Step(ctx, r.s.db)
	r.progress.Done += r.walk.Rows - before
	return more, err
}

// roots compares the daily roots with the blocks.
func (r *fullProof) roots(ctx context.Context) error {
	return chain.CheckRoots(ctx, r.s.db, func(fault string) {
		r.found.add("an invalid root", "%s", fault)
	})
}

// campaigns reconciles one campaign. Its transactions and balances were checked before.
func (r *fullProof) campaigns(ctx context.Context) (more bool, err error) {
	var id string
	more, err = r.s.db.First(ctx, []any{&id}, "SELECT id FROM campaign WHERE id > ? ORDER BY id LIMIT 1", r.after)
	if err != nil || !more {
		return false, err
	}
	rec, err := r.s.reconcileWith(ctx, id, r.hot, scope{rows: true, seen: func(rows int) {
		r.progress.Done += int64(rows)
		r.report()
	}})
	if errors.Is(err, posting.ErrUnknownCampaign) {
		r.after = id
		return true, nil // deleted meanwhile: the check of the transactions finds its remains
	}
	if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrHot)) {
		return false, err
	}
	r.books.note(id, rec, err)
	if r.o.Each != nil {
		r.o.Each(id, rec, err)
	}
	r.after = id
	return true, nil
}
