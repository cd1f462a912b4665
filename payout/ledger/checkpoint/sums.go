package checkpoint

import (
	"context"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
)

// Sum is what was added up of one subject, as of a checkpoint.
type Sum struct {
	Subject string
	Rows    int64
	Numbers int64 // of packets
	Amount  int64

	checkpoint, key int64
	is              string // the seal of the row, as it is there
}

// Account is the subject of an account: its entries.
func Account(id string) string { return "account " + id }

// Escrow is the subject of the entries of a campaign's escrow by transactions of one kind.
func Escrow(campaign, kind string) string { return "escrow " + campaign + " " + kind }

// Payouts is the subject of the payouts of one shard of a campaign.
func Payouts(campaign string, shard int) string { return fmt.Sprintf("payouts %s %d", campaign, shard) }

// Plus is the sum with what has come since.
func (s Sum) Plus(rows, numbers, amount int64) Sum {
	s.Rows, s.Numbers, s.Amount = s.Rows+rows, s.Numbers+numbers, s.Amount+amount
	return s
}

var sumColumns = []string{"subject", "checkpoint", "rows_seen", "numbers", "amount", "key_id", "seal"}

func (s *Sum) content() []byte {
	return fmt.Appendf(nil, "sum %q %d %d %d %d %d", s.Subject, s.checkpoint, s.Rows, s.Numbers, s.Amount, s.key)
}

// Sums are the sums of subjects as of a checkpoint. One that was never added up is missing in the answer. found hears
// of those that are not what was written; they are missing too.
func Sums(ctx context.Context, q sqldb.Querier, at Checkpoint, subjects []string,
	found func(fault string)) (map[string]Sum, error) {
	sums := map[string]Sum{}
	if at.Number == 0 {
		return sums, nil
	}
	k, err := readKeys(ctx, q)
	if err != nil {
		return nil, err
	}
	within, args := " AND n.checkpoint <= ?", []any{at.Number}
	for _, r := range at.Skipped {
		within += " AND n.checkpoint NOT BETWEEN ? AND ?"
		args = append(args, r.From, r.To)
	}
	err = sqldb.EachIn(ctx, q, func(row sqldb.Scan) error {
		s, err := scanSum(row)
		if err == nil {
			note(sums, s, k, found)
		}
		return err
	}, "SELECT "+strings.Join(sumColumns, ", ")+" FROM proof_sum s WHERE checkpoint = (SELECT MAX(checkpoint) FROM "+
		"proof_sum n WHERE n.subject = s.subject"+within+") AND subject IN", subjects, args...)
	if err != nil {
		return nil, fmt.Errorf("sums as of checkpoint %d: %w", at.Number, err)
	}
	return sums, nil
}

func scanSum(row sqldb.Scan) (s Sum, err error) {
	err = row(&s.Subject, &s.checkpoint, &s.Rows, &s.Numbers, &s.Amount, &s.key, &s.is)
	return s, err
}

func note(sums map[string]Sum, s Sum, k keys, found func(string)) {
	if secret, known := k[s.key]; !known || secret.Checkpoint(s.content()) != s.is {
		found(fmt.Sprintf("the sum of %q as of checkpoint %d was changed or added by hand: its seal is "+
			"wrong", s.Subject,
			s.checkpoint))
		return
	}
	if was, known := sums[s.Subject]; !known || was.checkpoint < s.checkpoint {
		sums[s.Subject] = s
	}
}

// sumsAtOnce is of how many subjects the sums of all checkpoints are read at once.
const sumsAtOnce = 250

// EachSum calls each with the sums as of a checkpoint of all subjects after one, page by page, in their order, until
// there are none; found hears of rows that are not what was written, of any checkpoint.
func EachSum(ctx context.Context, q sqldb.Querier, at Checkpoint, found func(fault string),
	each func(map[string]Sum) error) error {
	k, err := readKeys(ctx, q)
	if err != nil {
		return err
	}
	for after := ""; ; {
		subjects, err := sqldb.Column[string](ctx, q,
			"SELECT DISTINCT subject FROM proof_sum WHERE subject > ? ORDER BY subject LIMIT ?", after, sumsAtOnce)
		if err != nil || len(subjects) == 0 {
			return err
		}
		newest := map[string]Sum{}
		err = sqldb.EachIn(ctx, q, func(row sqldb.Scan) error {
			s, err := scanSum(row)
			if err != nil {
				return err
			}
			if at.skipped(s.checkpoint) {
				found(fmt.Sprintf("the sum of %q is of checkpoint %d, which there is not", s.Subject, s.checkpoint))
				return nil
			}
			note(newest, s, k, found)
			return nil
		}, "SELECT "+strings.Join(sumColumns, ", ")+" FROM proof_sum WHERE subject IN", subjects)
		if err == nil {
			err = each(newest)
		}
		if err != nil {
			return err
		}
		after = subjects[len(subjects)-1]
	}
}
