package api

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/server/campaigns"
)

// slowProofs take some seconds for a full proof, or fail after them.
type slowProofs struct {
	Proofs
	seconds int
	err     error
	ended   chan error
}

func (p slowProofs) Full(ctx context.Context, progress func(reconcile.Progress)) (reconcile.Books, error) {
	for n := range p.seconds {
		progress(reconcile.Progress{Part: "the accounts", Done: int64(n)})
		select {
		case <-ctx.Done():
			p.ended <- ctx.Err()
			return reconcile.Books{}, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return reconcile.Books{Balanced: true}, p.err
}

// TestAFullProofTellsHowFarItHasCome for longer than the progress timeout. A second proof is refused. A proof that
// fails in the middle is cut, and a proof ends if its reader leaves.
func TestAFullProofTellsHowFarItHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, p slowProofs) (w *httptest.ResponseRecorder, cut bool) {
			mux := http.NewServeMux()
			newAPI(Options{Proofs: p, Operators: auth.NewOperators(
				func() string { return "operator" }, func() string { return "viewer" }), Log: paytest.Quiet}).Mount(mux)
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, Root+"/reconciliation/full", nil)
			r.Header.Set("Authorization", "Bearer viewer")
			w = httptest.NewRecorder()
			defer func() { cut = recover() != nil }()
			mux.ServeHTTP(w, r)
			return w, false
		}
		w, cut := ask(t.Context(), slowProofs{seconds: 100})
		lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
		if cut || w.Code != http.StatusOK || len(lines) < 99 || !strings.Contains(lines[50], `"part":"the accounts"`) ||
			!strings.HasPrefix(lines[len(lines)-1], `{"books":{"balanced":true`) {
			t.Errorf("%d, cut: %v, %q", w.Code, cut, lines)
		}
		w, _ = ask(t.Context(), slowProofs{err: campaigns.ErrFullProof})
		wantAnswer(t, w, http.StatusConflict, `"proof_running"`)
		w, cut = ask(t.Context(), slowProofs{seconds: 3, err: errors.New("the database is gone")})
		if !cut || strings.Contains(w.Body.String(), "books") {
			t.Errorf("cut: %v, %s", cut, w.Body)
		}
		ctx, leave := context.WithTimeout(t.Context(), 5*time.Second)
		defer leave()
		ended := make(chan error, 1)
		ask(ctx, slowProofs{seconds: 1000, ended: ended})
		if err := <-ended; err == nil {
			t.Error("the proof goes on without a reader")
		}
	})
}

// TestStatementsOverHTTP: a statement against a real ledger, on each kind of database.
func TestStatementsOverHTTP(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.Rich(t, "u", 100)
		for _, id := range []string{"w1", "w2"} {
			testenv.Must(t, b.RecordPaid(t.Context(), b.MustSend(t, id, "u", 10), "ref "+id))
		}
		_, err := b.Deposit(t.Context(), "acme", "bank-7", 500)
		testenv.Must(t, err)
		a := newAPI(Options{Statements: paytest.Node(t, b).Statements, Operators: testStaff, Log: paytest.Quiet})
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
			{`"of":"deposits","columns":{"k":"x","l":"y"},`, "key,amount\n", 422,
				[]string{`"errors":[{"field":"columns","message":"a column is one of key, reference, amount, ` +
					`currency and state"}]`}},
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

// archive exports one campaign, c1.
type archive struct {
	oneCampaign
	Proofs
	auditRecords

	over     error // what Check says
	balanced bool
	broken   error // of a write, after some of it
	audit    []ledger.AuditRecord
}

func (a *archive) Campaign(context.Context, string) (reconcile.Reconciliation, error) {
	return reconcile.Reconciliation{Balanced: a.balanced}, nil
}

func (a *archive) Check(context.Context, string) error { return a.over }

func (a *archive) Write(_ context.Context, campaign, by string, proof any, to io.Writer) (export.Trailer, error) {
	if p, ok := proof.(reconcile.Reconciliation); !ok || !p.Balanced {
		return export.Trailer{}, errors.New("without a proof")
	}
	_, err := io.WriteString(to, campaign+" for "+by)
	return export.Trailer{Rows: 3, SHA256: "ab"}, errors.Join(err, a.broken)
}

func (a *archive) Audit(_ context.Context, r ledger.AuditRecord) error {
	a.audit = append(a.audit, r)
	return nil
}

// fetch asks for the export of a campaign.
func (a *archive) fetch(campaign string) (*httptest.ResponseRecorder, error) {
	api := newAPI(Options{Campaigns: a, Proofs: a, Exports: a, Audit: a, Log: slog.New(slog.DiscardHandler)})
	q, w := by(caller{name: "ann", role: "operator"}, httptest.NewRequest(http.MethodGet, "/", nil))
	q.SetPathValue("id", campaign)
	_, err := api.exportCampaign(q)
	return w, err
}

// TestExport streams a campaign as a gzip file, and has its hash in the audit.
func TestExport(t *testing.T) {
	a := &archive{balanced: true}
	w, err := a.fetch("c1")
	if err != nil || w.Header().Get("Content-Type") != "application/gzip" {
		t.Fatal(w.Header(), err)
	}
	packed, err := gzip.NewReader(w.Body)
	testenv.Must(t, err)
	if text, err := io.ReadAll(packed); err != nil || string(text) != "c1 for ann" {
		t.Errorf("%q, %v", text, err)
	}
	if len(a.audit) != 1 || a.audit[0].Action != "campaign.export" || a.audit[0].Target != "campaign:c1" ||
		!strings.Contains(string(a.audit[0].Detail), `"sha256":"ab"`) {
		t.Errorf("%+v", a.audit)
	}
}

// TestExportIsRefused where the campaign is not over, or not proved, and cut where the ledger fails half-way.
func TestExportIsRefused(t *testing.T) {
	for want, c := range map[string]struct {
		of      string
		archive archive
	}{
		"404 unknown_campaign":  {"c2", archive{balanced: true}},
		"409 campaign_not_over": {"c1", archive{balanced: true, over: export.ErrNotOver}},
		"409 unbalanced":        {"c1", archive{}},
	} {
		w, err := c.archive.fetch(c.of)
		fail(w, httptest.NewRequest(http.MethodGet, "/", nil), slog.New(slog.DiscardHandler), err)
		status, code, _ := strings.Cut(want, " ")
		if http.StatusText(w.Code) == "" || w.Result().Status[:3] != status ||
			!strings.Contains(w.Body.String(), `"code":"`+code+`"`) {
			t.Errorf("%s: %d %s", want, w.Code, w.Body)
		}
	}
	cut := &archive{balanced: true, broken: errors.New("the database is gone")}
	if _, err := cut.fetch("c1"); !errors.Is(err, errCut) || len(cut.audit) > 0 {
		t.Errorf("%v, %+v", err, cut.audit)
	}
}
