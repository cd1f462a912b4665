package payout

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"redrain/internal/sqldb"
)

// AuditRecord is one thing that somebody did.
type AuditRecord struct {
	At     int64  // Unix ms; set by Audit
	Actor  string // who, at most 200 bytes are kept
	Role   string
	Action string          // what, "campaign.create"
	Target string          // to which thing
	Detail json.RawMessage // nil is null

	id int64
}

// Audit appends a record.
func (l *Ledger) Audit(ctx context.Context, r AuditRecord) error {
	detail := string(r.Detail)
	if detail == "" {
		detail = "null"
	}
	row := [][]any{{l.clock(), clip(r.Actor, 200), clip(r.Role, 32), clip(r.Action, 64), clip(r.Target, 200), detail}}
	err := l.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Insert(ctx, "audit", []string{"at", "actor", "role", "action", "target", "detail"}, row, sqldb.Merge{})
	})
	if err != nil {
		return fmt.Errorf("audit of %s: %w", r.Action, err)
	}
	return nil
}

// AuditLog lists the records, newest first. An empty cursor begins; next is empty on the last page.
func (l *Ledger) AuditLog(ctx context.Context, cursor string, limit int) (list []AuditRecord, next string, err error) {
	before, err := numberCursor(cursor, math.MaxInt64)
	if err != nil {
		return nil, "", err
	}
	list = []AuditRecord{}
	err = l.db.Each(ctx, func(scan sqldb.Scan) error {
		var r AuditRecord
		var detail []byte
		err := scan(&r.id, &r.At, &r.Actor, &r.Role, &r.Action, &r.Target, &detail)
		r.Detail = detail
		list = append(list, r)
		return err
	}, "SELECT id, at, actor, role, action, target, detail FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?", before, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("audit log: %w", err)
	}
	if len(list) > limit {
		list, next = list[:limit], strconv.FormatInt(list[limit-1].id, 10)
	}
	return list, next, nil
}
