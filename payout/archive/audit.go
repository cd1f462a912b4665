package archive

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
)

// Audit removes from the ledger the audit records that an export has, but for those of exports, on which papers rest.
// The export must begin where the last removal ended. Called again it goes on; once all are gone it changes nothing.
func (a *Archiver) Audit(ctx context.Context, f AuditFile, actor string) (p Paper, err error) {
	by := sqldb.Storable(actor, 200)
	r := &auditRemoval{a: a, file: f, by: by, target: "audit:" + f.To.Day, paper: Paper{ID: auditArchive + f.To.Day,
		File: f.SHA256, Actor: by}}
	for _, l := range f.links {
		if !l.kept {
			r.paper.Links++
		}
	}
	if err := r.run(ctx); err != nil {
		return r.paper, fmt.Errorf("removing audit records up to %s: %w", f.To.Day, err)
	}
	return r.paper, nil
}

// auditRemoval is the removal of audit records.
type auditRemoval struct {
	a      *Archiver
	file   AuditFile
	by     string // who has it done
	target string
	paper  Paper
}

func (r *auditRemoval) run(ctx context.Context) error {
	if err := r.a.db.InTx(ctx, r.begin); err != nil || r.paper.FinishedAt != 0 {
		return err
	}
	if err := r.a.passed("archive.began"); err != nil {
		return err
	}
	begin := map[int64]chain.Mark{}
	if r.file.From != nil {
		begin = auditEnds(r.file.From)
	}
	ends := auditEnds(&r.file.To)
	for _, stripe := range sortedStripes(ends) {
		for after := begin[stripe].Links; after < ends[stripe].Links; {
			next := after
			err := r.a.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
				next, err = r.step(ctx, tx, stripe, after, ends[stripe].Links)
				return err
			})
			if err != nil {
				return err
			}
			after = next
			if err := r.a.passed("archive.step"); err != nil {
				return err
			}
		}
	}
	if err := r.a.db.InTx(ctx, r.end); err != nil {
		return err
	}
	return r.a.passed("archive.finished")
}

// begin makes sure that the export is the ledger's and follows the last one, and writes the paper.
func (r *auditRemoval) begin(ctx context.Context, tx *sqldb.Tx) error {
	if err := mayDelete(ctx, tx, "audit WHERE id = 0"); err != nil {
		return err
	}
	paper, known, err := lockPaper(ctx, tx, r.paper.ID)
	if err != nil || known {
		if err == nil && paper.File != r.file.SHA256 {
			err = ErrOtherFile
		}
		r.paper = paper
		return err
	}
	if known, err = exported(ctx, tx, auditExported, r.target, r.file.SHA256); err != nil {
		return err
	}
	if !known {
		return ErrUnknownFile
	}
	kept, err := chain.AllRoots(ctx, tx)
	if err != nil {
		return err
	}
	last, err := r.a.dropped(ctx, kept)
	if err != nil {
		return err
	}
	if follows := last >= 0 && r.file.From != nil && kept[last].Hash == r.file.From.Hash ||
		last < 0 && r.file.From == nil; !follows {
		return differs("it does not begin where the records end that have left before: export with --before")
	}
	r.paper, err = r.a.begin(ctx, tx, r.paper, "audit.drop", r.target)
	return err
}

// step removes some records of a stripe. next is the link up to which all have left.
func (r *auditRemoval) step(ctx context.Context, tx *sqldb.Tx, stripe, after, last int64) (next int64, err error) {
	p, _, err := lockPaper(ctx, tx, r.paper.ID)
	if err != nil || p.FinishedAt != 0 {
		return last, err
	}
	limit := min(r.a.Rows, recordsAtOnce)
	rows, err := chain.RecordLinks(ctx, tx, chain.Audits, stripe, after, int(limit))
	if err != nil {
		return 0, err
	}
	next = last
	if len(rows) == int(limit) {
		next = min(last, rows[len(rows)-1].Link)
	}
	var links []chain.Linked
	var ids []int64
	for _, is := range rows {
		if is.Link > last {
			break
		}
		want, known := r.file.links[place{stripe, is.Link}]
		if !known || want.content != is.Content || want.hash != is.Hash {
			return 0, differs("audit record %d (link %d of chain %d) is another one", is.ID, is.Link, stripe)
		}
		if !want.kept {
			links, ids = append(links, is), append(ids, is.ID)
		}
	}
	if len(ids) == 0 {
		return next, nil
	}
	step := chain.Step{Archive: p.ID, At: r.a.clock()}
	if _, step.Number, err = left(ctx, tx, p); err != nil {
		return 0, err
	}
	step, _ = chain.NewStep(chain.Audits, links, step)
	if _, err := tx.Exec(ctx, "DELETE FROM audit WHERE id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...); err != nil {
		return 0, err
	}
	return next, r.a.leave(ctx, tx, chain.Audits, links, step)
}

// end says that all is gone.
func (r *auditRemoval) end(ctx context.Context, tx *sqldb.Tx) error {
	p, _, err := lockPaper(ctx, tx, r.paper.ID)
	if r.paper = p; err != nil || p.FinishedAt != 0 {
		return err
	}
	links, _, err := left(ctx, tx, p)
	if err != nil {
		return err
	}
	if links != 0 {
		return differs("%d of its records are not in the ledger", links)
	}
	return r.a.finish(ctx, tx, &r.paper, r.by, "audit.dropped", r.target)
}
