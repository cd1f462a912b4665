package reconcile

import (
	"context"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// deadLetter adds the description of a dead letter, with its campaign if campaign is "". It names a limited number of
// each kind, and counts the others.
func (f *findings) deadLetter(d posting.DeadLetter, campaign string) {
	of := []string{d.Kind}
	if campaign != "" {
		of = append(of, "campaign "+campaign)
	}
	if d.Packet >= 0 {
		of = append(of, packets(rain.Numbers{{First: d.Packet, Last: d.Packet}}))
	}
	if d.User != "" {
		of = append(of, "player "+d.User)
	}
	if d.Amount != 0 && d.Kind != posting.LetterForged {
		of = append(of, "amount "+delta(d.Amount, 0))
	}
	f.add("dead letters of kind "+d.Kind, txnKey(d.ID), "dead letter %s (%s): %s", d.Claim, strings.Join(of, ", "),
		d.Reason)
}

// allLetters returns the descriptions of all open dead letters.
func allLetters(ctx context.Context, q sqldb.Querier) ([]string, error) {
	waiting := findings{texts: []string{}}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := posting.LetterTable.Scan(scan)
		waiting.deadLetter(d, d.Campaign)
		return err
	}, posting.LetterTable.Select("WHERE resolved_at = 0 AND NOT "+posting.PaidLetter+"ORDER BY id"))
	return waiting.all(), err
}
