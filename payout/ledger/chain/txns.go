package chain

import (
	"bytes"
	"context"
	"strings"

	"redrain/internal/sqldb"
)

// txnRow is a transaction with its stored hash.
type txnRow struct {
	id, at    int64
	kind, key string
	papers    []byte // stored hash of the source documents
	hash      []byte
	is        Hash // present hash of the source documents; zero if there are none
	content   Content
}

// CheckTxns compares transactions, with their lines and source documents, with their stored hashes. It calls found
// for each that differs. It ignores ids without a transaction.
func CheckTxns(ctx context.Context, q sqldb.Querier, ids []int64, found func(Fault)) error {
	txns, err := readTxns(ctx, q, ids)
	if err != nil {
		return err
	}
	var removed map[string]bool // campaigns whose payouts were exported and removed
	var campaigns []string
	for _, t := range txns {
		if !bytes.Equal(t.is[:], t.papers) && t.kind == "pay" {
			campaigns = append(campaigns, campaignOf(t.key))
		}
	}
	if len(campaigns) > 0 {
		if removed, err = Removed(ctx, q, campaigns); err != nil {
			return err
		}
	}
	for _, t := range txns {
		same := bytes.Equal(t.is[:], t.papers) || t.kind == "pay" && removed[campaignOf(t.key)]
		if is := t.content.Sum(); !same || !bytes.Equal(is[:], t.hash) {
			found(Fault{Txns, t.id, t.key, "is not what was hashed: it, its lines or its papers were changed"})
		}
	}
	return nil
}

// readTxns reads transactions with their lines and source documents. Missing ids are skipped.
func readTxns(ctx context.Context, q sqldb.Querier, ids []int64) ([]*txnRow, error) {
	byID := map[int64]*txnRow{}
	kinds := map[string][]int64{}
	txns, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (*txnRow, error) {
		t := &txnRow{}
		err := scan(&t.id, &t.kind, &t.key, &t.at, &t.papers, &t.hash)
		byID[t.id] = t
		kinds[t.kind] = append(kinds[t.kind], t.id)
		return t, err
	}, "SELECT id, kind, idem_key, created_at, papers, hash FROM txn WHERE id IN "+sqldb.Marks(len(ids))+" ORDER BY id",
		sqldb.Args(ids)...)
	if err != nil || len(txns) == 0 {
		return nil, err
	}
	for kind, of := range kinds {
		sums, err := readPapers(ctx, q, kind, of)
		if err != nil {
			return nil, err
		}
		for id, sum := range sums {
			byID[id].is = sum
		}
	}
	for _, t := range txns {
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

// campaignOf returns the campaign of a payment by its key.
func campaignOf(key string) string {
	campaign, _, _ := strings.Cut(strings.TrimPrefix(key, "pay:"), ".")
	return campaign
}

// Removed returns the campaigns whose payouts were removed after an export.
func Removed(ctx context.Context, q sqldb.Querier, campaigns []string) (map[string]bool, error) {
	removed, err := sqldb.PairsIn[string, bool](ctx, q, "SELECT campaign_id, 1 FROM archive WHERE campaign_id IN",
		campaigns)
	return removed, sqldb.Wrap(err, "read removed campaigns")
}
