package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
	api   *API
}

func newOffice(t *testing.T, above rain.Money) *office {
	t.Helper()
	o := &office{desk: &desk{answered: map[string]*ledger.Answer{}}, t: t, b: paytest.OnSQLite(t)}
	people := staff{
		"ann": person("ann", auth.RoleCashier), "bob": person("bob", auth.RoleAdmin),
		"cyd": person("cyd", auth.RoleViewer), "dan": person("dan", auth.RoleOperator),
		"fay": person("fay", auth.RoleCashier), "shared": testStaff["shared"],
	}
	o.api = New(Options{
		Withdrawals: o.b.Withdrawals, DeadLetters: o.b.DeadLetters, Approvals: o.b.Approvals.Above(&above),
		Sponsors: o.b.Sponsors, Audit: &o.notes, Answers: o.desk, Notifier: o.desk, Operators: people,
		WakePayer: func() { o.woken++ }, TellWithdrawn: func(id string) { o.ended = append(o.ended, id) },
		Log: paytest.Quiet,
	})
	return o
}

// call sends a request, and returns the order of the answer, if it is one.
func (o *office) call(who, method, path, body string, want int) openapi.Approval {
	o.t.Helper()
	w := ask(o.api, who, method, path, body)
	var a openapi.Approval
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != want {
		o.t.Errorf("%s: %s %s: %d %s, want %d (%v)", who, method, path, w.Code, w.Body, want, err)
	}
	return a
}

// TestTheSecondPersonNeedsTheRight to what they decide on, and not only to decide.
func TestTheSecondPersonNeedsTheRight(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 0)
	asked := o.call("ann", "POST", "/sponsors/acme/deposits", `{"amount":5,"reference":"r"}`, http.StatusAccepted)
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
