package reconcile_test

// wholeReads are the statements that read as many rows as there are, by package.function, and why they may. They are
// of proofs, rebuilds and rounds: nothing that a player or an operator waits for.
var wholeReads = map[string]string{
	"posting.(*Rebuilds).Top":               "a rebuild reads all that players have won; this is its last part",
	"reconcile.(*campaignCheck).addPayouts": "the proof of a campaign adds up its payouts, 250,000 at once",
	"reconcile.(*campaignCheck).escrowByKind": "the proof of a campaign adds up the lines of its escrow, 250,000 " +
		"at once",
	"chain.(*Block).next":            "a block has up to 10,000 rows, and hashes each of them",
	"chain.readHead":                 "SQLite says SCAN of a read along the primary key that ends at its first row",
	"reconcile.compareAccounts":      "a balance is proved by all lines of its account",
	"reconcile.checkStates":          "the full proof looks at every withdrawal",
	"reconcile.allBalances":          "the full proof adds up all balances",
	"reconcile.checkHeld":            "the full proof compares every win that was held with its payout",
	"ledger.(*Lists).Heads":          "a row for each list; every one of them may have changed",
	"reconcile.(*fullProof).measure": "the full proof says how long it will take",
	"reconcile.checkClearing":        "the proof of everything adds up what is on its way, of all players",
}
