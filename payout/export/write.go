package export

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// ErrNotOver is the error of a campaign that may still change.
var ErrNotOver = errors.New("only a campaign that is over can be exported: closed, its leftover back at the sponsor, " +
	"nothing refused and no dead letter waiting")

// ErrRemoved is the error of a campaign whose payouts were removed after an export.
var ErrRemoved = errors.New("the campaign's payouts were removed from the ledger: its export has them, whose SHA-256 " +
	"is in the audit record campaign.export")

// txnsAtOnce is the number of transactions in one statement; one may have 500 payouts. auditAtOnce is the number of
// audit records that one statement scans.
const (
	txnsAtOnce  = 100
	auditAtOnce = 2000
)

// Exporter writes finished campaigns. It changes nothing, holds no lock, and is safe for concurrent use.
type Exporter struct {
	db    *sqldb.DB
	clock rain.Clock
}

// New makes an exporter of a ledger's database. clock gives Unix ms.
func New(db *sqldb.DB, clock rain.Clock) *Exporter { return &Exporter{db, clock} }

// Check returns ErrNotOver for a campaign that is not finished, and ErrRemoved for one whose payouts were removed.
func (e *Exporter) Check(ctx context.Context, campaign string) error {
	var status string
	var drained bool
	_, err := e.db.First(ctx, []any{&status, &drained}, "SELECT status, drained FROM campaign WHERE id = ?", campaign)
	if err != nil {
		return err
	}
	if status != string(rain.Closed) || !drained {
		return ErrNotOver
	}
	for _, fault := range []struct {
		query string
		err   error
	}{
		{"SELECT 1 FROM dead_letter WHERE campaign_id = ? AND resolved_at = 0 LIMIT 1", ErrNotOver},
		{"SELECT 1 FROM attempt_claim WHERE campaign_id = ? LIMIT 1", ErrNotOver}, // an entry in retry
		{"SELECT 1 FROM held WHERE campaign_id = ? AND state = 'held' LIMIT 1", ErrNotOver},
		{"SELECT 1 FROM archive WHERE campaign_id = ?", ErrRemoved},
	} {
		var one int
		if found, err := e.db.First(ctx, []any{&one}, fault.query, campaign); err != nil || found {
			return cmp.Or(err, fault.err)
		}
	}
	return nil
}

// Write writes a finished campaign. by is the operator, and proof the reconciliation of the campaign.
func (e *Exporter) Write(ctx context.Context, campaign, by string, proof any, to io.Writer) (t Trailer, err error) {
	if err := e.Check(ctx, campaign); err != nil {
		return t, fmt.Errorf("campaign %s: %w", campaign, err)
	}
	proved, err := json.Marshal(proof)
	if err != nil {
		return t, err
	}
	w := &writer{to: to, sum: sha256.New()}
	w.line(Header{version, campaign, e.clock(), by, proved})
	for _, part := range []func(context.Context, *writer, string) error{
		e.writeTables, e.writeTxns, e.writeAudit,
	} {
		if err := part(ctx, w, campaign); err != nil {
			return t, fmt.Errorf("export campaign %s: %w", campaign, err)
		}
	}
	t = Trailer{w.rows, hex.EncodeToString(w.sum.Sum(nil))}
	w.line(t)
	return t, w.err
}

// writer writes and hashes lines. After an error it writes nothing.
type writer struct {
	to   io.Writer
	sum  hash.Hash
	rows int64
	err  error
}

func (w *writer) line(of any) {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	if err := to.Encode(of); err != nil && w.err == nil {
		w.err = err
	}
	if w.err == nil {
		w.sum.Write(line.Bytes()) // a hash never fails
		_, w.err = w.to.Write(line.Bytes())
	}
}

// page writes rows after their heading, and nothing if there are none.
func (w *writer) page(h heading, rows [][]value) error {
	if len(rows) > 0 {
		w.line(h)
	}
	for _, row := range rows {
		w.rows++
		w.line(row)
	}
	return w.err
}

// writeTables writes the rows of the tables that have a campaign's id.
func (e *Exporter) writeTables(ctx context.Context, w *writer, campaign string) error {
	for _, t := range wholeTables {
		query := t.query() + "WHERE " + t.of + " = ?"
		if t.key != "" {
			query += " ORDER BY " + t.key
		}
		rows, err := rowsOf(ctx, e.db, len(t.columns), query, campaign)
		if err := errors.Join(err, w.page(t.heading(), rows)); err != nil {
			return err
		}
	}
	return nil
}

// writeTxns writes the campaign's transactions in pages, each with their lines and payouts.
func (e *Exporter) writeTxns(ctx context.Context, w *writer, campaign string) error {
	escrow := booking.EscrowAccount(campaign).ID()
	for after := int64(0); ; {
		ids, err := sqldb.Column[int64](ctx, e.db,
			"SELECT DISTINCT txn_id FROM entry WHERE account_id = ? AND txn_id > ? ORDER BY txn_id LIMIT ?",
			escrow, after, txnsAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		in := sqldb.Marks(len(ids))
		for _, part := range []struct {
			of   table
			rows string
		}{
			{txns, "WHERE id IN " + in + " ORDER BY id"},
			{entries, "WHERE txn_id IN " + in + " ORDER BY txn_id, line_no"},
			{payouts, "WHERE txn_id IN " + in + " ORDER BY txn_id, packet"},
		} {
			rows, err := rowsOf(ctx, e.db, len(part.of.columns), part.of.query()+part.rows, sqldb.Args(ids)...)
			if err := errors.Join(err, w.page(part.of.heading(), rows)); err != nil {
				return err
			}
		}
		after = ids[len(ids)-1]
	}
}

// writeAudit writes the audit records about the campaign and its claims.
func (e *Exporter) writeAudit(ctx context.Context, w *writer, campaign string) error {
	var last int64
	if _, err := e.db.First(ctx, []any{&last}, "SELECT COALESCE(MAX(id), 0) FROM audit"); err != nil {
		return err
	}
	for after := int64(0); after < last; after += auditAtOnce {
		rows, err := rowsOf(ctx, e.db, len(audits.columns), audits.query()+"WHERE id > ? AND id <= ? "+
			"AND (target = ? OR target >= ? AND target < ?) ORDER BY id", after, after+auditAtOnce,
			"campaign:"+campaign, "claim:"+campaign+"-", "claim:"+campaign+".")
		if err != nil {
			return err
		}
		if err := w.page(audits.heading(), about(campaign, rows)); err != nil {
			return err
		}
	}
	return nil
}

// about removes the audit records of other campaigns whose ids have this one's as a prefix.
func about(campaign string, rows [][]value) (kept [][]value) {
	at := slices.Index(audits.columns, "target")
	for _, row := range rows {
		claim, ok := strings.CutPrefix(row[at].String, "claim:")
		if of, _, err := rain.ParseClaimID(claim); !ok || err == nil && of == campaign {
			kept = append(kept, row)
		}
	}
	return kept
}
