package reconcile_test

import (
	"slices"

	"redrain/payout/paytest"
	"redrain/rain"
)

// edit is an edit of the books.
type edit struct {
	sql   string
	redis func(*paytest.FakeShard) // to shard 0
	// names are the findings of both reconciliations, global those of the full one only.
	names, global []string
}

// byBoth is an edit of SQL that both reconciliations must name.
func byBoth(sql string, names ...string) edit { return edit{sql: sql, names: names} }

// byAll is an edit of SQL that only the reconciliation of everything can see.
func byAll(sql string, names ...string) edit { return edit{sql: sql, global: names} }

// inRedis is an edit to shard 0 in Redis, which both reconciliations must name.
func inRedis(do func(*paytest.FakeShard), names ...string) edit { return edit{redis: do, names: names} }

// The campaign: packets 0 to 9 in shard 0, 10 to 19 in shard 1. Transaction 1 is the deposit, 2 the funding.
// Transaction 3 pays packets 0, 1 and 2 to u1, u5 and u3. Transaction 4 pays packet 10 to v, and 5 reclaims the rest of
// shard 1. u7's packet 3 is in the outbox.
var edits = map[string]edit{
	"a balance": {
		sql:    "UPDATE balance SET amount = amount + 1 WHERE account_id = 'user:u1'",
		names:  []string{"the balance of user:u1 is 51, but its entries sum to 50"},
		global: []string{"all balances together are 1"},
	},
	"a payout with all that follows from it": byBoth("UPDATE entry SET amount = amount + 1 WHERE account_id = "+
		"'user:u5'; UPDATE entry SET amount = amount - 1 WHERE account_id = 'escrow:c1' AND txn_id = 3;UPDATE "+
		"payout SET amount = amount + 1 WHERE packet = 1; UPDATE balance SET amount = amount + 1 WHERE "+
		"account_id = 'user:u5';UPDATE balance SET amount = amount - 1 WHERE account_id = 'escrow:c1'; UPDATE "+
		"campaign_tally SET amount_paid = amount_paid + 1",
		"payout of packet 1 (claim c1-1, player u5, amount 51, transaction 3): the split says 50"),
	"two payouts, so that the sums stay": byBoth("UPDATE payout SET amount = amount + 1 WHERE packet = 1; UPDATE "+
		"payout SET amount = amount - 1 WHERE packet = 0", "claim c1-1", "claim c1-0",
		"user:u1 gets 50, but should be 49 by c1-0"),
	"a payout's player, with all that follows from it": byBoth("UPDATE entry SET account_id = 'user:v' WHERE "+
		"account_id = 'user:u5'; UPDATE payout SET user_id = 'v' WHERE packet = 1;UPDATE balance SET amount = 0 "+
		"WHERE account_id = 'user:u5'; UPDATE balance SET amount = 100 WHERE account_id = 'user:v'",
		"player v was paid for 2 packets, but may win 1",
		"claim c1-1 (packet 1, player u5, amount 50, outbox entry c1.0."),
	"a player who was paid nothing": byBoth("INSERT INTO winner (campaign_id, user_id, wins, amount) VALUES "+
		"('c1', 'victim', 1, 0)", "player victim was paid nothing, but is in the table winner"),
	"a line deleted": byBoth("DELETE FROM entry WHERE account_id = 'user:u5'",
		"transaction 3 (pay) has no line for user:u5, who should have 50 by c1-1"),
	"a payout deleted": byBoth("DELETE FROM payout WHERE packet = 1",
		"transaction 3 (pay), line 2: user:u5 gets 50, but no row of payout says so",
		"claim c1-1 (packet 1, player u5, amount 50, outbox entry c1.0."),
	"all payouts of a transaction deleted": byBoth("DELETE FROM payout WHERE txn_id = 3",
		"transaction 3 is of kind pay, but no row of payout belongs to it (escrow:c1 gives 150, user:u1 gets 50,"),
	"a transaction with its lines deleted": byBoth("DELETE FROM entry WHERE txn_id = 3; DELETE FROM txn WHERE id = 3",
		"payout of packet 0 (claim c1-0, player u1, amount 50, transaction 3): there is no such transaction"),
	"a transaction deleted": byBoth("DELETE FROM txn WHERE id = 3",
		"line 0 of transaction 3 (escrow:c1 gives 150): there is no such transaction",
		"line 2 of transaction 3 (user:u5 gets 50)"),
	"a payment as if it had never been": byBoth("DELETE FROM entry WHERE txn_id = 3; DELETE FROM txn WHERE id = "+
		"3; DELETE FROM payout WHERE txn_id = 3;UPDATE campaign_tally SET paid = 1, amount_paid = 50; UPDATE "+
		"balance SET amount = amount + 150 WHERE account_id = 'escrow:c1';DELETE FROM balance WHERE account_id "+
		"IN ('user:u1', 'user:u5', 'user:u3')", "claim c1-1 (packet 1, player u5, amount 50, outbox entry c1.0.",
		"won in Redis, but neither in an outbox nor in the ledger"),
	"a kind that is none": byBoth("UPDATE txn SET kind = 'gift' WHERE id = 3",
		"transaction 3 (escrow:c1 gives 150, user:u1 gets 50,", `there is no kind of transaction "gift"`),
	"a payment made up": byBoth("INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) VALUES (99, "+
		"'pay', 'k', 1, x'00', x'00'); INSERT INTO entry VALUES (99, 0, 'escrow:c1', -5);INSERT INTO entry "+
		"VALUES (99, 1, 'user:u1', 5); UPDATE balance SET amount = amount + 5 WHERE account_id = "+
		"'user:u1';UPDATE balance SET amount = amount - 5 WHERE account_id = 'escrow:c1'",
		"transaction 99 is of kind pay, but no row of payout belongs to it (escrow:c1 gives 5, user:u1 gets 5)"),
	"a deposit made up": byAll("INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) VALUES (99, "+
		"'deposit', 'deposit:acme:x', 1, x'00', x'00'); INSERT INTO entry VALUES (99, 0, 'world:0', -5); INSERT "+
		"INTO entry VALUES (99, 1, 'sponsor:acme', 5); UPDATE balance SET amount = amount + 5 WHERE account_id = "+
		"'sponsor:acme';UPDATE balance SET amount = amount - 5 WHERE account_id = 'world:0'",
		"transaction 99 is of kind deposit, but no row of deposit belongs to it (world:0 gives 5, sponsor:acme "+
			"gets 5)"),
	"a deposit deleted": byAll("DELETE FROM deposit WHERE txn_id = 1",
		"transaction 1 is of kind deposit, but no row of deposit belongs to it"),
	"a deposit without a transaction": byAll("INSERT INTO deposit (sponsor, reference, amount, actor, created_at, "+
		"txn_id) VALUES ('acme', 'x', 5, 'ann', 1, 99)",
		"sponsor:acme gets 5 by x, in transaction 99: there is no such transaction"),
	"a transaction without lines": byAll("INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) VALUES "+
		"(99, 'fund', 'k', 1, x'00', x'00')", "transaction 99 is of kind fund, but no row of campaign belongs to it"),
	"an account": byBoth("DELETE FROM balance WHERE account_id = 'user:u1'",
		"transaction 3 (pay), line 1: there is no account user:u1"),
	"an account's owner": {
		sql:    "UPDATE balance SET account_id = 'nobody:u1' WHERE account_id = 'user:u1'",
		names:  []string{"there is no account user:u1"},
		global: []string{"there is a balance of nobody:u1, which names no account"},
	},
	"a payout in another campaign's payment": byBoth("UPDATE payout SET txn_id = 8 WHERE packet = 1",
		"payout of packet 1 (claim c1-1, player u5, amount 50, transaction 8): the transaction takes nothing from "+
			"escrow:c1"),
	"a reclaim": byBoth("UPDATE reclaim SET amount = amount + 1",
		"transaction 5 (reclaim), line 0: escrow:c1 gives 450, but should be 451 by the rest of a shard"),
	"a reclaim deleted": byBoth("DELETE FROM reclaim",
		"transaction 5 is of kind reclaim, but no row of reclaim belongs to it"),
	"a reclaim to another sponsor": byBoth("UPDATE entry SET account_id = 'sponsor:other' WHERE account_id = "+
		"'sponsor:acme' AND txn_id = 5",
		"transaction 5 (reclaim), line 1: sponsor:other gets 450, but no row of reclaim says so",
		"transaction 5 (reclaim) has no line for sponsor:acme"),
	"the campaign": byAll("DELETE FROM campaign WHERE id = 'c1'",
		"there is an account escrow:c1, but no such campaign"),
	"an outbox entry deleted": inRedis(func(sh *paytest.FakeShard) { sh.Entries = nil },
		"claim c1-3 (packet 3, player u7, amount 50, outbox entry c1.0.",
		"won in Redis, but neither in an outbox nor in the ledger"),
	"a win that Redis has forgotten": inRedis(
		func(sh *paytest.FakeShard) { sh.Wins = slices.Delete(slices.Clone(sh.Wins), 1, 2) },
		"payout of packet 1 (claim c1-1, player u5, amount 50, transaction 3): in the ledger, but Redis knows no "+
			"such win"),
	"a win in the outbox that Redis has forgotten": inRedis(func(sh *paytest.FakeShard) { sh.Wins = sh.Wins[:3] },
		"claim c1-3 (packet 3, player u7, amount 50, outbox entry c1.0.", "in the outbox, but Redis knows no such win"),
	"a packet given twice": inRedis(func(sh *paytest.FakeShard) {
		sh.Wins = append(slices.Clone(sh.Wins),
			changed(sh.Wins[1], "x", 1))
	},
		"player x, amount 50", "won in Redis, but the ledger has paid 50 to player u5 for this packet"),
	"a packet in the outbox twice": {
		redis: func(sh *paytest.FakeShard) {
			again := sh.Entries[0]
			again.Wins = []rain.Win{{User: "x", Packet: 3, Drop: "1.2"}, {User: "y", Packet: 0, Drop: "1.2"}}
			sh.Entries = append(slices.Clone(sh.Entries), again)
		},
		names: []string{"shard 0: packet 3 is twice won in its outbox", "player x, amount 50",
			"in the outbox, but Redis knows no such win", "player y, amount 50",
			"in the outbox, but the ledger has paid 50 to player u1 for this packet"},
	},
	"a win of another shard's packet": inRedis(func(sh *paytest.FakeShard) {
		sh.Wins = append(slices.Clone(sh.Wins),
			changed(sh.Wins[1], "x", 15))
	},
		"packet 15, player x", "shard 0 has no such packet"),
}

func changed(w rain.WinRecord, user string, packet int) rain.WinRecord {
	w.User, w.Packet = user, packet
	return w
}

// withdrawalEdits are edits to the withdrawals of the same books.
var withdrawalEdits = map[string]edit{
	"a withdrawal deleted": byAll("DELETE FROM withdrawal WHERE id = 'w1'",
		"is of kind withdraw, but no row of withdrawal belongs to it (user:v gives 20, clearing:v gets 20)"),
	"a paid withdrawal as if it were pending": byAll("UPDATE withdrawal SET state = 'sent', finished_at = 0 WHERE "+
		"id = 'w3'", "withdrawal w3 of player v is sent, but its 5 left by transaction",
		"withdrawal w3 is sent, but its history ends with \"paid\"",
		"the clearing accounts hold 20, but the withdrawals that have not ended sum to 25"),
	"a pending withdrawal as if it were paid": byAll("UPDATE withdrawal SET state = 'paid', receiver = 'bank' "+
		"WHERE id = 'w1'", "withdrawal w1 of player v is paid, but its 20 left by transaction 0 and"),
	"a withdrawal's history deleted": byAll("DELETE FROM withdrawal_event WHERE withdrawal_id = 'w1'",
		"withdrawal w1 is requested, but its history ends with \"\""),
	"an event edited": byAll("UPDATE withdrawal_event SET reason = 'x' WHERE withdrawal_id = 'w3' AND state = 'sent'",
		"paid:w3", "is not what was hashed"),
	"an event deleted": byAll("DELETE FROM withdrawal_event WHERE withdrawal_id = 'w2' AND state = 'requested'",
		"return:w2", "is not what was hashed"),
	"a return deleted": byAll("DELETE FROM entry WHERE txn_id = (SELECT return_id FROM withdrawal WHERE id = "+
		"'w2');DELETE FROM txn WHERE id = (SELECT return_id FROM withdrawal WHERE id = 'w2')", "w2",
		"there is no such transaction", "the balance of user:v is 25, but its entries sum to 15"),
}
