package ledger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestChangesAreAudited(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		deposit := func(amount rain.Money) error {
			_, err := b.Deposit(paytest.As(t, "deposit"), "acme", "invoice 1", amount)
			return err
		}
		for range 3 { // the same request again
			testenv.Must(t, deposit(500))
		}
		testenv.WantErr(t, deposit(501), ledger.ErrReferenceReused)
		r, before, after, n := b.LastAudit(t)
		if n != 1 || r.Actor != "ann" || r.Action != "deposit" || r.Target != "sponsor:acme" ||
			r.Request != paytest.Request || before["balance"] != 0.0 || after["balance"] != 500.0 {
			t.Errorf("%d records, %+v", n, r)
		}
		var detail struct {
			Address string `json:"address"`
		}
		if err := json.Unmarshal(r.Detail, &detail); err != nil || detail.Address != "::1" {
			t.Errorf("%s, %v", r.Detail, err)
		}

		c := &rain.Campaign{ID: "c1", Status: rain.Loading, Revision: 1, Spec: rain.Spec{
			Name: "x", Sponsor: "acme", Budget: 100, Packets: 10, Shards: 1, Min: 1, Split: rain.Even,
		}}
		for i := range 2 {
			if err := b.CreateCampaign(paytest.As(t, "campaign.create"), c); (i > 0) != errors.Is(err,
				ledger.ErrCampaignExists) {
				t.Fatal(err)
			}
		}
		r, before, after, n = b.LastAudit(t)
		if n != 2 || r.Target != "campaign:c1" || before["sponsor_balance"] != 500.0 ||
			after["sponsor_balance"] != 400.0 || after["budget"] != 100.0 {
			t.Errorf("%d records, %+v: %s", n, r, r.Detail)
		}
		if _, err := b.Update(ledger.WithoutAudit(paytest.As(t, "campaign.create")), "c1",
			func(c *rain.Campaign) error { c.Stocked(); return nil }); err != nil {
			t.Fatal(err)
		}
		for i, change := range []func(*rain.Campaign) error{
			(*rain.Campaign).Pause, (*rain.Campaign).Pause, // done, though it changes nothing
			func(*rain.Campaign) error { return rain.ErrRainRunning }, // refused
			func(*rain.Campaign) error { return ledger.ErrUnchanged }, // a repeated answer
		} {
			_, err := b.Update(paytest.As(t, "campaign.pause"), "c1", change)
			if (err != nil) != (i == 2) {
				t.Errorf("change %d: %v", i, err)
			}
			r, before, after, n = b.LastAudit(t)
			if want := min(3+i, 4); n != want || r.Action != "campaign.pause" || after["status"] != "paused" {
				t.Errorf("change %d: %d records, want %d: %s", i, n, want, r.Detail)
			}
			if i == 0 && (before["status"] != "open" || before["revision"] != 2.0 || after["revision"] != 3.0) {
				t.Errorf("%s", r.Detail)
			}
		}

		b.MustPost(t, paytest.Entry("c2", 1, paytest.Win("u1", 0, 10)))
		testenv.WantErr(t, testenv.Err(b.Retry(paytest.As(t, "payout.retry"), "c2-0")), ledger.ErrStillDead)
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 10})
		testenv.Must(t, testenv.Err(b.Retry(paytest.As(t, "payout.retry"), "c2-0")))
		r, before, after, n = b.LastAudit(t)
		if n != 5 || r.Target != "claim:c2-0" || before["state"] != "dead" || after["state"] != "settled" ||
			after["user"] != "u1" || after["amount"] != 10.0 {
			t.Errorf("%d records: %s", n, r.Detail)
		}
	})
}

// TestNothingHappensUnaudited: if the record cannot be written, the change is not written either.
func TestNothingHappensUnaudited(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		trigger := "CREATE TRIGGER gap BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the log is full'); END"
		if b.DB.Dialect() == sqldb.MySQL {
			trigger = "CREATE TRIGGER gap BEFORE INSERT ON audit FOR EACH ROW SIGNAL SQLSTATE '45000' " +
				"SET MESSAGE_TEXT = 'the log is full'"
		}
		b.Statement(t, trigger)
		testenv.WantFail(t, testenv.Err(b.Deposit(paytest.As(t, "deposit"), "acme", "more", 500)),
			"a deposit without a record")
		testenv.WantFail(t, testenv.Err(b.Update(paytest.As(t, "campaign.pause"), "c1", (*rain.Campaign).Pause)),
			"a pause without a record")
		b.WantBalance(t, booking.SponsorAccount("acme"), 0)
		if c, err := b.Campaign(t.Context(), "c1"); err != nil || c.Status != rain.Open || c.Revision != 2 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

func TestIdempotencyKeys(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		begin := func(key, body string) (*ledger.Answer, error) { return b.Begin(ctx, key, []byte(body)) }
		testenv.Got(begin("k", "body")).Want(t, nil, "stored answer")
		testenv.WantErr(t, testenv.Err(begin("k", "body")), ledger.ErrIdempotencyBusy)
		testenv.WantErr(t, testenv.Err(begin("k", "other")), ledger.ErrIdempotencyUnequal)
		testenv.Must(t, b.Finish(ctx, "k", ledger.Answer{Status: 201, Body: []byte("{\"a\":\x00\xff}")}))
		for range 2 {
			if a, err := begin("k", "body"); err != nil || a == nil || a.Status != 201 ||
				string(a.Body) != "{\"a\":\x00\xff}" {
				t.Errorf("%+v, %v", a, err)
			}
		}
		testenv.WantErr(t, testenv.Err(begin("k", "other")), ledger.ErrIdempotencyUnequal)
		testenv.Must(t, b.Forget(ctx, "k"))
		if a, err := begin("k", "body"); err != nil || a == nil {
			t.Errorf("a success was forgotten: %v, %v", a, err)
		}

		want := func(key, body string, answered bool) {
			t.Helper()
			if a, err := begin(key, body); err != nil || (a != nil) != answered {
				t.Errorf("%.20s %s: %+v, %v", key, body, a, err)
			}
		}
		// A key with a time in the future is free at once, like one of an aborted request.
		want("dated", "1", false)
		b.Statement(t, "UPDATE idempotency SET expires_at = 4102444800000 WHERE status = 0")
		want("dated", "1", false)
		// The key of a failed request is free at once, of an aborted one after a minute, of an answered one after a
		// day.
		want("failed", "1", false)
		testenv.Must(t, b.Forget(ctx, "failed"))
		want("failed", "2", false)
		b.Clock.Add(ledger.RequestLease)
		want("failed", "3", false)
		want("k", "body", true)
		b.Clock.Add(ledger.AnswerKept)
		want("k", "another", false)
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM idempotency"), 1, "keys are kept")
		want(strings.Repeat("long ", 1000), "", false)
		testenv.Must(t, b.Finish(ctx, strings.Repeat("long ", 1000), ledger.Answer{Status: 204}))
	})
}

func TestOneOfManyEqualRequestsBegins(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		paytest.WantOfMany(t, 8, 1, ledger.ErrIdempotencyBusy,
			func(int) error { return testenv.Err(b.Begin(t.Context(), "k", nil)) })
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
			testenv.Must(t, err)
		}
		testenv.Must(t, b.Audit(ctx, ledger.AuditRecord{Action: "bare", Actor: "a\xffb"}))
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
		testenv.WantErr(t, paytest.Err3(b.ListAudit(ctx, "x", 3)), ledger.ErrBadCursor)
	})
}
