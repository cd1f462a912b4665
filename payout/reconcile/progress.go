package reconcile

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Progress is the progress of a full reconciliation.
type Progress struct {
	Part   string  `json:"part"`    // the present part
	Done   int64   `json:"done"`    // rows read
	Of     int64   `json:"of"`      // approximate total of rows
	Rate   float64 `json:"rate"`    // rows per second, so far
	LeftMS int64   `json:"left_ms"` // estimated time left; -1: not known yet
}

// progressEvery is the interval of progress reports.
const progressEvery = time.Second

// reporter has the times of the start and of the last report.
type reporter struct {
	began, reported time.Time
}

// sumOfPaid is the approximate number of payouts. An impossible count in a row is skipped, because another check
// reports it.
var sumOfPaid = fmt.Sprintf("(SELECT COALESCE(SUM(CASE WHEN paid BETWEEN 0 AND %d THEN paid ELSE 0 END), 0) FROM "+
	"campaign_tally)", rain.MaxPackets)

// measure estimates the number of rows. Transactions count with their payouts and their hash in a block, accounts
// with their entries. Audit records are read twice, and campaigns read the payouts again.
func (r *fullProof) measure(ctx context.Context) error {
	var txns, audits, paid, accounts int64
	err := r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.First(ctx, []any{&txns, &audits, &paid}, "SELECT (SELECT COALESCE(MAX(id), 0) FROM txn), "+
			"(SELECT COALESCE(MAX(id), 0) FROM audit), "+sumOfPaid)
		if err != nil || r.o.Progress == nil {
			return err
		}
		_, err = tx.First(ctx, []any{&accounts}, "SELECT COUNT(*) FROM balance")
		return err
	})
	r.ofTxn, r.ofAccount = 1+paid/max(txns, 1), 1+paid/max(accounts, 1)
	r.progress.Of = txns*(r.ofTxn+1) + accounts*r.ofAccount + audits + paid
	r.reporter = reporter{began: time.Now()}
	return err
}

// report reports the progress if progressEvery has passed.
func (r *fullProof) report() {
	now := time.Now()
	if r.o.Progress == nil || now.Sub(r.reporter.reported) < progressEvery {
		return
	}
	r.reporter.reported = now
	p := r.progress
	p.Of, p.LeftMS = max(p.Of, p.Done), -1
	if took := now.Sub(r.reporter.began); took > 0 && p.Done > 0 {
		p.Rate = float64(p.Done) / took.Seconds()
		p.LeftMS = int64(float64(p.Of-p.Done) / p.Rate * 1000)
	}
	r.o.Progress(p)
}
