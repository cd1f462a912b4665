package server

import (
	"context"
	"encoding/json"
	"net/http"

	"redrain/payout"
)

// auditView is one record of the audit log. At is Unix ms.
type auditView struct {
	At     int64           `json:"at"`
	Actor  string          `json:"actor"`
	Role   string          `json:"role"`
	Action string          `json:"action"`
	Target string          `json:"target"`
	Detail json.RawMessage `json:"detail"`
}

// audit records an operator's command that has been carried out.
func (a *api) audit(r *http.Request, who caller, action, target string, detail map[string]any) {
	a.log.Info("operator's command", "action", action, "target", target, "by", who.name, "addr", clientAddress(r))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), backendTimeout)
	defer cancel()
	detail["address"] = clientAddress(r)
	err := a.ledger.Audit(ctx, payout.AuditRecord{Actor: who.name, Role: who.role, Action: action, Target: target, Detail: encode(detail)})
	if err != nil {
		a.log.Error("the audit log has a gap: the command above could not be recorded", "action", action, "target", target, "err", err)
	}
}

func (a *api) auditLog(w http.ResponseWriter, r *http.Request, _ caller) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	records, next, err := a.ledger.AuditLog(r.Context(), p.cursor, p.limit)
	if err != nil {
		return err
	}
	views := make([]auditView, len(records))
	for i, rec := range records {
		views[i] = auditView{At: rec.At, Actor: rec.Actor, Role: rec.Role, Action: rec.Action, Target: rec.Target, Detail: rec.Detail}
	}
	writeJSON(w, http.StatusOK, listOf(views, next))
	return nil
}
