package chain

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"redrain/internal/sqldb"
)

// allArchives are the ids of what has left the books.
func allArchives(ctx context.Context, q sqldb.Querier) ([]string, error) {
	return sqldb.Column[string](ctx, q, "SELECT id FROM archive ORDER BY id")
}

// CheckStubs holds all that is left of links against the steps in which their rows have left the books, and these
// against their archives. It calls found for each that does not fit, in words.
func CheckStubs(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	archives, err := allArchives(ctx, q)
	if err != nil {
		return fmt.Errorf("the archives: %w", err)
	}
	for _, id := range archives {
		if err := CheckArchive(ctx, q, id, found); err != nil {
			return err
		}
	}
	for archive, step := "", int64(0); ; {
		more, err := q.First(ctx, []any{&archive, &step}, "SELECT archive, step FROM chain_stub WHERE archive > ? OR "+
			"archive = ? AND step > ? ORDER BY archive, step LIMIT 1", archive, archive, step)
		if err != nil || !more {
			return err
		}
		var one int
		known, err := q.First(ctx, []any{&one}, "SELECT 1 FROM archive_step WHERE archive = ? AND number = ?", archive,
			step)
		if err != nil {
			return err
		}
		if !known || !slices.Contains(archives, archive) {
			found(fmt.Sprintf("links have left the books with step %d of archive %s, and there is no such step: "+
				"somebody "+
				"has removed rows, or the papers of it", step, archive))
		}
	}
}

// CheckArchive is CheckStubs of one archive that there is.
func CheckArchive(ctx context.Context, q sqldb.Querier, id string, found func(fault string)) error {
	papers, err := sqldb.List(ctx, q, ScanPaper, SelectPaper+"WHERE id = ?", id)
	if err != nil || len(papers) == 0 {
		return err
	}
	p := &papers[0]
	steps, err := Steps(ctx, q, id)
	if err != nil {
		return fmt.Errorf("the steps of archive %s: %w", id, err)
	}
	p.checkSteps(steps, found)
	for i := range steps {
		if err := steps[i].check(ctx, q, found); err != nil {
			return err
		}
	}
	if err := p.checkWhat(ctx, q, found); err != nil {
		return fmt.Errorf("archive %s: %w", id, err)
	}
	return p.checkAudit(ctx, q, found)
}

// checkSteps holds steps against what they are to add up to.
func (p *Paper) checkSteps(steps []Step, found func(fault string)) {
	sum := Step{Links: p.Links, Payouts: p.Payouts, AmountPaid: int64(p.AmountPaid), PacketsBack: p.PacketsBack,
		AmountBack: int64(p.AmountBack)}
	var is Step
	for n, s := range steps {
		if s.Number != int64(n)+1 {
			found(fmt.Sprintf("archive %s: step %d is missing", p.ID, n+1))
			break
		}
		is.Links += s.Links
		is.Payouts += s.Payouts
		is.AmountPaid += s.AmountPaid
		is.PacketsBack += s.PacketsBack
		is.AmountBack += s.AmountBack
		if _, audit := p.day(); audit == (s.Txn != 0) {
			found(fmt.Sprintf("archive %s, step %d: what transactions that have left the books have moved is carried "+
				"by another one, and audit records move nothing; the step names transaction %d", p.ID, s.Number, s.Txn))
		}
	}
	if over := is.Links > sum.Links || is.Payouts > sum.Payouts || is.PacketsBack > sum.PacketsBack; over ||
		p.FinishedAt != 0 && is != sum {
		found(fmt.Sprintf("archive %s is of %d links, and %d have left the books with it (%d of %d payouts, %d of "+
			"%d paid)",
			p.ID, sum.Links, is.Links, is.Payouts, sum.Payouts, is.AmountPaid, sum.AmountPaid))
	}
}

// check holds what is left of the links of a step against it, and against what may leave at all: of a campaign that is
// over its payments and reclaims, and audit records. Nothing that has a history or events of its own ever leaves.
func (s *Step) check(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	var c, of Content
	links, strange := int64(0), 0
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var l stubLink
		err := scan(&l.book, &l.Stripe, &l.Link, &l.content, &l.hash, &l.Kind, &l.Key, &l.rest)
		c.Text(l.book)
		c.Int(l.Stripe)
		c.Int(l.Link)
		c.Bytes(l.content)
		c.Bytes(l.hash)
		links++
		if !l.mayLeave(s.Archive, &of) {
			if strange++; strange == 1 {
				found(fmt.Sprintf("archive %s, step %d: link %d of chain %d of %s is nothing that leaves with it: "+
					"only payments and reclaims of a campaign do, or audit records", s.Archive, s.Number, l.Link,
					l.Stripe, l.book))
			}
		}
		return err
	}, "SELECT book, stripe, link, content, hash, kind, idem_key, rest FROM chain_stub WHERE archive = ? AND step = ? "+
		"ORDER BY book, stripe, link", s.Archive, s.Number)
	if err != nil {
		return fmt.Errorf("step %d of archive %s: %w", s.Number, s.Archive, err)
	}
	if is := c.Sum().String(); links != s.Links || is != s.Digest {
		found(fmt.Sprintf("archive %s, step %d: the %d links that are left of its rows are not the %d that have "+
			"left the "+
			"books with it: some were changed, removed or added by hand", s.Archive, s.Number, links, s.Links))
	}
	return nil
}

// stubLink is what is left of a link, as it is in the database.
type stubLink struct {
	Linked
	book                string
	content, hash, rest []byte
}

// mayLeave tells whether a row could leave with an archive: by its book, and a transaction by its kind and its key,
// which its content holds. of is for hashing.
func (l *stubLink) mayLeave(archive string, of *Content) bool {
	if strings.HasPrefix(archive, AuditArchive) {
		return l.book == Audits && l.Kind == "" && l.Key == "" && len(l.rest) == 0
	}
	own := func(begins, ends string) bool { return strings.HasPrefix(l.Key, begins+":"+archive+ends) }
	leaves := l.Kind == "pay" && own("pay", ".") ||
		l.Kind == "reclaim" && (own("reclaim", ".") || own("dismiss", ":") || l.Key == "reclaim:"+archive)
	content := of.ofRest(l.Kind, l.Key, l.rest)
	return l.book == Txns && leaves && bytes.Equal(content[:], l.content)
}
