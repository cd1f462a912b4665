package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

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

// An operator makes a new key, is told its number only, and is put on record; a second at once is refused.
func TestRotateSeal(t *testing.T) {
	keys, notes := &seals{number: 3}, &auditNotes{}
	a := New(Options{Seals: keys, Audit: notes, Operators: testStaff, Log: slog.New(slog.DiscardHandler)})
	wantAnswer(t, ask(a, "admin", "POST", "/seal/rotate", ""), http.StatusOK, `{"key":4}`)
	keys.quick = true
	wantAnswer(t, ask(a, "admin", "POST", "/seal/rotate", ""), http.StatusConflict, `"rotated_just_now"`)
	if len(notes.records) != 1 || notes.records[0].Action != "seal.rotate" || keys.number != 4 {
		t.Errorf("on record: %+v; key %d", notes.records, keys.number)
	}
}
