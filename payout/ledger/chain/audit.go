package chain

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"strings"

	"redrain/internal/sqldb"
)

// auditColumns are the columns of an audit record that its hash covers, in the order in which they are hashed.
var auditColumns = []string{"at", "actor", "role", "action", "target", "detail"}

// AuditRecord is a row of the audit.
type AuditRecord struct {
	At     int64 // Unix ms
	Actor  string
	Role   string
	Action string
	Target string
	Detail string // JSON
}

// AppendAudit inserts an audit record with its hash.
func AppendAudit(ctx context.Context, tx *sqldb.Tx, r AuditRecord) error {
	values := []any{r.At, r.Actor, r.Role, r.Action, r.Target, r.Detail}
	var c Content
	c.Add(values...)
	hash := c.Sum()
	return tx.Insert(ctx, Audits, append(AuditColumns(), "hash"), [][]any{append(values, hash[:])}, sqldb.Merge{})
}

// checkAudit compares audit records with their stored hashes. It checks at most limit records with ids above after,
// up to until. last is the id of the last one.
func checkAudit(ctx context.Context, q sqldb.Querier, after, until int64, limit int, found func(Fault)) (last int64,
	rows int64, err error) {
	values := make([]sql.NullString, len(auditColumns))
	var hash []byte
	dest := []any{&last, &hash}
	for i := range values {
		dest = append(dest, &values[i])
	}
	var c Content
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		if err := scan(dest...); err != nil {
			return err
		}
		rows++
		c.values(values)
		if is := c.Sum(); !bytes.Equal(is[:], hash) {
			found(Fault{Audits, last, values[slices.Index(auditColumns, "action")].String,
				"is not what was hashed: it was changed"})
		}
		return nil
	}, "SELECT id, hash, "+strings.Join(auditColumns, ", ")+" FROM audit WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
		after, until, limit)
	return last, rows, err
}
