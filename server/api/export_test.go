package api

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// archive exports one campaign, c1.
type archive struct {
	Campaigns
	Proofs
	auditRecords

	over     error // what Check says
	balanced bool
	broken   error // of a write, after some of it
	audit    []ledger.AuditRecord
}

func (*archive) Get(_ context.Context, id string) (*rain.Campaign, error) {
	if id != "c1" {
		return nil, posting.ErrUnknownCampaign
	}
	return &rain.Campaign{ID: id}, nil
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
	api := New(Options{Campaigns: a, Proofs: a, Exports: a, Audit: a, Log: slog.New(slog.DiscardHandler)})
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetPathValue("id", campaign)
	err := api.exportCampaign(w, r, caller{name: "ann", role: "operator"})
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
