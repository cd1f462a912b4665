package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"

	"redrain/payout/ledger/chain"
)

// An export of audit records is lines of JSON: a header with two roots, then the records of each stripe in their order,
// then the SHA-256 of all that. It is proved from one root to the other: the first record of a stripe follows the link
// that the earlier root names, each follows the one before, and the last has the hash that the later root names.

// auditVersion is that of the format.
const auditVersion = 1

// AuditHeader is the first line.
type AuditHeader struct {
	Version int         `json:"redrain_audit_export"`
	From    *chain.Root `json:"from"`     // behind which the records begin; null: behind none
	To      chain.Root  `json:"to"`       // with which they end
	TakenAt int64       `json:"taken_at"` // Unix ms
	By      string      `json:"by"`
}

// AuditTrailer is the last line.
type AuditTrailer struct {
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // of all bytes before this line, in hexadecimal
}

// auditRow is a record: its stripe and link, and what the chain holds of it.
type auditRow struct {
	Stripe int64    `json:"stripe"`
	Link   int64    `json:"link"`
	Values []string `json:"values"`
}

// AuditFile is an export of audit records that was proved.
type AuditFile struct {
	AuditHeader
	AuditTrailer
	links map[place]auditLink
}

// place is where in the chain a record is.
type place struct{ stripe, link int64 }

// auditLink is what the chain says of a record, and whether it stays.
type auditLink struct {
	content, hash chain.Hash
	kept          bool
}

// ErrNoAudit is the error of a file that is no whole export of audit records, or whose records do not fit its roots.
var ErrNoAudit = errors.New("this is no whole export of audit records")

func noAudit(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoAudit, fmt.Sprintf(format, args...))
}

// maxLine is how long a line may be.
const maxLine = 16 << 20

// auditReader proves a file while it reads it.
type auditReader struct {
	f    AuditFile
	sum  hash.Hash
	ends map[int64]chain.Mark // how far each stripe was read
	line int
}

// Roots are roots of the audit that were kept outside of the ledger.
type Roots = []chain.Root

// ReadRoots reads them from lines as --audit-root-file has them.
func ReadRoots(from io.Reader) (Roots, error) { return chain.ReadRoots(from) }

// ReadAudit reads and proves an export of audit records, against the roots that it has itself. Where roots were noted
// outside of the database, its own must be among them.
func ReadAudit(from io.Reader, noted []chain.Root) (AuditFile, error) {
	r := &auditReader{f: AuditFile{links: map[place]auditLink{}}, sum: sha256.New()}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for last := false; lines.Scan(); {
		r.line++
		if last {
			return r.f, noAudit("something follows its last line")
		}
		var err error
		if last, err = r.read(lines.Bytes(), noted); err != nil {
			return r.f, err
		}
	}
	if err := lines.Err(); err != nil {
		return r.f, noAudit("%v", err)
	}
	if r.f.SHA256 == "" {
		return r.f, noAudit("it ends in the middle")
	}
	return r.f, r.end()
}

func (r *auditReader) read(line []byte, noted []chain.Root) (last bool, err error) {
	switch {
	case r.line == 1:
		if err := json.Unmarshal(line, &r.f.AuditHeader); err != nil || r.f.Version != auditVersion {
			return false, noAudit("its first line is not that of an export that this version of redrain reads")
		}
		if err := r.begin(noted); err != nil {
			return false, err
		}
	case bytes.HasPrefix(line, []byte(`{"stripe"`)):
		var row auditRow
		if err := json.Unmarshal(line, &row); err != nil {
			return false, noAudit("line %d is no record", r.line)
		}
		if err := r.record(row); err != nil {
			return false, err
		}
	default:
		if err := json.Unmarshal(line, &r.f.AuditTrailer); err != nil || r.f.SHA256 == "" {
			return false, noAudit("line %d cannot be read", r.line)
		}
		if is := hex.EncodeToString(r.sum.Sum(nil)); is != r.f.SHA256 || r.f.Rows != int64(len(r.f.links)) {
			return false, noAudit("its hash is %s and not %s, or its number of rows is another", is, r.f.SHA256)
		}
		return true, nil
	}
	r.sum.Write(line) // a hash never fails
	r.sum.Write([]byte{'\n'})
	return false, nil
}

// begin holds the roots against themselves and against those that were noted.
func (r *auditReader) begin(noted []chain.Root) error {
	roots := []*chain.Root{&r.f.To}
	if r.f.From != nil {
		roots = append(roots, r.f.From)
	}
	for _, root := range roots {
		if !root.Whole() {
			return noAudit("the root of %s was changed: its hash is not that of what it says", root.Day)
		}
		for _, n := range noted {
			if n.Day == root.Day && n.Hash != root.Hash {
				return noAudit("the root of %s is %s in it, but %s was noted", root.Day, root.Hash, n.Hash)
			}
		}
	}
	r.ends = map[int64]chain.Mark{}
	if r.f.From != nil {
		r.ends = auditEnds(r.f.From)
	}
	return nil
}

// auditEnds are the ends of the audit's stripes by a root.
func auditEnds(root *chain.Root) map[int64]chain.Mark {
	ends := map[int64]chain.Mark{}
	for s, m := range chain.MarksOf(root.Stripes) {
		if s.Book == chain.Audits {
			ends[s.Number] = m
		}
	}
	return ends
}

// action is where among a record's values what was done is.
const action = 3

// record holds a record against the one before it.
func (r *auditReader) record(row auditRow) error {
	before, known := r.ends[row.Stripe]
	if !known {
		before.Hash = chain.FirstHash(chain.Audits, row.Stripe)
	}
	if row.Link != before.Links+1 || len(row.Values) != len(chain.RecordColumns(chain.Audits)) {
		return noAudit("link %d of chain %d does not follow link %d", row.Link, row.Stripe, before.Links)
	}
	values := make([]sql.NullString, len(row.Values))
	for i, v := range row.Values {
		values[i] = sql.NullString{String: v, Valid: true}
	}
	content := chain.RecordContent(values)
	is := chain.Mark{Links: row.Link, Hash: chain.LinkHash(before.Hash, content)}
	r.ends[row.Stripe] = is
	r.f.links[place{row.Stripe, row.Link}] = auditLink{content, is.Hash,
		slices.Contains(chain.KeptActions, row.Values[action])}
	return nil
}

// end holds the last record of each stripe against the later root.
func (r *auditReader) end() error {
	want := auditEnds(&r.f.To)
	for stripe, is := range r.ends {
		if want[stripe] != is {
			return noAudit("chain %s ends with link %d, which is not what the root of %s says",
				strconv.FormatInt(stripe, 10), is.Links, r.f.To.Day)
		}
	}
	if len(want) != len(r.ends) {
		return noAudit("it has %d chains, and by the root of %s there are %d", len(r.ends), r.f.To.Day, len(want))
	}
	return nil
}
