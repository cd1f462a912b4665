package reconcile

import (
	ledgerchain "redrain/payout/ledger/chain"
)

// addBreak notes a place at which a chain is not whole.
func (f *findings) addBreak(at ledgerchain.Break) {
	f.add("a chain that is broken", at.String(), "%s", at)
}
