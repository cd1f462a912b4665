package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// maxListed is how many campaigns a reconciliation of everything lists.
const maxListed = 500

// Books is a reconciliation of everything.
type Books struct {
	Balanced     bool              `json:"balanced"`     // every campaign was checked, and nothing is wrong anywhere
	Difference   rain.Money        `json:"difference"`   // of all campaigns together, each without its sign
	Checked      int               `json:"checked"`      // campaigns that were looked at
	Unbalanced   int               `json:"unbalanced"`   // campaigns in which something is wrong
	Transactions int64             `json:"transactions"` // that were looked at
	Accounts     int64             `json:"accounts"`     // that were looked at
	Campaigns    []CampaignBooks   `json:"campaigns"`    // the first of those in which something is wrong
	Unchecked    []CampaignProblem `json:"unchecked"`    // the first of those whose Redis could not be read
	Findings     []string          `json:"findings"`     // what is wrong with the ledger itself
	Letters      []string          `json:"letters"`      // all dead letters that wait for a person, in words
	CheckedAt    int64             `json:"checked_at"`   // Unix ms, when it was done

	// Fingerprint is the same for two reconciliations that have found the same faults in the ledger itself.
	Fingerprint string `json:"-"`

	unchecked int
}

// CampaignBooks is the reconciliation of one campaign among others.
type CampaignBooks struct {
	Campaign string `json:"campaign"`
	Reconciliation
}

// CampaignProblem says why a campaign could not be checked.
type CampaignProblem struct {
	Campaign string `json:"campaign"`
	Reason   string `json:"reason"`
}

// ReconcileAll checks the whole ledger: every transaction with its lines and its source rows, every balance with its
// entries, that all balances sum to zero, and every campaign, the drained ones too. It reads in pages, each as of
// one moment, and may run while everything goes on. It takes minutes where there are millions of rows, and little
// memory.
//
// each, where it is not nil, hears of every campaign, also of one whose Redis could not be read: then the error is
// ErrHot. The error of ReconcileAll is the database's.
func (s *Reconciler) ReconcileAll(ctx context.Context, hot Hot,
	each func(campaign string, r Reconciliation, err error)) (Books, error) {
	b := Books{Campaigns: []CampaignBooks{}, Unchecked: []CampaignProblem{}, Findings: []string{}}
	var found findings
	err := s.checkAllTxns(ctx, &b, &found)
	if err == nil {
		err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
			return checkAllAccounts(ctx, tx, &b, &found)
		})
	}
	if err == nil {
		err = checkWithdrawals(ctx, s.db, &found)
	}
	if err == nil {
		b.Letters, err = allLetters(ctx, s.db)
	}
	if err == nil {
		err = s.checkAllCampaigns(ctx, hot, &b, each)
	}
	if err != nil {
		return Books{}, fmt.Errorf("reconciling everything: %w", err)
	}
	b.Findings = append(b.Findings, found.all()...)
	b.Balanced = b.Unbalanced == 0 && b.unchecked == 0 && len(b.Findings) == 0
	b.CheckedAt = s.clock()
	b.Fingerprint = found.fingerprint("")
	s.gauge.note("", fault{findings: len(b.Findings)})
	return b, nil
}

// checkAllTxns goes through all transactions in the order of their numbers, those too of which only lines or source
// rows are left. They begin with 1; a row with the number 0 says that it moved no money. One that is committed
// behind the page in hand is left for the next time.
func (s *Reconciler) checkAllTxns(ctx context.Context, b *Books, found *findings) error {
	for after := int64(0); ; {
		var ids []int64
		err := s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
			var err error
			if ids, err = nextTxns(ctx, tx, after); err != nil || len(ids) == 0 {
				return err
			}
			return checkTxnPage(ctx, tx, ids, found)
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		b.Transactions += int64(len(ids))
		after = ids[len(ids)-1]
	}
}

// nextTxns are the next numbers of transactions, wherever they are found.
func nextTxns(ctx context.Context, q sqldb.Querier, after int64) ([]int64, error) {
	queries := []string{
		"SELECT id FROM txn WHERE id > ? ORDER BY id LIMIT ?",
		"SELECT DISTINCT txn_id FROM entry WHERE txn_id > ? ORDER BY txn_id LIMIT ?",
	}
	for _, p := range sources {
		queries = append(queries, "SELECT DISTINCT "+p.column+" FROM "+p.table+
			" WHERE "+p.column+" > ? ORDER BY "+p.column+" LIMIT ?")
	}
	return merged(ctx, q, queries, after, askedAtOnce)
}

// merged is the first limit of what several queries for one ordered column find after a value.
func merged[T cmp.Ordered](ctx context.Context, q sqldb.Querier, queries []string, after T, limit int) ([]T, error) {
	var all []T
	for _, query := range queries {
		next, err := sqldb.Column[T](ctx, q, query, after, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, next...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), limit)], nil
}

// checkAllAccounts compares all balances with their entries, all as of one moment: only then do they sum to zero.
func checkAllAccounts(ctx context.Context, q sqldb.Querier, b *Books, found *findings) error {
	var total rain.Money
	for after := ""; ; {
		ids, err := nextAccounts(ctx, q, after)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		sum, err := checkAccounts(ctx, q, ids, found)
		if err != nil {
			return err
		}
		if err := checkOwners(ctx, q, ids, found); err != nil {
			return err
		}
		total += sum
		b.Accounts += int64(len(ids))
		after = ids[len(ids)-1]
	}
	if total != 0 {
		found.add("all balances", delta(total, 0),
			"all balances together are %d, not 0: money has come from nowhere or is gone", total)
	}
	return nil
}

func nextAccounts(ctx context.Context, q sqldb.Querier, after string) ([]string, error) {
	return merged(ctx, q, []string{
		"SELECT id FROM account WHERE id > ? ORDER BY id LIMIT ?",
		"SELECT account_id FROM balance WHERE account_id > ? ORDER BY account_id LIMIT ?",
	}, after, sqldb.Chunk)
}

// checkOwners looks for balances without an account or entries, accounts that are named wrongly, and escrows of no
// campaign.
func checkOwners(ctx context.Context, q sqldb.Querier, ids []string, found *findings) error {
	owners := map[string]booking.Account{}
	var escrows []string
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var a booking.Account
		err := scan(&id, &a.Kind, &a.Owner)
		owners[id] = a
		if a.Kind == booking.KindEscrow {
			escrows = append(escrows, a.Owner)
		}
		return err
	}, "SELECT id, owner_type, owner_id FROM account WHERE id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...)
	if err != nil {
		return err
	}
	campaigns, err := sqldb.Column[string](ctx, q, "SELECT id FROM campaign WHERE id IN "+sqldb.Marks(len(escrows)),
		sqldb.Args(escrows)...)
	for _, id := range ids {
		switch a, known := owners[id]; {
		case !known:
			found.add("a balance without an account", id, "there is a balance of %s, but no such account", id)
		case a.ID() != id:
			found.add("a misnamed account", id, "the account %s says that it is %s", id, a.ID())
		case a.Kind == booking.KindEscrow && !slices.Contains(campaigns, a.Owner):
			found.add("an escrow of no campaign", id, "there is an account %s, but no such campaign", id)
		}
	}
	return err
}

// checkAllCampaigns reconciles one campaign after the other. Their transactions and balances have been checked before.
func (s *Reconciler) checkAllCampaigns(ctx context.Context, hot Hot, b *Books,
	each func(string, Reconciliation, error)) error {
	for after := ""; ; {
		ids, err := sqldb.Column[string](ctx, s.db, "SELECT id FROM campaign WHERE id > ? ORDER BY id LIMIT ?", after,
			sqldb.Chunk)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			r, err := s.reconcileWith(ctx, id, hot, look{rows: true})
			if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrHot)) {
				return err
			}
			b.note(id, r, err)
			if each != nil {
				each(id, r, err)
			}
		}
		after = ids[len(ids)-1]
	}
}

func (b *Books) note(id string, r Reconciliation, err error) {
	if err != nil {
		if b.unchecked++; b.unchecked <= maxListed {
			b.Unchecked = append(b.Unchecked, CampaignProblem{id, err.Error()})
		}
		return
	}
	b.Checked++
	if r.Balanced {
		return
	}
	if b.Unbalanced++; b.Unbalanced <= maxListed {
		b.Campaigns = append(b.Campaigns, CampaignBooks{id, r})
	}
	b.Difference += abs(r.Difference)
}

// ForgetReconciliations sets the figures of what was found to zero. It is for a node that has stopped reconciling
// because another has begun to.
func (s *Reconciler) ForgetReconciliations() { s.gauge.forget() }
