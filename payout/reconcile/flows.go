package reconcile

import (
	"redrain/payout/ledger/booking"
)

// flow is the pair of account kinds between which a kind of transaction moves money.
type flow struct{ from, to string }

// flows has every kind of transaction. Reconciliation reports a transaction of any other kind, and a line with
// another kind of account.
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

// sourceTable is a table of source documents: its rows justify transactions.
type sourceTable struct {
	table  string
	column string // the transaction's id; it has an index, and 0 = none. "": the row does not have it
	// query selects the transaction's id, the row's name, kind and owner of the debited account, kind and owner of
	// the credited one, and the amount.
	query string
}

// sources has the source table of each kind of transaction. A transaction must move exactly the amounts of its rows,
// for each account.
var sources = map[string]sourceTable{
	booking.KindDeposit: {"deposit", "txn_id", "SELECT txn_id, reference, '" + booking.KindWorld + "', '', '" +
		booking.KindSponsor + "', sponsor, amount FROM deposit WHERE txn_id IN "},
	// A campaign's row is older than its transaction. The transaction's key names the campaign, and the campaign's
	// own check finds a missing one.
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
