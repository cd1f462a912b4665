package api

import (
	"context"
	"errors"
	"net/http"
	"unicode/utf8"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/timeout"
)

// audited returns the context of an operator's command. The ledger records each change under it in the same
// transaction, with the values before and after. A refused command changes nothing, and is in the log only.
func (a *API) audited(r *http.Request, who caller, action string, detail map[string]any) context.Context {
	return ledger.WithAudit(r.Context(), auditRecord(r, who, action, "", detail))
}

func auditRecord(r *http.Request, who caller, action, target string, detail map[string]any) ledger.AuditRecord {
	if detail == nil {
		detail = map[string]any{}
	}
	detail["address"] = clientip.RequestKey(r)
	return ledger.AuditRecord{Actor: who.name, Role: who.role, Action: action, Target: target, Detail: encode(detail)}
}

// audit records a command that changes nothing in the ledger itself. The ledger records its own changes.
func (a *API) audit(r *http.Request, who caller, action, target string, detail map[string]any) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout.Backend)
	defer cancel()
	if err := a.o.Audit.Audit(ctx, auditRecord(r, who, action, target, detail)); err != nil {
		a.o.Log.Error("record a command; the audit log has a gap", "action", action, "target", target,
			"err", err)
	}
}

// logCommand logs an operator's command and how it ended.
func (a *API) logCommand(r *http.Request, who caller, err error) {
	args := []any{"method", r.Method, "path", r.URL.Path, "by", who.name, "addr", clientip.RequestKey(r)}
	if err != nil {
		a.o.Log.Info("an operator's command was refused or failed", append(args, "err", err)...)
		return
	}
	a.o.Log.Info("operator's command", args...)
}

func (a *API) auditLog(w http.ResponseWriter, r *http.Request, _ caller) error {
	read, target := a.o.Audit.ListAudit, r.URL.Query().Get("target")
	if !utf8.ValidString(target) {
		return rain.Invalid{{Field: "target", Message: "is the target of a record"}}
	}
	if target != "" {
		read = func(ctx context.Context, cursor string, limit int) ([]ledger.AuditRecord, string, error) {
			return a.o.Audit.ListAuditOf(ctx, target, cursor, limit)
		}
	}
	return answerList(w, r, read, func(rec ledger.AuditRecord) openapi.AuditRecord {
		return openapi.AuditRecord{At: rec.At, Actor: rec.Actor, Role: rec.Role, Action: rec.Action, Target: rec.Target,
			Detail: rec.Detail}
	})
}

// maxFaults is the number of faults that an answer names; the others are counted.
const maxFaults = 1000

func (a *API) auditRoots(w http.ResponseWriter, r *http.Request, _ caller) error {
	return answerList(w, r, a.o.Roots.ListRoots, func(root chain.Root) chain.Root { return root })
}

// verifyAudit compares all rows with their hashes, blocks and roots, including roots that the caller has kept. It may
// take minutes, and changes nothing.
func (a *API) verifyAudit(w http.ResponseWriter, r *http.Request, who caller) error {
	asked, err := bodyOf(w, r, who, struct {
		From  string       `json:"from"`
		Roots []chain.Root `json:"roots"`
	}{})
	if err != nil {
		return err
	}
	found := openapi.AuditVerification{Findings: []string{}}
	v, err := a.o.Roots.Verify(r.Context(), chain.VerifyOptions{From: asked.From, Noted: asked.Roots,
		Found: func(what string) {
			if len(found.Findings) < maxFaults {
				found.Findings = append(found.Findings, what)
			}
		}})
	if unknown, ok := errors.AsType[chain.UnknownDayError](err); ok {
		return rain.Invalid{{Field: "from", Message: unknown.Error() + "; give a day that GET /audit/roots has"}}
	}
	if err != nil {
		return err
	}
	found.Roots, found.Blocks, found.Rows, found.Faults = v.Roots, v.Blocks, v.Rows, v.Faults
	found.Whole = found.Faults == 0
	return answer(w, found, nil)
}

// rotateSeal creates a new key for the seals. Of two requests at once the second gets "too soon".
func (a *API) rotateSeal(w http.ResponseWriter, r *http.Request, who caller) error {
	number, err := a.o.Seals.Rotate(r.Context())
	if err != nil {
		return err
	}
	a.audit(r, who, "seal.rotate", "seal", map[string]any{"key": number})
	return answer(w, openapi.SealKey{Key: number}, nil)
}
