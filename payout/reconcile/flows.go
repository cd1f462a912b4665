package reconcile

import (
	"redrain/payout/ledger/booking"
)

// flow is between which kinds of account a kind of transaction moves money.
type flow struct{ from, to string }

// flows has every kind of transaction. Reconciliation names a transaction of any other kind, and a line that takes
// from or gives to another kind of account.
var flows = map[string]flow{
	booking.KindDeposit:  {from: booking.KindWorld, to: booking.KindSponsor},
	booking.KindFund:     {from: booking.KindSponsor, to: booking.KindEscrow},
	booking.KindPay:      {from: booking.KindEscrow, to: booking.KindUser},
	booking.KindReclaim:  {from: booking.KindEscrow, to: booking.KindSponsor},
	booking.KindWithdraw: {from: booking.KindUser, to: booking.KindClearing},
	booking.KindPaid:     {from: booking.KindClearing, to: booking.KindWorld},
	booking.KindReturn:   {from: booking.KindClearing, to: booking.KindUser},
	booking.KindHold:     {from: booking.KindUser, to: booking.KindHeld},
	booking.KindRelease:  {from: booking.KindHeld, to: booking.KindUser},
	booking.KindConfirm:  {from: booking.KindHeld, to: booking.KindSponsor},
}

// sourceTable is a table whose rows say what transactions were for.
type sourceTable struct {
	table  string
	column string // the transaction's number; it has an index, and 0 stands for none. "": the row does not know it
	// query selects, for transactions: the number, what the row is called, the kind and the owner of the account
	// that gives, the same of the one that gets, and the amount.
	query string
}

// sources has the source table of each kind of transaction: a transaction moves exactly what the rows say, account by
// account.
var sources = map[string]sourceTable{
	booking.KindDeposit: {"deposit", "txn_id", "SELECT txn_id, reference, '" + booking.KindWorld + "', '', '" +
		booking.KindSponsor + "', sponsor, amount FROM deposit WHERE txn_id IN "},
	// A campaign's row is older than its transaction: that names the campaign, and the campaign's own check looks
	// for it.
	booking.KindFund: {"campaign", "", "SELECT t.id, c.id, '" + booking.KindSponsor + "', c.sponsor, '" +
		booking.KindEscrow + "', c.id, c.budget FROM txn t JOIN campaign c ON c.id = SUBSTR(t.idem_key, 6) " +
		"AND t.idem_key = CONCAT('fund:', c.id) WHERE t.kind = '" + booking.KindFund + "' AND t.id IN "},
	booking.KindPay: {"payout", "txn_id", "SELECT txn_id, claim, '" + booking.KindEscrow + "', campaign_id, '" +
		booking.KindUser + "', user_id, amount FROM payout WHERE txn_id IN "},
	booking.KindReclaim: {"reclaim", "txn_id", "SELECT r.txn_id, 'the rest of a shard', '" + booking.KindEscrow +
		"', r.campaign_id, '" + booking.KindSponsor + "', " +
		"COALESCE(c.sponsor, '?'), r.amount FROM reclaim r LEFT JOIN campaign c ON c.id = r.campaign_id " +
		"WHERE r.txn_id IN "},
	booking.KindWithdraw: {"withdrawal", "txn_id", "SELECT txn_id, id, '" + booking.KindUser + "', user_id, '" +
		booking.KindClearing + "', user_id, amount FROM withdrawal WHERE txn_id IN "},
	booking.KindPaid: {"withdrawal", "paid_id", "SELECT paid_id, id, '" + booking.KindClearing + "', user_id, '" +
		booking.KindWorld + "', '', amount FROM withdrawal WHERE paid_id IN "},
	booking.KindReturn: {"withdrawal", "return_id", "SELECT return_id, id, '" + booking.KindClearing +
		"', user_id, '" + booking.KindUser + "', user_id, amount FROM withdrawal WHERE return_id IN "},
	booking.KindHold: {"held", "hold_id", "SELECT hold_id, claim, '" + booking.KindUser + "', user_id, '" +
		booking.KindHeld + "', user_id, amount FROM held WHERE hold_id IN "},
	booking.KindRelease: {"held", "release_id", "SELECT release_id, claim, '" + booking.KindHeld + "', user_id, '" +
		booking.KindUser + "', user_id, amount FROM held WHERE release_id IN "},
	booking.KindConfirm: {"held", "confirm_id", "SELECT h.confirm_id, h.claim, '" + booking.KindHeld +
		"', h.user_id, '" + booking.KindSponsor + "', COALESCE(c.sponsor, '?'), h.amount FROM held h " +
		"LEFT JOIN campaign c ON c.id = h.campaign_id WHERE h.confirm_id IN "},
}
