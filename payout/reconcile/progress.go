package reconcile

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Progress is how far a full proof has come.
type Progress struct {
	Part   string  `json:"part"`    // what it reads, in words
	Done   int64   `json:"done"`    // rows that were read
	Of     int64   `json:"of"`      // about how many there are
	Rate   float64 `json:"rate"`    // rows a second, up to now
	LeftMS int64   `json:"left_ms"` // how long it will take, by that rate; -1: not known yet
}

// progressEvery is how often somebody hears how far a full proof has come.
const progressEvery = time.Second

// teller tells progress.
type teller struct {
	began, told time.Time
}

// sumOfPaid is about how many payouts there are. A count that cannot be was written by hand and stands for none: its
// row is named elsewhere, and the sum fits.
var sumOfPaid = fmt.Sprintf("(SELECT COALESCE(SUM(CASE WHEN paid BETWEEN 0 AND %d THEN paid ELSE 0 END), 0) FROM "+
	"campaign_tally)", rain.MaxPackets)

// measure finds out about how many rows there are to read: each transaction with its payouts, and its hash in a block;
// accounts with their entries; audit records twice; and the payouts of campaigns.
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
	r.teller = teller{began: time.Now()}
	return err
}

// tell says how far the proof has come, unless it has just said so.
func (r *fullProof) tell() {
	now := time.Now()
	if r.o.Progress == nil || now.Sub(r.teller.told) < progressEvery {
		return
	}
	r.teller.told = now
	p := r.progress
	p.Of, p.LeftMS = max(p.Of, p.Done), -1
	if took := now.Sub(r.teller.began); took > 0 && p.Done > 0 {
		p.Rate = float64(p.Done) / took.Seconds()
		p.LeftMS = int64(float64(p.Of-p.Done) / p.Rate * 1000)
	}
	r.o.Progress(p)
}
