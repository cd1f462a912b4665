package reconcile_test

// withdrawalEdits are edits of the withdrawals of the same books.
var withdrawalEdits = map[string]edit{
	"a withdrawal's amount": {
		sql: "UPDATE withdrawal SET amount = amount + 1 WHERE id = 'w1'",
		global: []string{"(withdraw), line 0: user:v gives 20, but should be 21 by w1",
			"(withdraw), line 1: clearing:v gets 20, but should be 21 by w1"},
	},
	"a withdrawal deleted": {
		sql: "DELETE FROM withdrawal WHERE id = 'w1'",
		global: []string{"is of kind withdraw, but no row of withdrawal belongs to it " +
			"(user:v gives 20, clearing:v gets 20)"},
	},
	"money given back as if the withdrawal were paid": {
		sql: "UPDATE withdrawal SET state = 'paid' WHERE id = 'w2'",
		global: []string{"withdrawal w2 of player v is paid, but its 10 were returned by transaction",
			"withdrawal w2 of player v is paid, but its 10 have not left"},
	},
	"a withdrawal as if it had failed": {
		sql: "UPDATE withdrawal SET state = 'refused' WHERE id = 'w3'",
		global: []string{"withdrawal w3 of player v is refused, but its 5 were not returned",
			"withdrawal w3 of player v is refused, but its 5 have left by transaction"},
	},
	"a paid withdrawal as if it were pending": {
		sql: "UPDATE withdrawal SET state = 'sent', finished_at = 0 WHERE id = 'w3'",
		global: []string{"withdrawal w3 of player v is sent, but its 5 have left by transaction",
			"withdrawal w3 is sent, but its history ends with \"paid\"",
			"the clearing accounts hold 20, but the withdrawals that have not ended sum to 25"},
	},
	"a pending withdrawal as if it were paid": {
		sql:    "UPDATE withdrawal SET state = 'paid', receiver = 'bank' WHERE id = 'w1'",
		global: []string{"withdrawal w1 of player v is paid, but its 20 have not left"},
	},
	"a withdrawal in no state": {
		sql:    "UPDATE withdrawal SET state = 'lost' WHERE id = 'w1'",
		global: []string{"withdrawal w1 of player v is lost, which is no state; 20 were taken"},
	},
	"a receiver removed": {
		sql:    "UPDATE withdrawal SET receiver = '' WHERE id = 'w3'",
		global: []string{"withdrawal w3 of player v is paid (amount 5", "it names no receiver"},
	},
	"a receiver invented": {
		sql:    "UPDATE withdrawal SET receiver = 'mine' WHERE id = 'w1'",
		global: []string{"withdrawal w1 of player v is requested (amount 20", "it names a receiver"},
	},
	"a withdrawal's history deleted": {
		sql:    "DELETE FROM withdrawal_event WHERE withdrawal_id = 'w1'",
		global: []string{"withdrawal w1 is requested, but its history ends with \"\""},
	},
	"an event edited": {
		sql:    "UPDATE withdrawal_event SET reason = 'x' WHERE withdrawal_id = 'w3' AND state = 'sent'",
		global: []string{"paid:w3", "is not what was hashed"},
	},
	"an event deleted": {
		sql:    "DELETE FROM withdrawal_event WHERE withdrawal_id = 'w2' AND state = 'requested'",
		global: []string{"return:w2", "is not what was hashed"},
	},
	"a return deleted": {
		sql: "DELETE FROM entry WHERE txn_id = (SELECT return_id FROM withdrawal " +
			"WHERE id = 'w2');DELETE FROM txn WHERE id = (SELECT return_id FROM withdrawal WHERE id = 'w2')",
		global: []string{"w2", "there is no such transaction",
			"the balance of user:v is 25, but its entries sum to 15"},
	},
}
