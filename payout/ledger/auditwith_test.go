package ledger_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

func TestIdempotencyKeys(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		begin := func(key, body string) (*ledger.Answer, error) { return b.Begin(ctx, key, []byte(body)) }
		if a, err := begin("k", "body"); a != nil || err != nil {
			t.Fatal(a, err)
		}
		testenv.WantErr(t, testenv.Err(begin("k", "body")), ledger.ErrIdempotencyBusy)
		testenv.WantErr(t, testenv.Err(begin("k", "other")), ledger.ErrIdempotencyUnequal)
		paytest.Must(t, b.Finish(ctx, "k", ledger.Answer{Status: 201, Body: []byte("{\"a\":\x00\xff}")}))
		for range 2 {
			if a, err := begin("k", "body"); err != nil || a == nil || a.Status != 201 ||
				string(a.Body) != "{\"a\":\x00\xff}" {
				t.Errorf("%+v, %v", a, err)
			}
		}
		testenv.WantErr(t, testenv.Err(begin("k", "other")), ledger.ErrIdempotencyUnequal)
		if err := b.Forget(ctx, "k"); err != nil {
			t.Error(err)
		}
		if a, err := begin("k", "body"); err != nil || a == nil {
			t.Errorf("a success was forgotten: %v, %v", a, err)
		}

		// One that was dated into the future, by hand or by a wrong clock, is free again like one that was cut off.
		if _, err := begin("dated", "1"); err != nil {
			t.Error(err)
		}
		b.Statement(t, "UPDATE idempotency SET expires_at = 4102444800000 WHERE status = 0")
		if _, err := begin("dated", "1"); err != nil {
			t.Errorf("a request of the future: %v", err)
		}

		// What failed is free again at once, what was cut off after a minute, an answer after a day.
		if _, err := begin("failed", "1"); err != nil {
			t.Error(err)
		}
		if err := b.Forget(ctx, "failed"); err != nil {
			t.Error(err)
		}
		if a, err := begin("failed", "2"); a != nil || err != nil {
			t.Error(a, err)
		}
		b.Clock.Add(ledger.RequestLease)
		if a, err := begin("failed", "3"); a != nil || err != nil {
			t.Error(a, err)
		}
		if a, err := begin("k", "body"); a == nil || err != nil {
			t.Error(a, err)
		}
		b.Clock.Add(ledger.AnswerKept)
		if a, err := begin("k", "another"); a != nil || err != nil {
			t.Error(a, err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM idempotency"); n != 1 {
			t.Errorf("%d keys are kept", n)
		}
		if a, err := begin(strings.Repeat("long ", 1000), ""); a != nil || err != nil {
			t.Error(a, err)
		}
		if err := b.Finish(ctx, strings.Repeat("long ", 1000), ledger.Answer{Status: 204}); err != nil {
			t.Error(err)
		}
	})
}

func TestOneOfManyEqualRequestsBegins(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { _, errs[i] = b.Begin(t.Context(), "k", nil) })
		}
		wg.Wait()
		began := 0
		for _, err := range errs {
			switch {
			case err == nil:
				began++
			case !errors.Is(err, ledger.ErrIdempotencyBusy):
				t.Error(err)
			}
		}
		if began != 1 {
			t.Errorf("%d of them began", began)
		}
	})
}

func TestAudit(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		for _, action := range []string{"one", "two", "three"} {
			err := b.Audit(ctx, ledger.AuditRecord{
				Actor: "operator", Role: "operator", Action: action, Target: strings.Repeat("红", 100),
				Detail: []byte(`{"a":"新年"}`),
			})
			paytest.Must(t, err)
		}
		paytest.Must(t, b.Audit(ctx, ledger.AuditRecord{Action: "bare", Actor: "a\xffb"}))
		list, next, err := b.ListAudit(ctx, "", 3)
		if err != nil || len(list) != 3 || next == "" || list[0].Action != "bare" || string(list[0].Detail) != "null" ||
			list[0].Actor != `a\xffb` {
			t.Fatalf("%+v, %q, %v", list, next, err)
		}
		if r := list[1]; r.Action != "three" || r.Target != strings.Repeat("红", 66) ||
			string(r.Detail) != `{"a":"新年"}` || r.At == 0 {
			t.Errorf("%+v", r)
		}
		list, next, err = b.ListAudit(ctx, next, 3)
		if err != nil || len(list) != 1 || next != "" || list[0].Action != "one" {
			t.Errorf("%+v, %q, %v", list, next, err)
		}
		if _, _, err := b.ListAudit(ctx, "x", 3); !errors.Is(err, ledger.ErrBadCursor) {
			t.Error(err)
		}
	})
}
