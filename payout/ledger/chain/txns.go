package chain

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"redrain/internal/sqldb"
)

// txnRow is a transaction as it is in the database.
type txnRow struct {
	id, at    int64
	kind, key string
	hash      []byte
	papers    Hash
	hasPapers bool
	content   Content
}

// CheckTxns compares transactions, with their lines and papers, with the hashes that were written with them, and calls
// found with the name of each that differs. It says nothing about ids without a transaction.
func CheckTxns(ctx context.Context, q sqldb.Querier, ids []int64, found func(Fault)) error {
	txns, err := readTxns(ctx, q, ids)
	if err != nil {
		return err
	}
	var differ []*txnRow
	for _, t := range txns {
		if is := t.content.Sum(); string(is[:]) != string(t.hash) {
			differ = append(differ, t)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	removed, err := removedOf(ctx, q, differ)
	if err != nil {
		return err
	}
	for _, t := range differ {
		if !t.hasPapers && removed[campaignOf(t.kind, t.key)] {
			continue // its payouts are in the campaign's export, and nobody can hash them here
		}
		found(Fault{Txns, t.id, t.key, "is not what was hashed: it, its lines or its papers were changed"})
	}
	return nil
}

// readTxns reads transactions with their lines and papers. Those without a transaction are missing in the answer.
func readTxns(ctx context.Context, q sqldb.Querier, ids []int64) ([]*txnRow, error) {
	byID := map[int64]*txnRow{}
	kinds := map[string][]int64{}
	txns, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (*txnRow, error) {
		t := &txnRow{}
		err := scan(&t.id, &t.kind, &t.key, &t.at, &t.hash)
		byID[t.id] = t
		kinds[t.kind] = append(kinds[t.kind], t.id)
		return t, err
	}, "SELECT id, kind, idem_key, created_at, hash FROM txn WHERE id IN "+sqldb.Marks(len(ids))+" ORDER BY id",
		sqldb.Args(ids)...)
	if err != nil || len(txns) == 0 {
		return nil, err
	}
	papers := map[int64]Hash{}
	for kind, of := range kinds {
		sums, err := readPapers(ctx, q, kind, of)
		if err != nil {
			return nil, err
		}
		maps.Copy(papers, sums)
	}
	for _, t := range txns {
		t.papers, t.hasPapers = papers[t.id]
		t.content.Txn(t.kind, t.key, t.at, t.papers)
	}
	return txns, q.Each(ctx, func(scan sqldb.Scan) error {
		var id, line, amount int64
		var account string
		err := scan(&id, &line, &account, &amount)
		if t := byID[id]; t != nil {
			t.content.Int(line)
			t.content.Text(account)
			t.content.Int(amount)
		}
		return err
	}, "SELECT txn_id, line_no, account_id, amount FROM entry WHERE txn_id IN "+sqldb.Marks(len(ids))+
		" ORDER BY txn_id, line_no", sqldb.Args(ids)...)
}

// campaignOf is the campaign that a payment is of, by its key; "" for any other transaction.
func campaignOf(kind, key string) string {
	if kind != "pay" {
		return ""
	}
	campaign, _, _ := strings.Cut(strings.TrimPrefix(key, "pay:"), ".")
	return campaign
}

// removedOf are the campaigns of transactions whose payouts were removed after an export.
func removedOf(ctx context.Context, q sqldb.Querier, txns []*txnRow) (map[string]bool, error) {
	var campaigns []string
	for _, t := range txns {
		if campaign := campaignOf(t.kind, t.key); campaign != "" && !t.hasPapers {
			campaigns = append(campaigns, campaign)
		}
	}
	return Removed(ctx, q, campaigns)
}

// Removed are those of some campaigns whose payouts were removed after an export.
func Removed(ctx context.Context, q sqldb.Querier, campaigns []string) (map[string]bool, error) {
	removed := map[string]bool{}
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		err := scan(&id)
		removed[id] = true
		return err
	}, "SELECT campaign_id FROM archive WHERE campaign_id IN", campaigns)
	if err != nil {
		return nil, fmt.Errorf("reading removed campaigns: %w", err)
	}
	return removed, nil
}
