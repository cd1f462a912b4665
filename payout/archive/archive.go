package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redrain/internal/faults"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// Errors of what is not removed.
var (
	ErrUnknownFile = errors.New("the audit has no record of an export with this SHA-256, so the ledger has not " +
		"written this file; export it again")
	ErrOtherFile = errors.New("its removal was begun with another export; go on with that one")
	ErrDiffers   = errors.New("the ledger is not what the export says: export it again, and look at redrain reconcile")
)

// rowsAtOnce is how many payouts, or audit records, one step removes, and linksAtOnce how many transactions: a step
// has to be done within the seconds that a transaction of the database may take.
const (
	rowsAtOnce  = 5000
	linksAtOnce = 100
)

// Archiver removes what was exported. It is safe for concurrent use, and beside running servers.
type Archiver struct {
	db    *sqldb.DB
	clock rain.Clock

	// Rows is how many payouts, or audit records, one step removes. Set it before the first use.
	Rows int64
	// Passed hears of each moment at which the process may die; its error ends the work there. nil: nobody does.
	Passed func(point string) error
}

// New makes an archiver of a ledger's database, by a user who may delete. clock gives Unix ms.
func New(db *sqldb.DB, clock rain.Clock) *Archiver {
	return &Archiver{db: db, clock: clock, Rows: rowsAtOnce}
}

// passed is a moment at which the process may die.
func (a *Archiver) passed(point string) error {
	faults.Point(point)
	if a.Passed == nil {
		return nil
	}
	return a.Passed(point)
}

// Paper says what leaves the books.
type Paper = chain.Paper

var paperColumns = []string{"id", "file", "links", "payouts", "amount_paid", "packets_back", "amount_back", "actor",
	"began_at", "finished_at"}

// lockPaper reads a paper and keeps others from working on it.
func lockPaper(ctx context.Context, tx *sqldb.Tx, id string) (p Paper, found bool, err error) {
	list, err := sqldb.List(ctx, tx, chain.ScanPaper, chain.SelectPaper+"WHERE id = ?"+tx.ForUpdate(), id)
	if err != nil || len(list) == 0 {
		return p, false, err
	}
	return list[0], true, nil
}

// begin writes a paper, and records that it was. One that is there already must be of the same file.
func (a *Archiver) begin(ctx context.Context, tx *sqldb.Tx, p Paper, action, target string) (Paper, error) {
	is, found, err := lockPaper(ctx, tx, p.ID)
	if err != nil {
		return p, err
	}
	if found {
		if is.File != p.File {
			return p, ErrOtherFile
		}
		return is, history.Check(ctx, tx, history.Archive, p.ID)
	}
	p.BeganAt = a.clock()
	err = tx.Insert(ctx, "archive", paperColumns, [][]any{{p.ID, p.File, p.Links, p.Payouts, int64(p.AmountPaid),
		p.PacketsBack, int64(p.AmountBack), p.Actor, p.BeganAt, p.FinishedAt}}, sqldb.Merge{})
	if err != nil {
		return p, err
	}
	return p, a.note(ctx, tx, p, p.Actor, action, target)
}

// finish says that all of it is gone, and who has ended it.
func (a *Archiver) finish(ctx context.Context, tx *sqldb.Tx, p *Paper, actor, action, target string) error {
	p.FinishedAt = a.clock()
	_, err := tx.Exec(ctx, "UPDATE archive SET finished_at = ? WHERE id = ?", p.FinishedAt, p.ID)
	if err != nil {
		return err
	}
	return a.note(ctx, tx, *p, actor, action, target)
}

// note adds to the paper's history, and to the audit.
func (a *Archiver) note(ctx context.Context, tx *sqldb.Tx, p Paper, actor, action, target string) error {
	if err := history.Note(ctx, tx, a.clock(), history.Archive, p.ID); err != nil {
		return err
	}
	detail, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return chain.Append(ctx, tx, chain.Audits, []any{a.clock(), actor, Role, action, target, string(detail)})
}

// Role is that of whoever removes something, in the audit: it takes a user of the database who may delete.
const Role = "database"

// mayDelete is the error of the database where this user may not delete rows of a table. Asked before anything is
// written, so that such a user begins nothing.
// none are rows of tables that there are not.
func mayDelete(ctx context.Context, tx *sqldb.Tx, none ...string) error {
	for _, rows := range none {
		if _, err := tx.Exec(ctx, "DELETE FROM "+rows); err != nil {
			table, _, _ := strings.Cut(rows, " ")
			return fmt.Errorf("this user of the database may not delete rows of %s, so nothing was begun: %w", table,
				err)
		}
	}
	return nil
}

// exported tells whether the audit has a record of an export, by its hash.
func exported(ctx context.Context, q sqldb.Querier, action, target, sha string) (known bool, err error) {
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var detail []byte
		var says struct {
			SHA256 string `json:"sha256"`
		}
		err := scan(&detail)
		if json.Unmarshal(detail, &says) == nil && says.SHA256 == sha {
			known = true
		}
		return err
	}, "SELECT detail FROM audit WHERE action = ? AND target = ?", action, target)
	return known, err
}

// left is how many links of a paper have not left yet, and the number of the next step.
func left(ctx context.Context, q sqldb.Querier, p Paper) (links, next int64, err error) {
	_, err = q.First(ctx, []any{&links, &next}, "SELECT COALESCE(SUM(links), 0), COALESCE(MAX(number), 0) + 1 "+
		"FROM archive_step WHERE archive = ?", p.ID)
	return p.Links - links, next, err
}

// leave writes a step with what is left of its links, and adds it to the paper's history.
func (a *Archiver) leave(ctx context.Context, tx *sqldb.Tx, book string, links []chain.Linked, s chain.Step) error {
	if err := history.Check(ctx, tx, history.Archive, s.Archive); err != nil {
		return err
	}
	if err := chain.Leave(ctx, tx, book, links, s); err != nil {
		return err
	}
	return history.Note(ctx, tx, a.clock(), history.Archive, s.Archive)
}

// same tells whether a row is the one of the export.
func same(is, want chain.Linked) bool { return is == want }

func differs(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDiffers, fmt.Sprintf(format, args...))
}
