package api

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/payout/paytest"
)

// TestStatementsOverHTTP: a statement against a real ledger, on each kind of database.
func TestStatementsOverHTTP(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u", 100)
		for _, id := range []string{"w1", "w2"} {
			paytest.Must(t, b.RecordPaid(t.Context(), b.MustSend(t, id, "u", 10), "ref "+id))
		}
		_, err := b.Deposit(t.Context(), "acme", "bank-7", 500)
		paytest.Must(t, err)
		a := New(Options{Statements: paytest.Node(t, b).Statements, Operators: testStaff, Log: paytest.Quiet})
		from, to := b.Clock.Load()-time.Hour.Milliseconds(), b.Clock.Load()+time.Hour.Milliseconds()
		for _, c := range []struct {
			asked, file string
			status      int
			says        []string
		}{
			{`"of":"withdrawals",`, "key,amount\nw1,0.10\nref w2,0.10\n", 200,
				[]string{`"lines":2,"matched":2,"ignored":0,` + `"differences":0,"findings":[]`}},
			{`"of":"withdrawals",`, "key,amount\nw1,0.11\n", 200, []string{`"differences":2`,
				`{"kind":"amount","line":2,` +
					`"name":"w1","ours":10,"theirs":11,`, `{"kind":"missing_there","name":"w2","ours":10,"note":`}},
			{`"of":"withdrawals","receiver":"another",`, "key,amount\n", 200, []string{`"differences":0`}},
			{`"of":"deposits",`, "key,amount\nbank-7,5.00\n", 200,
				[]string{`"matched":1`, `"missing_there","name":"for for-u`}},
			{`"of":"balances",`, "key,amount\n", 422, []string{`"field":"of"`}},
			{`"of":"deposits","to":1,`, "key,amount\n", 422, []string{`"field":"from"`}},
			{`"of":"deposits","columns":{"k":"x"},`, "key,amount\n", 422, []string{`"field":"columns"`}},
			{`"of":"deposits",`, "who,what\n", 422, []string{`"field":"file"`, "no line names the columns"}},
		} {
			body := fmt.Sprintf(`{"from":%d,"to":%d,`, from, to)
			if strings.Contains(c.asked, `"to"`) {
				body = fmt.Sprintf(`{"from":%d,`, from)
			}
			body += c.asked + `"file":"` + base64.StdEncoding.EncodeToString([]byte(c.file)) + `"}`
			wantAnswer(t, ask(a, "viewer", "POST", "/statements/match", body), c.status, c.says...)
		}
	})
}
