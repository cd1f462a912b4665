package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
)

// office is the API before a real ledger, with people of all kinds.
type office struct {
	*desk

	t     *testing.T
	b     *paytest.Books
	notes auditNotes
	mux   *http.ServeMux
}

func newOffice(t *testing.T, above rain.Money) *office {
	t.Helper()
	o := &office{desk: &desk{answered: map[string]*ledger.Answer{}}, t: t, b: paytest.OnSQLite(t),
		mux: http.NewServeMux()}
	people := staff{
		"ann": person("ann", auth.RoleCashier), "bob": person("bob", auth.RoleAdmin),
		"cyd": person("cyd", auth.RoleViewer), "dan": person("dan", auth.RoleOperator),
		"fay": person("fay", auth.RoleCashier), "shared": testStaff["shared"],
	}
	New(Options{
		Withdrawals: o.b.Withdrawals, DeadLetters: o.b.DeadLetters, Approvals: o.b.Approvals.Above(&above),
		Sponsors: o.b.Sponsors, Audit: &o.notes, Answers: o.desk, Notifier: o.desk, Operators: people,
		WakePayer: func() { o.woken++ }, TellWithdrawn: func(id string) { o.ended = append(o.ended, id) },
		Log: paytest.Quiet,
	}).Mount(o.mux)
	return o
}

// call is a request with an idempotency key that may be "". It tells the order that is answered, if one is.
func (o *office) call(who, method, path, key, body string, want int) openapi.Approval {
	o.t.Helper()
	w := o.ask(who, method, path, key, body)
	var a openapi.Approval
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != want {
		o.t.Errorf("%s: %s %s: %d %s, want %d (%v)", who, method, path, w.Code, w.Body, want, err)
	}
	return a
}

func (o *office) ask(who, method, path, key, body string) *httptest.ResponseRecorder {
	o.t.Helper()
	r := httptest.NewRequest(method, Root+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	o.mux.ServeHTTP(w, r)
	return w
}

// TestDepositByTwoPeople goes the whole way: asked for, refused to everybody who may not, confirmed once.
func TestDepositByTwoPeople(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 100)
	const path, much = "/sponsors/acme/deposits", `{"amount":500,"reference":"r1"}`
	o.call("ann", "POST", path, "", `{"amount":100,"reference":"r0"}`, http.StatusCreated)
	o.call("shared", "POST", path, "", much, http.StatusForbidden)
	asked := o.call("ann", "POST", path, "k", much, http.StatusAccepted)
	if asked.Action != "deposit" || asked.Target != "acme" || asked.Amount != 500 || asked.Reference != "r1" ||
		asked.AskedBy != "ann" || asked.State != "pending" || asked.ExpiresAt-asked.AskedAt != 86_400_000 {
		t.Errorf("%+v", asked)
	}
	for name, again := range map[string]openapi.Approval{
		"under its key":    o.call("ann", "POST", path, "k", much, http.StatusAccepted),
		"without one":      o.call("ann", "POST", path, "", much, http.StatusAccepted),
		"by somebody else": o.call("bob", "POST", path, "", much, http.StatusAccepted),
	} {
		if again != asked {
			t.Errorf("asked for again %s: %+v", name, again)
		}
	}
	confirm := "/approvals/" + asked.Approval + "/confirm"
	for who, want := range map[string]int{
		"ann": http.StatusConflict, "cyd": http.StatusForbidden, "dan": http.StatusForbidden,
		"shared": http.StatusForbidden, "eve": http.StatusUnauthorized,
	} {
		o.call(who, "POST", confirm, "", "", want)
	}
	o.call("bob", "POST", "/approvals/a0/confirm", "", "", http.StatusNotFound)
	o.call("bob", "POST", confirm, "", `{"by":"cyd"}`, http.StatusUnprocessableEntity)
	if balance, err := o.b.SponsorBalance(t.Context(), "acme"); err != nil || balance != 100 {
		t.Errorf("before it is confirmed there is %d, %v", balance, err)
	}
	done := o.call("bob", "POST", confirm, "", `{"reason":"the bank has it"}`, http.StatusOK)
	if done.State != "confirmed" || done.DecidedBy != "bob" || done.Decision != "the bank has it" {
		t.Errorf("%+v", done)
	}
	o.call("bob", "POST", confirm, "", "", http.StatusConflict)
	o.call("bob", "POST", "/approvals/"+asked.Approval+"/reject", "", `{"reason":"x"}`, http.StatusConflict)
	if balance, err := o.b.SponsorBalance(t.Context(), "acme"); err != nil || balance != 600 {
		t.Errorf("there is %d, %v", balance, err)
	}
	if shown := o.call("cyd", "GET", "/approvals/"+asked.Approval, "", "", http.StatusOK); shown != done {
		t.Errorf("%+v is shown as %+v", done, shown)
	}
	o.call("cyd", "GET", "/approvals?state=done", "", "", http.StatusUnprocessableEntity)
	o.call("ann", "POST", path, "", `{"amount":7,"reference":"r2"}`, http.StatusCreated)
	for body, want := range map[string]string{`{"amount":100,"reference":"r0"}`: `{"sponsor":"acme","balance":100}`,
		much: `{"sponsor":"acme","balance":600}`} {
		if w := o.ask("ann", "POST", path, "", body); w.Code != http.StatusCreated ||
			strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s again: %d %s, want what it was answered with first: %s", body, w.Code, w.Body, want)
		}
	}
	o.call("ann", "POST", path, "", `{"amount":99,"reference":"r0"}`, http.StatusUnprocessableEntity)
	o.b.CheckBooks(t)
}

// TestAWithdrawalEndedByTwoPeople is told to its player, by the second of them only.
func TestAWithdrawalEndedByTwoPeople(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 5)
	o.b.Rich(t, "u1", 100)
	for _, id := range []string{"w1", "w2"} {
		o.b.MustWithdraw(t, id, "u1", 10)
		paytest.Must(t, o.b.RecordDead(t.Context(), o.b.LeaseOne(t), "silence"))
	}
	paid := o.call("ann", "POST", "/withdrawals/w1/paid", "", `{"reason":"seen","reference":"x7"}`, http.StatusAccepted)
	o.call("ann", "POST", "/payouts/w2/retry", "", "", http.StatusAccepted)
	if len(o.ended) != 0 || o.woken != 0 {
		t.Errorf("told of %q, woken %d times", o.ended, o.woken)
	}
	o.call("bob", "POST", "/approvals/"+paid.Approval+"/confirm", "", "", http.StatusOK)
	if len(o.ended) != 1 || o.ended[0] != "w1" {
		t.Errorf("told of %q", o.ended)
	}
	w := o.b.WantWithdrawal(t, "w1", ledger.WithdrawalPaid, 1)
	history, err := o.b.WithdrawalHistory(t.Context(), "w1")
	if last := history[len(history)-1]; err != nil || w.Reference != "x7" || last.Actor != "operator:bob" ||
		!strings.Contains(last.Reason, "seen; asked for by ann") {
		t.Errorf("%+v, %+v, %v", w, last, err)
	}
	list, _, err := o.b.Approvals.ListApprovals(t.Context(), ledger.ApprovalPending, "", 10)
	if err != nil || len(list) != 1 || list[0].Target != "w2" {
		t.Fatalf("%+v, %v", list, err)
	}
	o.call("bob", "POST", "/approvals/"+list[0].ID+"/reject", "", `{}`, http.StatusUnprocessableEntity)
	o.call("dan", "POST", "/approvals/"+list[0].ID+"/reject", "", `{"reason":"no"}`, http.StatusForbidden)
	o.call("ann", "POST", "/approvals/"+list[0].ID+"/reject", "", `{"reason":"not yet"}`, http.StatusOK)
	back := o.call("ann", "POST", "/withdrawals/w2/back", "", `{"reason":"never paid"}`, http.StatusAccepted)
	_, err = o.b.Retry(t.Context(), "w2")
	paytest.Must(t, err)
	o.call("bob", "POST", "/approvals/"+back.Approval+"/confirm", "", "", http.StatusConflict)
	o.b.CheckBooks(t)
}

// TestTheSecondPersonNeedsTheRight to what they decide on, and not only to decide.
func TestTheSecondPersonNeedsTheRight(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 0)
	asked := o.call("ann", "POST", "/sponsors/acme/deposits", "", `{"amount":5,"reference":"r"}`, http.StatusAccepted)
	a := New(Options{Approvals: o.b.Approvals, Audit: &o.notes, Log: paytest.Quiet})
	for need, want := range map[right]bool{paying: false, judging: false, depositing: true} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.SetPathValue("id", asked.Approval)
		_, err := a.decides(httptest.NewRecorder(), r, caller{name: "eve", rights: []right{approving, need}}, false)
		if (err == nil) != want {
			t.Errorf("with the right to %s: %v", need, err)
		}
	}
	if last := o.notes.records[len(o.notes.records)-1]; last.Action != "refused" || last.Actor != "eve" {
		t.Errorf("%+v", last)
	}
}
