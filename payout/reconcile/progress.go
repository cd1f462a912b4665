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
	from        int64 // rows that were read before
}

// sumOfLinks and sumOfPaid are how many links and payouts there are, about, by what is counted beside them. A count
// that cannot be was written by hand and stands for none: the proof names its row, and the sum fits.
var (
	sumOfLinks = fmt.Sprintf(sumUpTo, "links", int64(1e12), "chain_head")
	sumOfPaid  = fmt.Sprintf(sumUpTo, "paid", rain.MaxPackets, "campaign_tally")
)

const sumUpTo = "(SELECT COALESCE(SUM(CASE WHEN %[1]s BETWEEN 0 AND %[2]d THEN %[1]s ELSE 0 END), 0) FROM %[3]s)"

// measure finds out about how many rows there are to read: each transaction with its payouts twice, because the chains
// are walked by themselves; accounts with their entries, what has a history, payouts, and members of lists.
func (r *fullProof) measure(ctx context.Context) error {
	var txns, links, paid, accounts, histories, members int64
	err := r.s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.First(ctx, []any{&txns, &links, &paid}, "SELECT (SELECT COALESCE(MAX(id), 0) FROM txn), "+
			sumOfLinks+", "+sumOfPaid)
		if err != nil || r.o.Progress == nil {
			return err
		}
		_, err = tx.First(ctx, []any{&accounts, &histories, &members}, "SELECT (SELECT COUNT(*) FROM balance), "+
			"(SELECT COUNT(*) FROM history WHERE version = 1), (SELECT COUNT(*) FROM list_member)")
		return err
	})
	r.ofTxn, r.ofAccount = 1+paid/max(txns, 1), 1+paid/max(accounts, 1)
	r.progress.Of = txns*r.ofTxn + accounts*r.ofAccount + histories + links + txns*(r.ofTxn-1) + paid +
		members
	r.teller = teller{began: time.Now(), from: r.progress.Done}
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
	if took := now.Sub(r.teller.began); took > 0 && p.Done > r.teller.from {
		p.Rate = float64(p.Done-r.teller.from) / took.Seconds()
		p.LeftMS = int64(float64(p.Of-p.Done) / p.Rate * 1000)
	}
	r.o.Progress(p)
}
