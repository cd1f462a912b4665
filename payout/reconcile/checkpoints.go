package reconcile

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/checkpoint"
)

// checkCheckpoints holds the checkpoints, and what they carry forward, against the rows that they are made of.
func (s *Reconciler) checkCheckpoints(ctx context.Context, found *findings) error {
	say := func(fault string) { found.add("a checkpoint that is not whole", fault, "%s", fault) }
	return s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := checkpoint.Check(ctx, tx, say); err != nil {
			return err
		}
		newest, err := checkpoint.Newest(ctx, tx, func(string) {})
		if err != nil {
			return err
		}
		since, renewed, err := sumsSince(ctx, tx, newest)
		if err != nil {
			return err
		}
		rows := &rowSums{stretch: s.stretch}
		return checkpoint.EachSum(ctx, tx, newest, say, func(sums map[string]checkpoint.Sum) error {
			if err := leaveOutArchived(ctx, tx, sums); err != nil {
				return err
			}
			for _, subject := range sortedKeys(sums) {
				if renewed[subject] {
					continue // the next checkpoint begins it anew
				}
				if err := rows.checkSum(ctx, tx, sums[subject], since[subject], say); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// sumsSince adds up what has come since a checkpoint, by subject. renewed are those from whose rows some have left the
// books since.
func sumsSince(ctx context.Context, q sqldb.Querier, from checkpoint.Checkpoint) (sums map[string]checkpoint.Sum,
	renewed map[string]bool, err error) {
	sums, renewed = map[string]checkpoint.Sum{}, map[string]bool{}
	add := func(subject string, rows, numbers, amount int64) {
		sums[subject] = sums[subject].Plus(rows, numbers, amount)
	}
	ids, err := from.Since(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	for some := range slices.Chunk(ids, txnsAtOnce) {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var account, kind string
			var amount int64
			err := scan(&account, &kind, &amount)
			if campaign, escrow := strings.CutPrefix(account, booking.KindEscrow+":"); escrow {
				add(checkpoint.Escrow(campaign, kind), 1, 0, amount)
			} else {
				add(checkpoint.Account(account), 1, 0, amount)
			}
			if kind == booking.KindCarried {
				renewed[checkpoint.Account(account)] = true
			}
			return err
		}, "SELECT e.account_id, t.kind, e.amount FROM entry e JOIN txn t ON t.id = e.txn_id WHERE e.txn_id IN "+
			sqldb.Marks(len(some)), sqldb.Args(some)...)
		if err != nil {
			return nil, nil, err
		}
		paid, err := paidBy(ctx, q, some)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range paid {
			add(checkpoint.Payouts(p.campaign, p.shard), p.rows, p.numbers, p.amount)
		}
	}
	return sums, renewed, nil
}

// checkSum adds up the rows of a subject anew and compares them with what was carried forward and has come since.
func (r *rowSums) checkSum(ctx context.Context, q sqldb.Querier, is, since checkpoint.Sum, say func(string)) error {
	var rows checkpoint.Sum
	var err error
	kind, rest, _ := strings.Cut(is.Subject, " ")
	owner, last := rest, ""
	if at := strings.LastIndexByte(rest, ' '); at >= 0 {
		owner, last = rest[:at], rest[at+1:]
	}
	switch kind {
	case "account":
		rows, err = r.entries(ctx, q, rest, "")
	case "escrow":
		rows, err = r.entries(ctx, q, booking.EscrowAccount(owner).ID(), last)
	default:
		shard, _ := strconv.Atoi(last)
		rows, err = r.payouts(ctx, q, owner, shard)
	}
	if err != nil {
		return err
	}
	if now := is.Plus(since.Rows, since.Numbers, since.Amount); now.Rows != rows.Rows ||
		now.Numbers != rows.Numbers || now.Amount != rows.Amount {
		say(notOfItsRows(is.Subject))
	}
	return nil
}
