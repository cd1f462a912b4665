package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
)

// auditExported is the action of the record of an export of audit records.
const auditExported = "audit.export"

// ErrNoRoot is the error of a period that no root ends.
var ErrNoRoot = errors.New("there is no root of that time yet, so nothing could be proved: the root of a day is " +
	"taken when it is over; redrain audit roots lists them")

// Period is what of the audit is exported. One of the two is given.
type Period struct {
	Day    string // this day alone
	Before string // all before this day that is still there
}

// roots are the roots that a period lies between; from is nil where it begins with the ledger.
func (a *Archiver) roots(ctx context.Context, p Period) (from *chain.Root, to chain.Root, err error) {
	all, err := chain.AllRoots(ctx, a.db)
	if err != nil {
		return nil, to, err
	}
	at := slices.IndexFunc(all, func(r chain.Root) bool { return r.Day == p.Day })
	if p.Day == "" {
		for n, r := range all {
			if r.Day < p.Before {
				at = n
			}
		}
	}
	if at < 0 {
		return nil, to, ErrNoRoot
	}
	begin := at - 1
	if p.Day == "" {
		if begin, err = a.dropped(ctx, all); err != nil {
			return nil, to, err
		}
	}
	if begin >= 0 {
		from = &all[begin]
	}
	return from, all[at], nil
}

// dropped is the index of the root up to which audit records have left; -1: none have.
func (a *Archiver) dropped(ctx context.Context, all []chain.Root) (at int, err error) {
	var last string
	found, err := a.db.First(ctx, []any{&last}, "SELECT id FROM archive WHERE id > ? AND id < ? AND finished_at > 0 "+
		"ORDER BY id DESC LIMIT 1", auditArchive, auditArchive+"~")
	if err != nil || !found {
		return -1, err
	}
	return slices.IndexFunc(all, func(r chain.Root) bool { return auditArchive+r.Day == last }), nil
}

// auditArchive begins the name of an archive of audit records.
const auditArchive = chain.AuditArchive

// ExportAudit writes the audit records of a period, and records that it was done.
func (a *Archiver) ExportAudit(ctx context.Context, p Period, by string, to io.Writer) (t AuditTrailer, err error) {
	from, until, err := a.roots(ctx, p)
	if err != nil {
		return t, err
	}
	w := &auditWriter{to: to, sum: sha256.New()}
	w.line(AuditHeader{auditVersion, from, until, a.clock(), by})
	begin := map[int64]chain.Mark{}
	if from != nil {
		begin = auditEnds(from)
	}
	ends := auditEnds(&until)
	for _, stripe := range sortedStripes(ends) {
		if err := a.writeStripe(ctx, w, stripe, begin[stripe].Links, ends[stripe].Links); err != nil {
			return t, fmt.Errorf("exporting the audit: %w", err)
		}
	}
	t = AuditTrailer{w.rows, hex.EncodeToString(w.sum.Sum(nil))}
	w.line(t)
	if w.err != nil {
		return t, w.err
	}
	detail, err := json.Marshal(map[string]any{"rows": t.Rows, "sha256": t.SHA256})
	if err != nil {
		return t, err
	}
	return t, a.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return chain.Append(ctx, tx, chain.Audits, []any{a.clock(), sqldb.Storable(by, 200), Role, auditExported,
			"audit:" + until.Day, string(detail)})
	})
}

func sortedStripes(of map[int64]chain.Mark) []int64 {
	stripes := make([]int64, 0, len(of))
	for n := range of {
		stripes = append(stripes, n)
	}
	slices.Sort(stripes)
	return stripes
}

// writeStripe writes the records of a stripe between two links.
func (a *Archiver) writeStripe(ctx context.Context, w *auditWriter, stripe, after, last int64) error {
	for after < last {
		rows, err := sqldb.List(ctx, a.db, func(scan sqldb.Scan) (auditRow, error) {
			r := auditRow{Stripe: stripe, Values: make([]string, len(chain.RecordColumns(chain.Audits)))}
			dest := []any{&r.Link}
			for i := range r.Values {
				dest = append(dest, &r.Values[i])
			}
			return r, scan(dest...)
		},
			"SELECT link, at, actor, role, action, target, detail FROM audit WHERE stripe = ? AND link > ? AND "+
				"link <= ? "+
				"ORDER BY link LIMIT ?", stripe, after, last, recordsAtOnce)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Link != after+1 {
				break
			}
			w.rows++
			w.line(r)
			after = r.Link
		}
		if len(rows) == 0 || rows[len(rows)-1].Link != after {
			return fmt.Errorf("link %d of chain %d is not there: it has left the ledger, or somebody has removed it; "+
				"redrain audit verify says which", after+1, stripe)
		}
	}
	return w.err
}

// recordsAtOnce is how many records one statement reads.
const recordsAtOnce = 1000

// auditWriter writes lines, and hashes them. After an error it writes nothing.
type auditWriter struct {
	to   io.Writer
	sum  hash.Hash
	rows int64
	err  error
}

func (w *auditWriter) line(of any) {
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
