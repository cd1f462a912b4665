package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"redrain/internal/auth"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
)

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

// auditNotes are what was put on record.
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

// An operator makes a new key, is told its number only, and is put on record; a second at once is refused, as is a
// viewer.
func TestRotateSeal(t *testing.T) {
	keys, notes := &seals{number: 3}, &auditNotes{}
	a := New(Options{Seals: keys, Audit: notes, Operators: auth.NewOperators("the operator's token",
		"the viewer's token"),
		Log: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	a.Mount(mux)
	for _, c := range []struct {
		token  string
		quick  bool
		status int
		says   string
	}{
		{"the operator's token", false, http.StatusOK, `{"key":4}`},
		{"the operator's token", true, http.StatusConflict, `"rotated_just_now"`},
		{"the viewer's token", false, http.StatusForbidden, `"forbidden"`},
		{"nobody's", false, http.StatusUnauthorized, `"unauthorized"`},
	} {
		keys.quick = c.quick
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Root+"/seal/rotate", nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		mux.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.token, w.Code, w.Body)
		}
	}
	if len(notes.records) != 2 || notes.records[0].Action != "seal.rotate" || notes.records[1].Action != "refused" ||
		keys.number != 4 {
		t.Errorf("on record: %+v; key %d", notes.records, keys.number)
	}
}
