package reconcile

import (
	"context"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// letter adds a dead letter in words; of its campaign, if that does not go without saying. Of each kind so many are
// named, and the others counted.
func (f *findings) letter(d posting.DeadLetter, campaign string) {
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

// allLetters are the dead letters of everybody that wait for a person, in words.
func allLetters(ctx context.Context, q sqldb.Querier) ([]string, error) {
	waiting := findings{texts: []string{}}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := posting.LetterTable.Scan(scan)
		waiting.letter(d, d.Campaign)
		return err
	}, posting.LetterTable.Select("WHERE resolved_at = 0 AND NOT "+posting.PaidLetter+"ORDER BY id"))
	return waiting.all(), err
}
