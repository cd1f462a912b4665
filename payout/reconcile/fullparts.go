package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// sliceRows is the approximate minimum number of rows in one slice.
const sliceRows = 10_000

// txns checks the transactions in the order of their ids, including ids that only lines or source rows have. A
// transaction that commits late with a lower id is checked next time.
func (r *fullProof) txns(ctx context.Context, q sqldb.Querier) (more bool, err error) {
	for seen := int64(0); seen < sliceRows; {
		ids, err := nextTxns(ctx, q, r.afterTxn)
		if err != nil || len(ids) == 0 {
			return false, err
		}
		if err := checkTxns(ctx, q, ids, &r.found); err != nil {
			return false, err
		}
		seen += r.note(&r.books.Transactions, len(ids), r.ofTxn)
		r.afterTxn = ids[len(ids)-1]
	}
	return true, nil
}

// nextTxns returns the next transaction ids in all tables. A source row with id 0 moved no money.
func nextTxns(ctx context.Context, q sqldb.Querier, after int64) (ids []int64, err error) {
	queries := []string{
		"SELECT id FROM txn WHERE id > ? ORDER BY id LIMIT ?",
		"SELECT DISTINCT txn_id FROM entry WHERE txn_id > ? ORDER BY txn_id LIMIT ?",
	}
	for kind, s := range sources {
		if kind != booking.KindFund {
			queries = append(queries, "SELECT DISTINCT "+s.id+" FROM "+s.rows+" WHERE "+s.id+" > ? AND "+s.id+
				" > 0 ORDER BY "+s.id+" LIMIT ?")
		}
	}
	for _, query := range queries {
		next, err := sqldb.Column[int64](ctx, q, query, after, txnsAtOnce)
		if err != nil {
			return nil, err
		}
		ids = append(ids, next...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), txnsAtOnce)], nil
}

// note adds n to rows, and n rows, weighted by each, to the progress.
func (r *fullProof) note(rows *int64, n int, each int64) (seen int64) {
	seen = int64(n) * each
	*rows += int64(n)
	r.progress.Done += seen
	return seen
}

// accounts compares balances with their entries.
func (r *fullProof) accounts(ctx context.Context, q sqldb.Querier) (more bool, err error) {
	for seen := int64(0); seen < sliceRows; {
		ids, err := sqldb.Column[string](ctx, q,
			"SELECT account_id FROM balance WHERE account_id > ? ORDER BY account_id LIMIT ?", r.after, sqldb.Chunk)
		if err != nil || len(ids) == 0 {
			return false, err
		}
		if err := errors.Join(checkAccounts(ctx, q, ids, &r.found), checkOwners(ctx, q, ids, &r.found)); err != nil {
			return false, err
		}
		seen += r.note(&r.books.Accounts, len(ids), r.ofAccount)
		r.after = ids[len(ids)-1]
	}
	return true, nil
}

// checkOwners finds balances whose id names no account, and escrows without a campaign. An account without a balance
// is found by its entries.
func checkOwners(ctx context.Context, q sqldb.Querier, ids []string, found *findings) error {
	var escrows []string
	for _, id := range ids {
		switch kind, owner, _ := strings.Cut(id, ":"); kind {
		case booking.KindEscrow:
			escrows = append(escrows, owner)
		case booking.KindWorld, booking.KindSponsor, booking.KindUser, booking.KindClearing, booking.KindHeld:
		default:
			found.add("a balance without an account", "there is a balance of %s, which names no account", id)
		}
	}
	campaigns, err := sqldb.Column[string](ctx, q, "SELECT id FROM campaign WHERE id IN "+sqldb.Marks(len(escrows)),
		sqldb.Args(escrows)...)
	if err != nil {
		return err
	}
	for _, owner := range escrows {
		if !slices.Contains(campaigns, owner) {
			id := booking.EscrowAccount(owner).ID()
			found.add("an escrow of no campaign", "there is an account %s, but no such campaign", id)
		}
	}
	return nil
}

// total sums all balances, in stretches.
func (r *fullProof) total(ctx context.Context, q sqldb.Querier) error {
	var total, sum rain.Money
	for after, rows := "", r.s.stretch; rows == r.s.stretch; total += sum {
		_, err := q.First(ctx, []any{&rows, &after, &sum}, "SELECT COUNT(*), COALESCE(MAX(account_id), ''), "+
			"COALESCE(SUM(amount), 0) FROM (SELECT account_id, amount FROM balance WHERE account_id > ? "+
			"ORDER BY account_id LIMIT ?) some", after, r.s.stretch)
		if err != nil {
			return err
		}
	}
	if total != 0 {
		r.found.add("all balances", "all balances together are %d, not 0: money has come from nowhere or is gone",
			total)
	}
	return nil
}

// blocks compares the audit with its hashes, and the hashes of all rows with their blocks.
func (r *fullProof) blocks(ctx context.Context) (more bool, err error) {
	before := r.walk.Rows
	more, err = r.walk.Step(ctx, r.s.db)
	r.progress.Done += r.walk.Rows - before
	return more, err
}

// campaigns reconciles one campaign. Its transactions and balances were checked before.
func (r *fullProof) campaigns(ctx context.Context) (more bool, err error) {
	var id string
	more, err = r.s.db.First(ctx, []any{&id}, "SELECT id FROM campaign WHERE id > ? ORDER BY id LIMIT 1", r.after)
	if err != nil || !more {
		return false, err
	}
	rec, err := r.s.reconcile(ctx, id, r.live, scope{rows: true, seen: func(rows int) {
		r.progress.Done += int64(rows)
		r.report()
	}})
	if errors.Is(err, posting.ErrUnknownCampaign) {
		r.after = id
		return true, nil // deleted meanwhile: the check of the transactions finds its remains
	}
	if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrLiveState)) {
		return false, err
	}
	r.books.note(id, rec, err)
	if r.o.Each != nil {
		r.o.Each(id, rec, err)
	}
	r.after = id
	return true, nil
}
