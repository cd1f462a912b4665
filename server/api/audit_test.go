package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
)

// TestAuditOverHTTP: a reader gets the roots, and the result of an audit with the roots that they kept.
func TestAuditOverHTTP(t *testing.T) {
	b := paytest.OnSQLite(t)
	now := time.Date(2026, 11, 23, 0, 6, 0, 0, time.UTC)
	roots := chain.NewRoots(b.DB, func() int64 { return now.UnixMilli() }) //nolint:gocritic // now goes on
	a := newAPI(Options{Roots: roots, Operators: testStaff, Log: paytest.Quiet})
	for _, reference := range []string{"one", "two"} {
		_, err := b.Deposit(t.Context(), "acme", reference, 7)
		testenv.Must(t, err)
		paytest.HashAll(t, b.DB)
		_, err = roots.Take(t.Context())
		testenv.Must(t, err)
		now = now.AddDate(0, 0, 1)
	}
	wantAnswer(t, ask(a, "viewer", "GET", "/audit/roots?limit=1", ""), http.StatusOK, `"day":"2026-11-23"`,
		`"next_cursor":"2026-11-23"`)
	second := ask(a, "operator", "GET", "/audit/roots?cursor=2026-11-23", "")
	wantAnswer(t, second, http.StatusOK, `"day":"2026-11-22"`)
	var page struct {
		Items json.RawMessage `json:"items"`
		Next  string          `json:"next_cursor"`
	}
	testenv.Must(t, json.Unmarshal(second.Body.Bytes(), &page))
	testenv.Equal(t, page.Next, "", "a page after the last")
	noted := `{"roots":` + string(page.Items) + `}`
	for _, asked := range []string{"", `{"from":"2026-11-22"}`, noted} {
		wantAnswer(t, ask(a, "viewer", "POST", "/audit/verify", asked), http.StatusOK, `"whole":true,"roots":2,`,
			`"findings":[]`)
	}
	b.Statement(t, "DELETE FROM root WHERE day = '2026-11-22'")
	b.Statement(t, "UPDATE root SET previous = ''")
	b.Statement(t, "UPDATE deposit SET amount = 8 WHERE reference = 'two'")
	wantAnswer(t, ask(a, "viewer", "POST", "/audit/verify", noted), http.StatusOK, `"whole":false`, `"faults":3`,
		"root of 2026-11-22 was noted", "root of 2026-11-23 in the", "transaction 2 (deposit:acme:two")
	wantAnswer(t, ask(a, "viewer", "POST", "/audit/verify", `{"from":"2026-11-21"}`), 422, "no root of 2026-11-21")
	wantAnswer(t, ask(a, "viewer", "POST", "/audit/verify", `{"root":[]}`), 422, "not a field")
	wantAnswer(t, ask(a, "viewer", "POST", "/audit/verify", `{`), 400, "malformed")
}

// seals make keys with rising numbers, or are too quick.
type seals struct {
	number int64
	quick  bool
}

func (s *seals) Rotate(context.Context) (int64, error) {
	if s.quick {
		return 0, posting.ErrRotatedJustNow
	}
	s.number++
	return s.number, nil
}

// auditNotes keep the audit records.
type auditNotes struct {
	records []ledger.AuditRecord
	away    atomic.Bool
}

func (a *auditNotes) Audit(_ context.Context, r ledger.AuditRecord) error {
	if a.away.Load() {
		return errors.New("the ledger is away")
	}
	a.records = append(a.records, r)
	return nil
}

func (*auditNotes) ListAuditOf(context.Context, string, string, int) ([]ledger.AuditRecord, string, error) {
	return nil, "", nil
}

func (*auditNotes) ListAudit(context.Context, string, int) ([]ledger.AuditRecord, string, error) {
	return nil, "", nil
}

// An operator makes a new key, receives its number only, and is recorded. A second key at once is refused.
func TestRotateSeal(t *testing.T) {
	keys, notes := &seals{number: 3}, &auditNotes{}
	a := newAPI(Options{Seals: keys, Audit: notes, Operators: testStaff, Log: slog.New(slog.DiscardHandler)})
	wantAnswer(t, ask(a, "admin", "POST", "/seal/rotate", ""), http.StatusOK, `{"key":4}`)
	keys.quick = true
	wantAnswer(t, ask(a, "admin", "POST", "/seal/rotate", ""), http.StatusConflict, `"rotated_just_now"`)
	if len(notes.records) != 1 || notes.records[0].Action != "seal.rotate" || keys.number != 4 {
		t.Errorf("on record: %+v; key %d", notes.records, keys.number)
	}
}
