package reconcile

import (
	"redrain/payout/ledger/booking"
)

// flow is between which kinds of account a kind of transaction moves money.
type flow struct{ from, to string }

// flows has every kind of transaction. Reconciliation names a transaction of any other kind, and a line that takes
// from or gives to another kind of account.
var flows = map[string]flow{
	booking.KindDeposit:  {booking.KindWorld, booking.KindSponsor},
	booking.KindFund:     {booking.KindSponsor, booking.KindEscrow},
	booking.KindPay:      {booking.KindEscrow, booking.KindUser},
	booking.KindReclaim:  {booking.KindEscrow, booking.KindSponsor},
	booking.KindWithdraw: {booking.KindUser, booking.KindWorld},
	booking.KindReturn:   {booking.KindWorld, booking.KindUser},
}

// paper is a table whose rows say what transactions were for.
type paper struct {
	table  string
	column string // the transaction's number; it has an index, and 0 stands for none
	// query selects, for transactions: the number, what the row is called, the kind and the owner of the account
	// that gives, the same of the one that gets, and the amount.
	query string
}

// papers has the papers of each kind of transaction that has some: it moves exactly what they say, account by account.
// A transaction of another kind has none.
var papers = map[string]paper{
	booking.KindPay: {"payout", "txn_id", "SELECT txn_id, claim, '" + booking.KindEscrow + "', campaign_id, '" +
		booking.KindUser + "', user_id, amount FROM payout WHERE txn_id IN "},
	booking.KindReclaim: {"reclaim", "txn_id", "SELECT r.txn_id, 'the rest of a shard', '" + booking.KindEscrow +
		"', r.campaign_id, '" + booking.KindSponsor + "', " +
		"COALESCE(c.sponsor, '?'), r.amount FROM reclaim r LEFT JOIN campaign c ON c.id = r.campaign_id " +
		"WHERE r.txn_id IN "},
	booking.KindWithdraw: {"withdrawal", "txn_id", "SELECT txn_id, id, '" + booking.KindUser + "', user_id, '" +
		booking.KindWorld + "', '', amount " +
		"FROM withdrawal WHERE txn_id IN "},
	booking.KindReturn: {"withdrawal", "return_id",
		"SELECT return_id, id, '" + booking.KindWorld + "', '', '" + booking.KindUser + "', user_id, amount " +
			"FROM withdrawal WHERE return_id IN "},
}
