package reconcile_test

import (
	"context"
	"database/sql"
	"flag"
	"strconv"
	"testing"

	"redrain/internal/testenv"
)

var manyTimes = flag.Int("many", 2, "how many times as many rows TestEveryStatementHasAnIndex looks through")

type manyRows struct {
	table  string
	rows   int
	values string
}

// many fills each table as years of use would, relative to each other: seq is the number of a row, from 1. Half of
// the payouts are of c1, the campaign of the statements. Few rows are open or due, as under a careful operator.
// Together they are more than a million rows.
var many = []manyRows{
	{"payout", 40_000, "IF(seq % 2 = 0, 'c1', CONCAT('b', seq DIV 100)), 1000 + seq, CONCAT('c1-', 1000 + seq), " +
		"CONCAT('p', seq % 20000), 5, 'settled', CONCAT(seq, '.0'), seq DIV 2 % 2, 1000 + seq, 0, 1000 + seq, " +
		"1000 + seq DIV 4"},
	{"entry", 100_000, "1000 + seq DIV 4, seq % 4, IF(seq % 4 = 0, 'escrow:c1', CONCAT('user:p', seq % 20000)), 5"},
	{"txn", 40_000, "1000 + seq, 'pay', CONCAT('pay:b', seq), seq, REPEAT('p', 32), REPEAT('h', 32)"},
	{"balance", 40_000, "CONCAT(ELT(1 + seq % 3, 'user:p', 'escrow:b', 'clearing:p'), seq), 5"},
	{"winner", 20_000, "IF(seq % 2 = 0, 'c1', CONCAT('b', seq DIV 100)), CONCAT('p', seq), 3, 15"},
	{"withdrawal", 8_000, "CONCAT('b', seq), IF(seq % 2 = 0, 'u1', CONCAT('p', seq % 20000)), " +
		"CONCAT('alipay:', seq), 5, " +
		"IF(seq % 4 = 0, 'refused', 'paid'), 'bank', 0, 1, 1, seq, 0, '', '', '', '', '', 0, seq, seq, 0, seq, " +
		"1000 + seq, IF(seq % 4 = 0, 0, 1000 + seq), IF(seq % 4 = 0, 1000 + seq, 0), ''"},
	{"withdrawal_event", 8_000, "1000 + seq, CONCAT('b', seq DIV 3), seq, 'paid', 'redrain', '', 'bank'"},
	{"audit", 8_000, "1000 + seq, seq, 'ann', 'operator', 'campaign.update', CONCAT('b', seq DIV 10), '{}', " +
		"'', REPEAT('h', 32)"},
	{"block", 8_000, "'txn', 1000 + seq, 1000 + seq, 1, REPEAT('h', 64)"},
	{"dead_letter", 8_000, "1000 + seq, LPAD(seq, 64, '0'), CONCAT('c1-', seq), CONCAT('c1.0.', seq, '-0'), 'pay', " +
		"IF(seq % 2 = 0, 'c1', CONCAT('b', seq DIV 100)), 0, seq, CONCAT('p', seq % 20000), 5, seq, 0, 'given up', " +
		"'x', seq, " +
		"IF(seq % 1000 = 0, 0, seq)"},
	{"campaign", 8_000, "CONCAT('b', seq), 'Gala', 'acme', 100, 10, 'even', 1, NULL, 1, 1, 1, 0, 0, '', 0, 1000, " +
		"'closed', seq, seq, 1, 1, REPEAT('0', 64)"},
	{"rain", 8_000, "CONCAT('b', seq DIV 2), seq % 2, seq, 1, 1, 1, 1, 0, 'none', 0, 1000, '', 0, " +
		"REPEAT('0', 64), 0"},
	{"campaign_tally", 8_000, "CONCAT('b', seq), 10, 100, 0, 0"},
	{"shard_mark", 8_000, "CONCAT('b', seq DIV 2), seq % 2, seq, 0"},
	{"shard_epoch", 8_000, "CONCAT('b', seq DIV 2), seq % 2, 1, seq, seq"},
	{"reclaim", 8_000, "CONCAT('b', seq DIV 2), seq % 2, '5-9', 5, 50, seq, 0, seq, 1000 + seq"},
	{"reclaim_cut", 8_000, "CONCAT('b', seq), 0, seq, 0, 50, 40, '5-9', '', seq"},
	{"move", 8_000, "seq, CONCAT('b', seq DIV 2), 0, 1, '5-9', 5, 1, 1, 0, seq, IF(seq % 1000 = 0, 0, seq)"},
	{"deposit", 8_000, "CONCAT('s', seq DIV 10), seq, 100, 'ann', seq, 1000 + seq"},
	{"idempotency", 8_000, "LPAD(seq, 64, 'x'), LPAD(seq, 64, '0'), 201, '{}', 9000000000000 + seq"},
	{"attempt", 8_000, "CONCAT('b1.0.', seq, '-0'), 1, '', 9000000000000 + seq"},
	{"attempt_claim", 8_000, "CONCAT('b1.0.', seq, '-0'), 0, 'b1', seq, CONCAT('p', seq % 20000)"},
	{"approval", 8_000, "CONCAT('b', seq), 'deposit', CONCAT('s', seq DIV 10), 100, seq, 0, '', '', 'ann', '', " +
		"seq, seq, IF(seq % 10 = 0, 'pending', 'confirmed'), 'bob', '', seq, ''"},
	{"proof", 8_000, "CONCAT('b', seq), seq, 1, 1, 0, 0, 0"},
	{"player_list", 8_000, "CONCAT('l', seq), 'players', 'invite', 5, 1, 0, seq, seq, 'ann'"},
	{"list_member", 40_000, "IF(seq % 2 = 0, 'guests', CONCAT('l', seq % 10)), CONCAT('p', seq), seq, 0, 1"},
	{"verdict", 20_000, "1000 + seq, CONCAT('p', seq % 20000), 'allow', 0, '[]', 'rules', seq"},
	{"sanction", 20_000, "1000 + seq, CONCAT('p', seq % 20000), IF(seq % 2 = 0, 'ban', 'unban'), 'x', 'ann', 'ann', " +
		"seq"},
	{"held", 20_000, "CONCAT('h-', seq), IF(seq % 2 = 0, 'c1', CONCAT('b', seq DIV 100)), seq, " +
		"CONCAT('p', seq % 20000), 5, seq, '1.1', 'hold', 50, '[]', seq, 1000 + seq, " +
		"CASE seq % 1000 WHEN 0 THEN 'held' WHEN 2 THEN 'confirmed' ELSE 'released' END, 'ann', 'x', seq, " +
		"IF(seq % 1000 IN (0, 2), 0, 1000 + seq), IF(seq % 1000 = 2, 1000 + seq, 0)"},
	{"archive", 8_000, "CONCAT('b', seq), 'x', 1, 5, 'ann', 1"},
	{"campaign_amounts", 8_000, "CONCAT('b', seq), '[]'"},
	{"figure", 40_000, "CONCAT('b', seq DIV 100), seq, 1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"},
	{"lease", 8_000, "CONCAT('move b', seq), 'a node', seq, 1"},
	{"provider_pace", 8_000, "CONCAT('bank', seq), seq"},
	{"payee", 20_000, "1000 + seq, CONCAT('p', seq % 20000), 'alipay', CONCAT(seq), seq, seq"},
}

// fillMany fills a MariaDB database with many rows, and updates its statistics.
func fillMany(t *testing.T, dsn string) {
	t.Helper()
	db := testenv.Got(sql.Open("mysql", dsn)).Must(t)
	defer func() { testenv.Must(t, db.Close()) }()
	db.SetMaxOpenConns(1) // the session's settings apply to all
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run("SET unique_checks = 0, foreign_key_checks = 0")
	for _, m := range many {
		run("INSERT INTO " + m.table + " SELECT " + m.values + " FROM seq_1_to_" + strconv.Itoa(m.rows**manyTimes))
		run("ANALYZE TABLE " + m.table)
	}
}
