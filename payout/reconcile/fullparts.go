package reconcile

import (
	"context"
	"errors"
	"strconv"

	"redrain/internal/sqldb"
	ledgerchain "redrain/payout/ledger/chain"
	"redrain/payout/ledger/history"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

var historyKinds = history.Kinds

// sliceRows is about how many rows, at least, one slice reads.
const sliceRows = 10_000

// txns goes through the transactions in the order of their numbers, those too of which only lines or source rows are
// left. They begin with 1; a row with the number 0 says that it moved no money. One that is committed behind the
// page in
// hand is left for the next time.
func (r *fullProof) txns(ctx context.Context) (more bool, err error) {
	after, _ := strconv.ParseInt(r.at.After, 10, 64)
	for seen := int64(0); seen < sliceRows; {
		var ids []int64
		err := r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
			var err error
			if ids, err = nextTxns(ctx, tx, after); err != nil || len(ids) == 0 {
				return err
			}
			return checkTxnPage(ctx, tx, ids, &r.found)
		})
		if err != nil || len(ids) == 0 {
			return false, err
		}
		seen += int64(len(ids)) * r.ofTxn
		r.at.Books.Transactions += int64(len(ids))
		r.progress.Done += int64(len(ids)) * r.ofTxn
		after = ids[len(ids)-1]
		r.at.After = strconv.FormatInt(after, 10)
	}
	return true, nil
}

// accounts compares some balances with their entries, as of one moment.
func (r *fullProof) accounts(ctx context.Context) (more bool, err error) {
	err = r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		for seen := int64(0); seen < sliceRows; {
			ids, err := nextAccounts(ctx, tx, r.at.After)
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
			r.at.Books.Accounts += int64(len(ids))
			r.progress.Done += int64(len(ids)) * r.ofAccount
			r.at.After = ids[len(ids)-1]
		}
		return nil
	})
	return more, err
}

// total adds up all balances, in stretches and as of one moment.
func (r *fullProof) total(ctx context.Context) error {
	return r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		total, err := allBalances(ctx, tx, r.s.stretch)
		if err != nil {
			return err
		}
		if total != 0 {
			r.found.add("all balances", delta(total, 0),
				"all balances together are %d, not 0: money has come from nowhere or is gone", total)
		}
		return nil
	})
}

// allBalances adds up all balances.
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

// withdrawals looks at the states and histories of all withdrawals, at all that is on its way, and at what is kept
// apart.
func (r *fullProof) withdrawals(ctx context.Context) error {
	return r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := checkWithdrawals(ctx, tx, &r.found); err != nil {
			return err
		}
		return checkHeld(ctx, tx, &r.found)
	})
}

// histories holds some campaigns, withdrawals or dead letters against their histories.
func (r *fullProof) histories(ctx context.Context, kind history.Kind) (more bool, err error) {
	for seen := 0; seen < sliceRows; {
		var ids []string
		err := r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
			if ids, err = merged(ctx, tx, history.Next(kind), r.at.After, askedAtOnce); err != nil || len(ids) == 0 {
				return err
			}
			return checkHistoriesOf(ctx, tx, kind, ids, &r.found)
		})
		if err != nil || len(ids) == 0 {
			return false, err
		}
		seen += len(ids)
		r.progress.Done += int64(len(ids))
		r.at.After = ids[len(ids)-1]
	}
	return true, nil
}

// chains goes along the chains from their beginnings, and names each row that is not what was chained.
func (r *fullProof) chains(ctx context.Context) (more bool, err error) {
	err = r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		rows := int64(0)
		walked, end, err := ledgerchain.Advance(ctx, tx, ledgerchain.MarksOf(r.at.Ends), max(sliceRows/r.ofTxn, 1),
			func(book string, _ int64) {
				if rows++; book == ledgerchain.Txns {
					rows += r.ofTxn - 1
				}
			}, r.found.addBreak)
		if err == nil {
			more, r.at.Ends = !end, walked.Marks.Ends()
			r.progress.Done += rows
		}
		return err
	})
	return more, err
}

// checkpoints holds the roots of the chains and the checkpoints against the chains.
func (r *fullProof) checkpoints(ctx context.Context) error {
	err := ledgerchain.CheckRoots(ctx, r.s.db, 0, func(fault string) {
		r.found.add("a root that is not whole", fault, "%s", fault)
	})
	if err != nil {
		return err
	}
	return r.s.checkCheckpoints(ctx, &r.found)
}

// campaigns reconciles one campaign. Its transactions and balances have been checked before.
func (r *fullProof) campaigns(ctx context.Context) (more bool, err error) {
	var id string
	more, err = r.s.db.First(ctx, []any{&id}, "SELECT id FROM campaign WHERE id > ? ORDER BY id LIMIT 1", r.at.After)
	if err != nil || !more {
		return false, err
	}
	rec, err := r.s.reconcileWith(ctx, id, r.hot, look{rows: true, seen: func(rows int) {
		r.progress.Done += int64(rows)
		r.tell()
	}})
	if errors.Is(err, posting.ErrUnknownCampaign) {
		r.at.After = id
		return true, nil // deleted meanwhile: what it leaves behind is found with the transactions
	}
	if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrHot)) {
		return false, err
	}
	r.at.Books.note(id, rec, err)
	if r.o.Each != nil {
		r.o.Each(id, rec, err)
	}
	r.at.After = id
	return true, nil
}
