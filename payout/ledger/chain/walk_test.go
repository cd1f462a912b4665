package chain_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/rain"
)

// fill makes transactions of every kind and a few audit records, one after the other, so that each book is one
// stripe: deposits 1 and 3, fundings 2 and 4, payments 5 and 6, a reclaim 7, withdrawals 8 and 9, a return 10, one that
// is paid 11, a withdrawal 12 that is open, deposits 13 to 15.
func fill(b *paytest.Books) {
	t := b.T
	t.Helper()
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 50, Packets: 4, Split: rain.List,
		Amounts: paytest.Amounts(5, 10, 15, 20)})
	most := rain.Money(9)
	b.OpenCampaign(t, "c2", rain.Spec{Name: "Gala 晚会 1", Budget: 20, Packets: 10, Max: &most, Split: rain.DoubleMean})
	b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u", 2, 15), paytest.Win("v", 0, 5)))
	b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("w", 1, 10)))
	b.CloseCampaign(t, "c1")
	b.MustPost(t, paytest.ReclaimEntry(0, 3, paytest.Packets(3, 3)...))
	w1 := b.MustSend(t, "w1", "u", 3)
	w2 := b.MustSend(t, "w2", "u", 4)
	paytest.Must(t, b.RecordRefused(t.Context(), w2, "no such account"))
	paytest.Must(t, b.RecordPaid(t.Context(), w1, "theirs"))
	b.MustWithdraw(t, "w3", "u", 5)
	for i := range 3 {
		_, err := b.Deposit(paytest.As(t, "sponsor.deposit"), "big", fmt.Sprint("r", i), 7)
		paytest.Must(t, err)
	}
}

// endedColumns are those of a withdrawal that may change until it has ended, and not after.
var endedColumns = []string{"state", "receiver", "dead", "attempts", "next_at", "last_error", "reference", "action_url",
	"action_data", "action_until", "sent_at", "waits_since", "finished_at"}

// breaks are the places at which the chains are not whole.
func breaks(t testing.TB, b *paytest.Books, from chain.Marks) (found []string, marks chain.Marks) {
	t.Helper()
	walked, err := chain.Walk(t.Context(), b.DB, from, func(at chain.Break) { found = append(found, at.String()) })
	paytest.Must(t, err)
	if int(walked.Broken) != len(found) {
		t.Errorf("%d breaks of %d", walked.Broken, len(found))
	}
	return found, walked.Marks
}

// TestEveryColumnIsHeld changes each column of what the chain holds, one row of each kind of transaction, and wants
// that row named, and no other.
func TestEveryColumnIsHeld(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		fill(b)
		if found, _ := breaks(t, b, nil); len(found) > 0 {
			t.Fatalf("untouched: %q", found)
		}
		restore := keep(b)
		for _, held := range []struct {
			table, where string
			id           string // of the transaction or record that is named
			columns      []string
		}{
			{"deposit", "txn_id = 1", "transaction 1 (deposit:acme:for c1;", []string{"sponsor", "reference", "amount",
				"actor", "created_at"}},
			{"campaign", "id = 'c2'", "transaction 4 (fund:c2;",
				[]string{"name", "sponsor", "budget", "packets", "split", "min_amount", "max_amount", "wins_per_user",
					"taps_per_user", "shards", "capacity", "admit_per_second", "guests_share", "expires_in_ms",
					"created_at", "split_seed"}},
			{"campaign_amounts", "campaign_id = 'c1'", "transaction 2 (fund:c1;", []string{"amounts"}},
			{"payout", "packet = 2", "transaction 5 (pay:c1.0.",
				[]string{"claim", "user_id", "amount", "state", "drop_id",
					"shard", "won_at", "entry_seq", "settled_at"}},
			{"reclaim", "campaign_id = 'c1'", "transaction 7 (reclaim:",
				[]string{"shard", "numbers", "packets", "amount",
					"closed_at", "entry_seq", "reclaimed_at"}},
			{"withdrawal", "id = 'w3'", "transaction 12 (withdraw:w3;", []string{"user_id", "amount", "created_at"}},
			{"withdrawal", "id = 'w2'", "transaction 10 (return:w2;", endedColumns},
			{"withdrawal", "id = 'w1'", "transaction 11 (paid:w1;", endedColumns},
			{"withdrawal_event", "id = 1", "event of a withdrawal 1 (w",
				[]string{"withdrawal_id", "at", "state", "actor",
					"reason"}},
			{"txn", "id = 6", "transaction 6 (", []string{"kind", "idem_key", "created_at"}},
			{"entry", "txn_id = 6 AND line_no = 1", "transaction 6 (", []string{"line_no", "account_id", "amount"}},
			{"audit", "id = 1", "audit record 1 (", []string{"at", "actor", "role", "action", "target", "detail"}},
		} {
			for _, column := range held.columns {
				tamper(b, held.table, column, held.where)
				found, _ := breaks(t, b, nil)
				if len(found) != 1 || !strings.Contains(found[0], held.id) {
					t.Errorf("%s.%s: %q", held.table, column, found)
				}
				restore()
			}
		}
		if found, _ := breaks(t, b, nil); len(found) > 0 {
			t.Fatalf("restored: %q", found)
		}
	})
}

// tables are those that are changed.
var tables = []string{"txn", "entry", "payout", "reclaim", "campaign", "campaign_amounts", "deposit", "withdrawal",
	"withdrawal_event", "audit", "chain_head"}

// keep makes copies of the tables; restore brings them back.
func keep(b *paytest.Books) (restore func()) {
	for _, table := range tables {
		b.Statement(b.T, "CREATE TABLE kept_"+table+" AS SELECT * FROM "+table)
	}
	return func() {
		for _, table := range tables {
			b.Statement(b.T, "DELETE FROM "+table)
			b.Statement(b.T, "INSERT INTO "+table+" SELECT * FROM kept_"+table)
		}
	}
}

// tamper changes a column by as little as can be: its last sign.
func tamper(b *paytest.Books, table, column, where string) {
	t := b.T
	t.Helper()
	var was string
	query := "SELECT " + column + " FROM " + table + " WHERE " + where
	if found, err := b.DB.First(t.Context(), []any{&was}, query); err != nil || !found {
		t.Fatalf("%s.%s: %v, %v", table, column, found, err)
	}
	is := was[:max(len(was)-1, 0)] + "7"
	if strings.HasSuffix(was, "7") {
		is = was[:len(was)-1] + "8"
	}
	n, err := b.DB.Exec(t.Context(), "UPDATE "+table+" SET "+column+" = ? WHERE "+where, is)
	if err != nil || n != 1 {
		t.Fatalf("%s.%s: %d rows, %v", table, column, n, err)
	}
}

// TestRowsRemovedAddedAndMoved: also at the end of a chain, and with the head rewritten.
func TestRowsRemovedAddedAndMoved(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		fill(b)
		restore := keep(b)
		for what, c := range map[string]struct{ sql, want string }{
			"in the middle": {"DELETE FROM txn WHERE id = 6", "link 6 was removed before row 7 (reclaim:"},
			"two":           {"DELETE FROM txn WHERE id IN (5, 6)", "links 5 to 6 were removed before row 7"},
			"the last":      {"DELETE FROM txn WHERE id = 15", "link 15: link 15 was removed at the end"},
			"all":           {"DELETE FROM audit", "links 1 to 3 were removed at the end"},
			"papers":        {"DELETE FROM payout WHERE packet = 0", "transaction 5 (pay:"},
			"a paper more": {"INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, " +
				"shard, won_at, " +
				"entry_seq, settled_at, txn_id) VALUES ('c1', 7, 'c1-7', 'thief', 1, 'settled', '1.1', 0, 1, 0, 1, 6)",
				"transaction 6 (pay:"},
			"a line more": {"INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (6, 2, 'user:thief', 1)",
				"transaction 6 (pay:"},
			"a row by hand": {"INSERT INTO txn (id, kind, idem_key, created_at) VALUES (99, 'deposit', 'x', 1)",
				"transaction 99 (x; link 0 of chain -1) belongs to no chain"},
			"a stripe by hand": {"INSERT INTO txn (id, kind, idem_key, created_at, stripe, link) VALUES (99, " +
				"'deposit', 'x', " +
				"1, 7, 1)", "transaction 99 (x; link 0 of chain 7) belongs to no chain"},
			"a row behind the end": {"INSERT INTO txn (id, kind, idem_key, created_at, stripe, link, hash) " +
				"SELECT 99, kind, 'x', 1, stripe, 16, hash FROM txn WHERE id = 15",
				"was added behind the end of its chain"},
			"a head": {"UPDATE chain_head SET links = links - 1 WHERE book = 'txn'",
				"was added behind the end of its chain"},
			"a head's hash": {"UPDATE chain_head SET hash = (SELECT hash FROM txn WHERE id = 3) WHERE book = 'txn'",
				"its head is not its last link"},
			"a hash": {"UPDATE txn SET hash = (SELECT hash FROM audit WHERE id = 1) WHERE id = 9",
				"transaction 9 (withdraw:w2; link 9 of chain"},
			"an event of the past": {"DELETE FROM withdrawal_event WHERE id = 2",
				"link 2 was removed before row 3 (w2)"},
			"an event by hand": {"INSERT INTO withdrawal_event (withdrawal_id, at, state, actor, reason) VALUES " +
				"('w1', 1, 'paid', 'redrain', '')", "(w1; link 0 of chain -1) belongs to no chain"},
			"a head removed": {"DELETE FROM chain_head WHERE book = 'audit'",
				"audit record 1 (sponsor.deposit; link 0"},
		} {
			b.Statement(t, c.sql)
			found, _ := breaks(t, b, nil)
			if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("%s: %q is missing in %q", what, c.want, found)
			}
			restore()
		}
		if found, _ := breaks(t, b, nil); len(found) > 0 {
			t.Fatalf("restored: %q", found)
		}
	})
}

// TestWhatIsNewSinceLastTime: a walk from marks reads what came after them, and finds what was removed since.
func TestWhatIsNewSinceLastTime(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		fill(b)
		_, marks := breaks(t, b, nil)
		b.Statement(t, "UPDATE payout SET won_at = won_at + 1 WHERE packet = 2") // which was looked at before
		if found, _ := breaks(t, b, marks); len(found) > 0 {
			t.Errorf("%q", found)
		}
		_, err := b.Deposit(t.Context(), "big", "more", 7)
		paytest.Must(t, err)
		walked, err := chain.Walk(t.Context(), b.DB, marks, func(at chain.Break) { t.Error(at) })
		if err != nil || walked.Links != 1 {
			t.Errorf("%+v, %v", walked, err)
		}
		b.Statement(t, "DELETE FROM txn WHERE id = 16")
		b.Statement(t, "UPDATE chain_head SET links = 15, hash = (SELECT hash FROM txn WHERE id = 15) WHERE book = "+
			"'txn'")
		if found, _ := breaks(t, b, walked.Marks); len(found) != 1 ||
			!strings.Contains(found[0], "had 16 links before, and has 15") {
			t.Errorf("%q", found)
		}
	})
}

// TestManyAtOnce: transactions that run at once take stripes of their own, those that are rolled back leave no gap, and
// what comes later uses the same stripes.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		const workers, each = 8, 12
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range each {
					if _, err := b.Deposit(paytest.As(t, "sponsor.deposit"), "acme", fmt.Sprint("r", (w+i)%each),
						1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		_, marks := breaks(t, b, nil)
		links := map[string]int64{}
		for s, m := range marks {
			links[s.Book] += m.Links
		}
		if links[chain.Txns] != each || links[chain.Audits] != each || len(marks) > 2*workers {
			t.Errorf("%d stripes with %v", len(marks), links)
		}
		b.CheckBooks(t)
	})
}
