package reconcile_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// edited lists, by table, the columns whose edits the full reconciliation must report. They are amounts, accounts,
// owners, states and links, the terms of campaigns, and the audit. row selects the edited row; names are queries for
// its possible names.
var edited = []struct {
	table, columns, row string
	names               []string
}{
	{"txn", "id kind idem_key created_at papers hash", "id = 5",
		[]string{"SELECT 'transaction 5'"}},
	{"entry", "txn_id line_no account_id amount", "txn_id = 5 AND line_no = 1", []string{"SELECT 'transaction 5'"}},
	{"balance", "account_id amount", "account_id = 'user:u1'", []string{"SELECT 'user:u1'"}},
	{"balance", "amount", "account_id = 'sponsor:acme'", []string{"SELECT 'sponsor:acme'"}},
	{"balance", "amount", "account_id = 'escrow:c1'", []string{"SELECT 'campaign c1: the escrow''s balance'"}},
	{"campaign_tally", "paid amount_paid reclaimed amount_reclaimed", "campaign_id = 'c1'",
		[]string{"SELECT 'campaign c1: the tally'"}},
	{"shard_mark", "entry_ms", "campaign_id = 'c1' AND shard = 0", []string{"SELECT 'shard_mark'"}},
	{"winner", "user_id wins amount", "campaign_id = 'c1' AND user_id = 'u1'",
		[]string{"SELECT 'campaign c1: player u1'"}},
	{"payout", "campaign_id packet claim user_id amount state drop_id shard won_at entry_seq settled_at txn_id",
		"campaign_id = 'c1' AND packet = 1", []string{"SELECT 'c1-1'",
			"SELECT CONCAT('transaction ', txn_id) FROM payout WHERE campaign_id = 'c1' AND packet = 1"}},
	{"txn", "kind idem_key created_at papers hash", "idem_key LIKE 'pay:c5.%'", ofRemoved},
	{"entry", "txn_id line_no account_id amount", "line_no = 1 AND txn_id = (SELECT id FROM txn WHERE idem_key LIKE " +
		"'pay:c5.%')", ofRemoved},
	{"deposit", "sponsor reference amount actor created_at txn_id", "reference = 'more'", []string{
		"SELECT CONCAT('transaction ', txn_id) FROM deposit WHERE reference = 'more'"}},
	{"withdrawal", "id user_id payee amount state receiver dead attempts next_at last_error reference " +
		"action_kind action_url action_data action_until created_at sent_at waits_since finished_at txn_id " +
		"paid_id return_id",
		"id = 'w-paid'",
		[]string{"SELECT 'w-paid'"}},
	{"withdrawal", "id user_id payee amount state receiver created_at txn_id paid_id return_id", "id = 'w-sent'",
		[]string{"SELECT 'w-sent'"}},
	{"withdrawal_event", "withdrawal_id at state actor reason receiver", "withdrawal_id = 'w-paid' AND state = 'sent'",
		[]string{"SELECT 'w-paid'"}},
	{"campaign", strings.Join(paytest.CampaignTerms(), " "), "id = 'c2'",
		[]string{"SELECT 'campaign c2'", "SELECT 'fund:c2'", "SELECT 'escrow:c2'"}},
	{"campaign_amounts", "campaign_id amounts", "campaign_id = 'c1'",
		[]string{"SELECT 'campaign c1'", "SELECT 'fund:c1'"}},
	{"audit", "id at actor role action target detail request hash", "id = 1",
		[]string{"SELECT 'audit record 1 '", "SELECT 'block 1 of the table audit'"}},
}

// ofRemoved selects the payment of a campaign whose payouts were removed.
var ofRemoved = []string{"SELECT CONCAT('transaction ', id) FROM txn WHERE idem_key LIKE 'pay:c5.%'"}

// values holds the test's new value for columns that accept only some values.
var values = map[string]string{
	"campaign.max_amount": "77", "campaign.split": "'gaussian'",
	"campaign.split_seed": "CONCAT('e', SUBSTR(split_seed, 2))",
	"txn.hash":            "x'00'", "txn.papers": "x'00'", "audit.hash": "x'00'", "audit.request": "'x'",
	"txn.kind": "'fund'", "payout.state": "'granted'",
	"withdrawal.state": "'returned'", "withdrawal.dead": "1 - dead",
	"campaign_amounts.amounts": "REPLACE(amounts, '[40,60', '[60,40')",
}

// TestEditedRowsAreNamed edits each of these columns, and expects the full reconciliation to name the row. After the
// value is put back, the next run is clean.
func TestEditedRowsAreNamed(t *testing.T) {
	t.Parallel()
	for name, open := range paytest.Both {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "mysql" {
				testenv.RunsFrom(t, testenv.All)
			}
			b := open(t)
			f := fullLedger(t, b)
			if _, found := everything(t, b, f, "c2"); found != "" {
				t.Fatalf("not edited: %s", found)
			}
			for _, e := range edited {
				for column := range strings.FieldsSeq(e.columns) {
					editColumn(t, b, f, e.table, column, e.row, e.names)
				}
			}
		})
	}
}

// terms has a value of the type of each column of a campaign.
var terms = ledger.CampaignTable.Values(&rain.Campaign{})

func editColumn(t *testing.T, b *paytest.Books, f *paytest.FakeRedis, table, column, row string, names []string) {
	t.Helper()
	what := table + "." + column
	var wanted []string
	for _, query := range names {
		var name string
		testenv.Must(t, testenv.Err(b.DB.First(t.Context(), []any{&name}, query)))
		wanted = append(wanted, name)
	}
	value, given := values[what]
	if !given {
		var number int
		testenv.Must(t, testenv.Err(b.DB.First(t.Context(), []any{&number},
			fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s AND %s + 0 <> 0", table, row, column))))
		value = "CONCAT(" + column + ", 'x')"
		if number > 0 || slices.Contains(strings.Fields("amount txn_id line_no packet shard entry_seq paid_id "+
			"return_id attempts action_until sent_at waits_since finished_at reclaimed amount_reclaimed"), column) ||
			table == "campaign" && reflect.Indirect(reflect.ValueOf(terms[column])).CanInt() {
			value = column + " + 1000"
		}
	}
	restore := keepTables(t, b, []string{table})
	change(t, b, "UPDATE "+table+" SET "+column+" = "+value+" WHERE "+row)
	full := func() reconcile.Books {
		return testenv.Got(b.Proof.ReconcileFull(t.Context(), f, reconcile.FullOptions{})).Must(t)
	}
	books := full()
	found := slices.Clone(books.Findings)
	for _, c := range books.Campaigns {
		for _, text := range c.Findings {
			found = append(found, "campaign "+c.Campaign+": "+text)
		}
	}
	all := strings.Join(found, "\n")
	if books.Balanced || !slices.ContainsFunc(wanted, func(name string) bool { return strings.Contains(all, name) }) {
		t.Errorf("%s: none of %q is named in\n%s", what, wanted, all)
	}
	restore()
	change(t, b, "DROP TABLE kept_"+table)
	testenv.Equal(t, full().Balanced, true, "%s put back", what)
}

// TestAHalfRemovedCampaign: its remaining payouts are one finding, and each edit of its transactions is one.
func TestAHalfRemovedCampaign(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		fillRemoved(t, b, "DELETE FROM payout WHERE campaign_id = 'c5' AND packet < 2")
		f := paytest.NewFakeRedis(b.Clock.Now)
		const left = "payouts of the campaign are left, as c5-2, and the table archive has it"
		if one, all := everything(t, b, f, "c5"); strings.Count(one, "\n")+strings.Count(all, "\n") != 0 ||
			!strings.HasPrefix(one, left) || one != all {
			t.Errorf("%q, %q", one, all)
		}
		restore := keepTables(t, b, []string{"txn"})
		change(t, b, "UPDATE txn SET created_at = created_at + 1 WHERE kind = 'pay'")
		if _, all := everything(t, b, f, "c5"); !strings.Contains(all, "is not what was hashed") {
			t.Errorf("edited: %q", all)
		}
		restore()
		change(t, b, "DELETE FROM payout WHERE campaign_id = 'c5'")
		if one, all := everything(t, b, f, "c5"); one != "" || all != "" {
			t.Errorf("removed: %q, %q", one, all)
		}
	})
}

// TestAWithdrawalWithTwoReceiversIsNamed: a sent one is set back to new by an edit, and sent to another receiver, so
// its row and its last event agree.
func TestAWithdrawalWithTwoReceiversIsNamed(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.Rich(t, "u1", 100)
		for _, test := range []struct{ name, edit, to, want string }{
			{"none", "UPDATE withdrawal SET state = 'requested', receiver = '', sent_at = 0;" +
				"INSERT INTO withdrawal_event (withdrawal_id, at, state, actor, reason, receiver) " +
				"SELECT id, 1, 'requested', 'redrain', '', '' FROM withdrawal", "",
				`was sent to "bank", and a later event of its history names the receiver ""`},
			{"another", "UPDATE withdrawal SET state = 'requested', receiver = '', sent_at = 0, next_at = 0", "wallet",
				`was sent to "bank", and a later event of its history names the receiver "wallet"`},
		} {
			restore := keepTables(t, b, bookTables)
			w := b.MustSend(t, "w-"+test.name, "u1", 10)
			testenv.Must(t, b.RecordRetry(ctx, w, 0, "no answer"))
			change(t, b, test.edit)
			if test.to != "" {
				testenv.Must(t, testenv.Err(b.Approvals.StartProvider(ctx, test.to, false)))
				due, err := b.LeaseDue(ctx, test.to, 1, time.Minute)
				if err != nil || len(due) != 1 {
					t.Fatalf("%+v, %v", due, err)
				}
				testenv.Must(t, b.RecordPaid(ctx, due[0], "theirs"))
			}
			_, all := everything(t, b, paytest.NewFakeRedis(b.Clock.Now), "none")
			if !strings.Contains(all, "withdrawal w-"+test.name+" "+test.want) {
				t.Errorf("%s: %s", test.name, all)
			}
			restore()
			for _, table := range bookTables {
				change(t, b, "DROP TABLE kept_"+table)
			}
		}
	})
}
