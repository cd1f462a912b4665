package reconcile

import (
	"context"

	"redrain/internal/sqldb"
	ledgerchain "redrain/payout/ledger/chain"
)

// addBreak notes a place at which a chain is not whole.
func (f *findings) addBreak(at ledgerchain.Break) {
	f.add("a chain that is broken", at.String(), "%s", at)
}

// checkLinks holds transactions of the campaign against their links of the chain, where that is asked for.
func (r *campaignCheck) checkLinks(ctx context.Context, q sqldb.Querier, ids []int64) error {
	if !r.look.chained {
		return nil
	}
	return oneByOne(ids,
		func(ids []int64) error { return ledgerchain.CheckTxns(ctx, q, ids, r.found.addBreak) },
		func(int64, error) {}) // checkTxnPage has named it
}
