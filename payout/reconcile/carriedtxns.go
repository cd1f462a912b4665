package reconcile

import (
	"context"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// A transaction of the kind carried takes the place of payments and reclaims that have left the books. So it belongs to
// one step of the archive of one campaign that is over, and moves what that step says: out of the escrow what was paid
// and given back, to the sponsor what was given back, and to players what was paid. To whom, only the export can say.

// carriedStep is a step of an archive, and the transaction that it says carries.
type carriedStep struct {
	key, kind  string // of the transaction
	archive    string // "": there is no step
	number     int64
	paid, back rain.Money
	known      bool // there is such an archive
	sponsor    string
	over       bool // the campaign is closed and drained
}

// readCarried reads the steps that transactions are said to carry, and those that carry without a step.
func (p *txnPage) readCarried(ctx context.Context, q sqldb.Querier, ids []int64) error {
	p.carried = map[int64][]carriedStep{}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var s carriedStep
		err := scan(&id, &s.kind, &s.key, &s.archive, &s.number, &s.paid, &s.back, &s.known, &s.sponsor, &s.over)
		p.carried[id] = append(p.carried[id], s)
		return err
	}, "SELECT t.id, t.kind, t.idem_key, COALESCE(s.archive, ''), COALESCE(s.number, 0), COALESCE(s.amount_paid, 0), "+
		"COALESCE(s.amount_back, 0), a.id IS NOT NULL, COALESCE(c.sponsor, ''), "+
		"COALESCE(c.status = '"+string(rain.Closed)+"' AND c.drained = 1, 0) FROM txn t "+
		"LEFT JOIN archive_step s ON s.txn_id = t.id LEFT JOIN archive a ON a.id = s.archive "+
		"LEFT JOIN campaign c ON c.id = s.archive "+
		"WHERE t.id IN "+sqldb.Marks(len(ids))+" AND (t.kind = '"+booking.KindCarried+"' OR s.archive IS NOT NULL)",
		sqldb.Args(ids)...)
}

// checkCarried holds a transaction that carries against its step, and names another that a step says is its own.
func (p *txnPage) checkCarried(id int64, kind string, lines []bookedLine) {
	wrong := func(format string, args ...any) {
		p.found.add("what was carried", txnKey(id)+format, "transaction %d (%s; %s): %s", id, kind, linesInWords(lines),
			fmt.Sprintf(format, args...))
	}
	steps := p.carried[id]
	if len(steps) > 1 {
		wrong("%d steps of archives say that it carries what they have removed", len(steps))
	}
	for i := range steps {
		s := &steps[i]
		switch {
		case s.kind != booking.KindCarried:
			wrong("step %d of archive %s says that it carries what it has removed", s.number, s.archive)
		case s.archive == "" || !s.known:
			wrong("it carries what has left the books, and no archive says so")
		case s.key != fmt.Sprintf("%s:%s:%d", booking.KindCarried, s.archive, s.number):
			wrong("step %d of archive %s is not its step by its key %s", s.number, s.archive, s.key)
		case !s.over:
			wrong("archive %s is of no campaign that is over", s.archive)
		default:
			if is, want := s.moved(lines); is != want {
				wrong("it moves %s, and by step %d of archive %s it should move %s", is, s.number, s.archive, want)
			}
		}
	}
}

// moved is what a transaction moves, and what it should by the step.
func (s *carriedStep) moved(lines []bookedLine) (is, want string) {
	const words = "%d out of the escrow, %d to players, %d to the sponsor, %d elsewhere"
	var escrow, users, sponsor, others rain.Money
	for _, ln := range lines {
		switch owner, _, _ := strings.Cut(ln.account, ":"); {
		case ln.account == booking.EscrowAccount(s.archive).ID():
			escrow -= ln.amount
		case ln.account == booking.SponsorAccount(s.sponsor).ID():
			sponsor += ln.amount
		case owner == booking.KindUser:
			users += ln.amount
		default:
			others += abs(ln.amount)
		}
	}
	return fmt.Sprintf(words, escrow, users, sponsor, others), fmt.Sprintf(words, s.paid+s.back, s.paid, s.back, 0)
}
