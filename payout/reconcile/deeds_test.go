package reconcile_test

import (
	"slices"

	"redrain/payout/paytest"
	"redrain/rain"
)

// deed is something done to the books by hand.
type deed struct {
	sql   string
	redis func(*paytest.FakeShard) // to shard 0
	// names are what both reconciliations must say, and global what only the one of everything can see.
	names, global []string
}

// The campaign: packets 0 to 9 in shard 0, 10 to 19 in shard 1. Transaction 1 is the deposit, 2 the funding.
// Packets 0, 1 and 2 are u1's, u5's and u3's by transaction 3, packet 10 is v's by 4, the rest of shard 1 is
// reclaimed by 5. u7's packet 3 is in the outbox.
var deeds = map[string]deed{
	"a line": {
		sql: "UPDATE entry SET amount = amount + 1 WHERE account_id = 'user:u5'",
		names: []string{"transaction 3 (pay), line 2: user:u5 gets 51, but should be 50 by c1-1",
			"transaction 3 (pay) sums to 1, not to 0", "the balance of user:u5 is 50, but its entries sum to 51"},
	},
	"a payout's amount": {
		sql: "UPDATE payout SET amount = amount + 1 WHERE packet = 1",
		names: []string{"payout of packet 1 (claim c1-1, player u5, amount 51, transaction 3): the split says 50",
			"line 2: user:u5 gets 50, but should be 51 by c1-1"},
	},
	"a balance": {
		sql:    "UPDATE balance SET amount = amount + 1 WHERE account_id = 'user:u1'",
		names:  []string{"the balance of user:u1 is 51, but its entries sum to 50"},
		global: []string{"all balances together are 1"},
	},
	"a payout with all that follows from it": {
		sql: "UPDATE entry SET amount = amount + 1 WHERE account_id = 'user:u5'; UPDATE entry " +
			"SET amount = amount - 1 WHERE account_id = 'escrow:c1' AND txn_id = 3;" +
			"UPDATE payout SET amount = amount + 1 WHERE packet = 1; UPDATE balance SET amount = amount + 1 " +
			"WHERE account_id = 'user:u5';" +
			"UPDATE balance SET amount = amount - 1 WHERE account_id = 'escrow:c1'; UPDATE campaign_tally " +
			"SET amount_paid = amount_paid + 1",
		names: []string{"payout of packet 1 (claim c1-1, player u5, amount 51, transaction 3): the split says 50"},
	},
	"two payouts, so that the sums stay": {
		sql: "UPDATE payout SET amount = amount + 1 WHERE packet = 1; UPDATE payout SET amount = amount - 1 " +
			"WHERE packet = 0",
		names: []string{"claim c1-1", "claim c1-0", "user:u1 gets 50, but should be 49 by c1-0"},
	},
	"a payout's player, with all that follows from it": {
		sql: "UPDATE entry SET account_id = 'user:v' WHERE account_id = 'user:u5'; UPDATE payout " +
			"SET user_id = 'v' WHERE packet = 1;" +
			"UPDATE balance SET amount = 0 WHERE account_id = 'user:u5'; UPDATE balance SET amount = 100 " +
			"WHERE account_id = 'user:v'",
		names: []string{"player v was paid for 2 packets, but may win 1",
			"claim c1-1 (packet 1, player u5, amount 50, outbox entry c1.0."},
	},
	"a player who was paid nothing": {
		sql:   "INSERT INTO winner (campaign_id, user_id, wins, amount) VALUES ('c1', 'victim', 1, 0)",
		names: []string{"player victim was paid nothing, but is in the table winner"},
	},
	"a line deleted": {
		sql:   "DELETE FROM entry WHERE account_id = 'user:u5'",
		names: []string{"transaction 3 (pay) has no line for user:u5, who should have 50 by c1-1"},
	},
	"a payout deleted": {
		sql: "DELETE FROM payout WHERE packet = 1",
		names: []string{"transaction 3 (pay), line 2: user:u5 gets 50, but no row of payout says so",
			"claim c1-1 (packet 1, player u5, amount 50, outbox entry c1.0."},
	},
	"all payouts of a transaction deleted": {
		sql: "DELETE FROM payout WHERE txn_id = 3",
		names: []string{"transaction 3 is of kind pay, but no row of payout belongs to it (escrow:c1 gives 150, " +
			"user:u1 gets 50,"},
	},
	"a transaction with its lines deleted": {
		sql: "DELETE FROM entry WHERE txn_id = 3; DELETE FROM txn WHERE id = 3",
		names: []string{"payout of packet 0 (claim c1-0, player u1, amount 50, transaction 3): there is no such " +
			"transaction"},
	},
	"a transaction deleted": {
		sql: "DELETE FROM txn WHERE id = 3",
		names: []string{"line 0 of transaction 3 (escrow:c1 gives 150): there is no such transaction",
			"line 2 of transaction 3 (user:u5 gets 50)"},
	},
	"a payment as if it had never been": {
		sql: "DELETE FROM entry WHERE txn_id = 3; DELETE FROM txn WHERE id = 3; DELETE FROM payout WHERE txn_id = 3;" +
			"UPDATE campaign_tally SET paid = 1, amount_paid = 50; UPDATE balance SET amount = amount + 150 " +
			"WHERE account_id = 'escrow:c1';" +
			"DELETE FROM balance WHERE account_id IN ('user:u1', 'user:u5', 'user:u3')",
		names: []string{"claim c1-1 (packet 1, player u5, amount 50, outbox entry c1.0.",
			"won in Redis, but neither in an outbox nor in the ledger"},
	},
	"a transaction's kind": {
		sql: "UPDATE txn SET kind = 'fund' WHERE id = 3",
		names: []string{"transaction 3 is of kind fund, but c1-",
			"transaction 3, line 1: user:u1 gets 50, " +
				"but a transaction of kind fund moves money from sponsor to escrow"},
	},
	"a kind that is none": {
		sql:   "UPDATE txn SET kind = 'gift' WHERE id = 3",
		names: []string{`transaction 3, line 0 (escrow:c1 gives 150): there is no kind of transaction "gift"`},
	},
	"a payment made up": {
		sql: "INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) " +
			"VALUES (99, 'pay', 'k', 1, x'00', x'00'); " +
			"INSERT INTO entry VALUES (99, 0, 'escrow:c1', -5);" +
			"INSERT INTO entry VALUES (99, 1, 'user:u1', 5); UPDATE balance SET amount = amount + 5 " +
			"WHERE account_id = 'user:u1';" +
			"UPDATE balance SET amount = amount - 5 WHERE account_id = 'escrow:c1'",
		names: []string{"transaction 99 is of kind pay, but no row of payout belongs to it (escrow:c1 gives 5, " +
			"user:u1 gets 5)"},
	},
	"a deposit to a player": {
		sql: "INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) " +
			"VALUES (99, 'deposit', 'k', 1, x'00', x'00'); " +
			"INSERT INTO entry VALUES (99, 0, 'world:0', -5);" +
			"INSERT INTO entry VALUES (99, 1, 'user:u1', 5); UPDATE balance SET amount = amount + 5 " +
			"WHERE account_id = 'user:u1';" +
			"UPDATE balance SET amount = amount - 5 WHERE account_id = 'world:0'",
		global: []string{"transaction 99, line 1: user:u1 gets 5, but a transaction of kind deposit moves money from " +
			"world to sponsor"},
	},
	"a deposit made up": {
		sql: "INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) " +
			"VALUES (99, 'deposit', " +
			"'deposit:acme:x', 1, x'00', x'00'); INSERT INTO entry VALUES (99, 0, 'world:0', -5); " +
			"INSERT INTO entry VALUES (99, 1, 'sponsor:acme', 5); " +
			"UPDATE balance SET amount = amount + 5 WHERE account_id = 'sponsor:acme';" +
			"UPDATE balance SET amount = amount - 5 WHERE account_id = 'world:0'",
		global: []string{"transaction 99 is of kind deposit, but no row of deposit belongs to it (world:0 gives 5, " +
			"sponsor:acme gets 5)"},
	},
	"a deposit's amount": {
		sql:    "UPDATE deposit SET amount = amount + 1 WHERE txn_id = 1",
		global: []string{"transaction 1 (deposit), line 1: sponsor:acme gets"},
	},
	"a deposit's sponsor": {
		sql:    "UPDATE deposit SET sponsor = 'other' WHERE txn_id = 1",
		global: []string{"transaction 1 (deposit), line 1: sponsor:acme gets"},
	},
	"a deposit deleted": {
		sql:    "DELETE FROM deposit WHERE txn_id = 1",
		global: []string{"transaction 1 is of kind deposit, but no row of deposit belongs to it"},
	},
	"a deposit without a transaction": {
		sql: "INSERT INTO deposit (sponsor, reference, amount, actor, created_at, txn_id) " +
			"VALUES ('acme', 'x', 5, 'ann', 1, 99)",
		global: []string{"sponsor:acme gets 5 by x, in transaction 99: there is no such transaction"},
	},
	"when a transaction was": {
		sql:    "UPDATE txn SET created_at = created_at - 1 WHERE id = 3",
		global: []string{"transaction 3 (pay:c1.0."},
	},
	"who made a deposit": {
		sql:    "UPDATE deposit SET actor = 'bob' WHERE txn_id = 1",
		global: []string{"transaction 1 (deposit:acme:for c1)"},
	},
	"a campaign's sponsor": {
		sql:   "UPDATE campaign SET sponsor = 'other' WHERE id = 'c1'",
		names: []string{"transaction 2 (fund), line 0: sponsor:acme gives 1000, but no row of campaign says so"},
	},
	"a transaction of one line": {
		sql: "INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) " +
			"VALUES (99, 'fund', 'k', 1, x'00', x'00'); " +
			"INSERT INTO entry VALUES (99, 0, 'escrow:c1', 0)",
		names:  []string{"transaction 99 (fund) has 1 lines", "line 0: escrow:c1 gets 0"},
		global: []string{"transaction 99 (fund) has 1 lines"},
	},
	"a transaction without lines": {
		sql: "INSERT INTO txn (id, kind, idem_key, created_at, papers, hash) " +
			"VALUES (99, 'fund', 'k', 1, x'00', x'00')",
		global: []string{"transaction 99 (fund) has 0 lines"},
	},
	"an account": {
		sql:    "DELETE FROM balance WHERE account_id = 'user:u1'",
		names:  []string{"transaction 3 (pay), line 1: there is no account user:u1"},
		global: []string{"transaction 3 (pay), line 1: there is no account user:u1"},
	},
	"an account's owner": {
		sql:    "UPDATE balance SET account_id = 'nobody:u1' WHERE account_id = 'user:u1'",
		names:  []string{"there is no account user:u1"},
		global: []string{"there is a balance of nobody:u1, which names no account"},
	},
	"a claim": {
		sql:   "UPDATE payout SET claim = 'c1-7' WHERE packet = 1",
		names: []string{"its claim should be c1-1"},
	},
	"a payout's state": {
		sql:   "UPDATE payout SET state = 'granted' WHERE packet = 1",
		names: []string{`its state is "granted"`},
	},
	"a payout's packet": {
		sql:   "UPDATE payout SET packet = 20, claim = 'c1-20' WHERE packet = 1",
		names: []string{"the campaign has packets 0 to 19"},
	},
	"a payout's shard": {
		sql:   "UPDATE payout SET shard = 1 WHERE packet = 1",
		names: []string{"it says shard 1, but the player's is shard 0"},
	},
	"a payout's transaction": {
		sql:   "UPDATE payout SET txn_id = 2 WHERE packet = 1",
		names: []string{"the transaction is of kind fund"},
	},
	"a payout in another campaign's payment": {
		sql: "UPDATE payout SET txn_id = 8 WHERE packet = 1",
		names: []string{"payout of packet 1 (claim c1-1, player u5, amount 50, transaction 8): the transaction takes " +
			"nothing from escrow:c1"},
	},
	"a reclaim": {
		sql: "UPDATE reclaim SET amount = amount + 1",
		names: []string{"transaction 5 (reclaim), line 0: escrow:c1 gives 450, but should be 451 by the rest of a " +
			"shard"},
	},
	"a reclaim deleted": {
		sql:   "DELETE FROM reclaim",
		names: []string{"transaction 5 is of kind reclaim, but no row of reclaim belongs to it"},
	},
	"a reclaim to another sponsor": {
		sql: "UPDATE entry SET account_id = 'sponsor:other' WHERE account_id = 'sponsor:acme' AND txn_id = 5",
		names: []string{"transaction 5 (reclaim), line 1: sponsor:other gets 450, but no row of reclaim says so",
			"transaction 5 (reclaim) has no line for sponsor:acme"},
	},
	"the tally": {
		sql:   "UPDATE campaign_tally SET paid = 5 WHERE campaign_id = 'c1'",
		names: []string{"the tally says 5 packets paid"},
	},
	"the campaign's budget": {
		sql:   "UPDATE campaign SET budget = 1001 WHERE id = 'c1'",
		names: []string{"funded is 1000, but the campaign's budget is 1001"},
	},
	"the campaign's settings": {
		sql:   "UPDATE campaign SET min_amount = 60 WHERE id = 'c1'",
		names: []string{"the campaign's database row is invalid"},
	},
	"the campaign": {
		sql:    "DELETE FROM campaign WHERE id = 'c1'",
		names:  nil,
		global: []string{"there is an account escrow:c1, but no such campaign"},
	},
	"an outbox entry deleted": {
		redis: func(sh *paytest.FakeShard) { sh.Entries = nil },
		names: []string{"claim c1-3 (packet 3, player u7, amount 50, outbox entry c1.0.",
			"won in Redis, but neither in an outbox nor in the ledger"},
	},
	"a win that Redis has forgotten": {
		redis: func(sh *paytest.FakeShard) { sh.Wins = slices.Delete(slices.Clone(sh.Wins), 1, 2) },
		names: []string{"payout of packet 1 (claim c1-1, player u5, amount 50, transaction 3): in the ledger, but " +
			"Redis knows no such win"},
	},
	"a win in the outbox that Redis has forgotten": {
		redis: func(sh *paytest.FakeShard) { sh.Wins = sh.Wins[:3] },
		names: []string{"claim c1-3 (packet 3, player u7, amount 50, outbox entry c1.0.",
			"in the outbox, but Redis knows no such win"},
	},
	"a packet given twice": {
		redis: func(sh *paytest.FakeShard) { sh.Wins = append(slices.Clone(sh.Wins), changed(sh.Wins[1], "x", 1)) },
		names: []string{"player x, amount 50", "won in Redis, but the ledger has paid 50 to player u5 for this packet"},
	},
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
	"a win of another shard's packet": {
		redis: func(sh *paytest.FakeShard) { sh.Wins = append(slices.Clone(sh.Wins), changed(sh.Wins[1], "x", 15)) },
		names: []string{"packet 15, player x", "shard 0 has no such packet"},
	},
}

func changed(w rain.WinRecord, user string, packet int) rain.WinRecord {
	w.User, w.Packet = user, packet
	return w
}
