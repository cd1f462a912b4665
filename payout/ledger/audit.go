package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"redrain/internal/requestid"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// AuditLog is the log of operators' actions.
type AuditLog struct {
	db    *sqldb.DB
	clock rain.Clock
}

// AuditRecord is one action.
type AuditRecord struct {
	At     int64           `json:"at"`    // Unix ms; set by the ledger
	Actor  string          `json:"actor"` // at most 200 bytes are kept
	Role   string          `json:"role"`
	Action string          `json:"action"` // for example "campaign.create"
	Target string          `json:"target"` // with WithAudit, "" is the changed row
	Detail json.RawMessage `json:"detail"` // nil is null; with WithAudit an object or nil
	// Request is the id of the HTTP request, set by the ledger from its context; "": not by a request.
	Request string `json:"request"`

	id int64
}

var auditTable = sqldb.NewTable("audit", func(r *AuditRecord) []any {
	return []any{"id", &r.id, "at", &r.At, "actor", &r.Actor, "role", &r.Role, "action", &r.Action,
		"target", &r.Target, "detail", (*[]byte)(&r.Detail), "request", &r.Request}
})

// maxActor is the length limit of an actor, in bytes.
const maxActor = 200

type auditKey struct{}

// WithAudit records the ledger's changes under ctx as r, with the state before and after, in the transaction of the
// change. A repeated deposit or creation changes nothing and is not recorded.
func WithAudit(ctx context.Context, r AuditRecord) context.Context {
	return context.WithValue(ctx, auditKey{}, &r)
}

// WithoutAudit ends WithAudit, for changes that follow from a command.
func WithoutAudit(ctx context.Context) context.Context {
	return context.WithValue(ctx, auditKey{}, (*AuditRecord)(nil))
}

// withDetail returns the record with more details. Its own details of the same names stay.
func (r AuditRecord) withDetail(more map[string]any) (AuditRecord, error) {
	given, detail := map[string]json.RawMessage{}, map[string]any{}
	if len(r.Detail) > 0 {
		if err := json.Unmarshal(r.Detail, &given); err != nil {
			return r, err
		}
	}
	maps.Copy(detail, more)
	for name, value := range given {
		detail[name] = value
	}
	var err error
	r.Detail, err = json.Marshal(detail)
	return r, err
}

// auditAs records the following changes as another action, with more details.
func auditAs(ctx context.Context, action string, more map[string]any) context.Context {
	asked, _ := ctx.Value(auditKey{}).(*AuditRecord)
	if asked == nil {
		return ctx
	}
	r, err := asked.withDetail(more)
	if err != nil {
		return ctx // auditChange reports the same error
	}
	r.Action = action
	return WithAudit(ctx, r)
}

// auditActor returns the actor of the changes under ctx, or "".
func auditActor(ctx context.Context) string {
	if asked, _ := ctx.Value(auditKey{}).(*AuditRecord); asked != nil {
		return sqldb.Storable(asked.Actor, maxActor)
	}
	return ""
}

// change is one side of an audit record's comparison: a target and its state.
type change struct {
	target string
	state  map[string]any
}

// auditChange records a transaction's change if ctx requests it.
func auditChange(ctx context.Context, tx *sqldb.Tx, now int64, before, after change) error {
	asked, _ := ctx.Value(auditKey{}).(*AuditRecord)
	if asked == nil {
		return nil
	}
	r, err := asked.withDetail(map[string]any{"before": before.state, "after": after.state})
	if err != nil {
		return fmt.Errorf("audit of %s: %w", r.Action, err)
	}
	r.Target = cmp.Or(r.Target, after.target)
	return writeAudit(ctx, tx, now, r)
}

// Audit appends a record of an action that is no change of the ledger. WithAudit records changes.
func (a *AuditLog) Audit(ctx context.Context, r AuditRecord) error {
	return a.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error { return writeAudit(ctx, tx, a.clock(), r) })
}

func writeAudit(ctx context.Context, tx *sqldb.Tx, now int64, r AuditRecord) error {
	detail := string(r.Detail)
	if detail == "" {
		detail = "null"
	}
	err := chain.AppendAudit(ctx, tx, chain.AuditRecord{At: now, Actor: sqldb.Storable(r.Actor, maxActor),
		Role: sqldb.Storable(r.Role, 32), Action: sqldb.Storable(r.Action, 64), Target: sqldb.Storable(r.Target, 200),
		Detail: detail, Request: requestid.Of(ctx)})
	return sqldb.Wrap(err, "audit of %s", r.Action)
}

// ListAudit lists the records, the newest first. "" is the first cursor. next is "" on the last page.
func (a *AuditLog) ListAudit(ctx context.Context, cursor string, limit int) ([]AuditRecord, string, error) {
	return a.list(ctx, sqldb.Where{}, cursor, limit)
}

// ListAuditOf is ListAudit for one target.
func (a *AuditLog) ListAuditOf(ctx context.Context, target, cursor string,
	limit int) (list []AuditRecord, next string, err error) {
	var where sqldb.Where
	where.And("target = ?", sqldb.Storable(target, 200))
	return a.list(ctx, where, cursor, limit)
}

func (a *AuditLog) list(ctx context.Context, where sqldb.Where, cursor string,
	limit int) (list []AuditRecord, next string, err error) {
	list, next, err = auditTable.ListPage(ctx, a.db, where, "id DESC", cursor, limit)
	return list, next, sqldb.Wrap(err, "list the audit")
}
