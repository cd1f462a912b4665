package api

import (
	"context"
	"errors"
	"unicode/utf8"

	"redrain/client/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/server/clientip"
	"redrain/server/timeout"
)

// detail is the detail of an audit record.
type detail map[string]any

// audited returns the context of an operator's command. The ledger records each change under it in the same
// transaction, with the values before and after. A refused command changes nothing, and is in the log only.
func (q *request) audited(action string, d detail) context.Context {
	return ledger.WithAudit(q.Context(), q.record(action, "", d))
}

func (q *request) record(action, target string, d detail) ledger.AuditRecord {
	if d == nil {
		d = detail{}
	}
	d["address"] = clientip.RequestKey(q.Request)
	return ledger.AuditRecord{Actor: q.name, Role: q.role, Action: action, Target: target, Detail: encode(d)}
}

// audit records a command that changes nothing in the ledger itself. The ledger records its own changes.
func (a *API) audit(q *request, action, target string, d detail) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), timeout.Backend)
	defer cancel()
	if err := a.o.Audit.Audit(ctx, q.record(action, target, d)); err != nil {
		a.o.Log.ErrorContext(ctx, "record a command; the audit log has a gap", "action", action, "target", target,
			"err", err)
	}
}

// logCommand logs an operator's command and how it ended.
func (a *API) logCommand(q *request, err error) {
	args := []any{"method", q.Method, "path", q.URL.Path, "by", q.name, "addr", clientip.RequestKey(q.Request)}
	if err != nil {
		a.o.Log.InfoContext(q.Context(), "an operator's command was refused or failed", append(args, "err", err)...)
		return
	}
	a.o.Log.InfoContext(q.Context(), "operator's command", args...)
}

func (a *API) auditLog(q *request) (any, error) {
	read, target := a.o.Audit.ListAudit, q.query("target")
	if !utf8.ValidString(target) {
		return nil, invalid("target", "is the target of a record")
	}
	if target != "" {
		read = func(ctx context.Context, cursor string, limit int) ([]ledger.AuditRecord, string, error) {
			return a.o.Audit.ListAuditOf(ctx, target, cursor, limit)
		}
	}
	return listed(q, read, same)
}

// maxFaults is the number of faults that an answer names; the others are counted.
const maxFaults = 1000

func (a *API) auditRoots(q *request) (any, error) { return listed(q, a.o.Roots.ListRoots, same) }

// verifyAudit compares all rows with their hashes, blocks and roots, including roots that the caller has kept. It may
// take minutes, and changes nothing.
func (a *API) verifyAudit(q *request) (any, error) {
	asked, err := bodyOf(q, struct {
		From  string       `json:"from"`
		Roots []chain.Root `json:"roots"`
	}{})
	if err != nil {
		return nil, err
	}
	found := openapi.AuditVerification{Findings: []string{}}
	v, err := a.o.Roots.Verify(q.Context(), chain.VerifyOptions{From: asked.From, Noted: asked.Roots,
		Found: func(what string) {
			if len(found.Findings) < maxFaults {
				found.Findings = append(found.Findings, what)
			}
		}})
	if unknown, ok := errors.AsType[chain.UnknownDayError](err); ok {
		return nil, invalid("from", "%s; give a day that GET /audit/roots has", unknown.Error())
	}
	found.Roots, found.Blocks, found.Rows, found.Faults = v.Roots, v.Blocks, v.Rows, v.Faults
	found.Whole = found.Faults == 0
	return found, err
}

// rotateSeal creates a new key for the seals. Of two requests at once the second gets "too soon".
func (a *API) rotateSeal(q *request) (any, error) {
	number, err := a.o.Seals.Rotate(q.Context())
	if err == nil {
		a.audit(q, "seal.rotate", "seal", detail{"key": number})
	}
	return openapi.SealKey{Key: number}, err
}
