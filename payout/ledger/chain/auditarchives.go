package chain

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
)

// checkDays holds an archive of audit records against the root up to which they have left: no other link has, and once
// it is done, of those up to there only records that are kept are in the books. So no single record leaves by itself.
func (p *Paper) checkDays(ctx context.Context, q sqldb.Querier, day string, found func(fault string)) error {
	roots, err := sqldb.List(ctx, q, scanRoot, rootSelect+"WHERE day = ?", day)
	if err != nil {
		return err
	}
	if len(roots) == 0 {
		found(fmt.Sprintf("archive %s is neither of a campaign that is over nor of audit records up to a day: there "+
			"is no root of that day", p.ID))
		return nil
	}
	ends := map[int64]int64{}
	for _, e := range roots[0].Stripes {
		if e.Book == Audits {
			ends[e.Stripe] = e.Links
		}
	}
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var stripe, last int64
		err := scan(&stripe, &last)
		if last > ends[stripe] {
			found(fmt.Sprintf("archive %s: link %d of chain %d has left the books with it, and by the root of that "+
				"day the chain had %d links", p.ID, last, stripe, ends[stripe]))
		}
		return err
	}, "SELECT stripe, MAX(link) FROM chain_stub WHERE archive = ? GROUP BY stripe", p.ID)
	if err != nil || p.FinishedAt == 0 {
		return err
	}
	for stripe, last := range ends {
		var left int64
		args := append([]any{stripe, last}, sqldb.Args(KeptActions)...)
		if _, err := q.First(ctx, []any{&left}, "SELECT COUNT(*) FROM audit WHERE stripe = ? AND link <= ? AND action "+
			"NOT IN "+sqldb.Marks(len(KeptActions)), args...); err != nil {
			return err
		}
		if left > 0 {
			found(fmt.Sprintf("archive %s: all audit records up to that day have left the books, and %d of chain %d "+
				"are there", p.ID, left, stripe))
		}
	}
	return nil
}
