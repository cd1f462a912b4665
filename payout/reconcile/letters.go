package reconcile

import (
	"context"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// letterRow is a dead letter that waits for a person, as far as its name goes.
type letterRow struct {
	id       int64
	kind     string
	campaign string // "" where it goes without saying
	claim    string
	packet   int
	user     string
	amount   rain.Money
	reason   string
}

// letter adds a dead letter in words. Of each kind so many are named, and the others counted.
func (f *findings) letter(d letterRow) {
	of := []string{d.kind}
	if d.campaign != "" {
		of = append(of, "campaign "+d.campaign)
	}
	if d.packet >= 0 {
		of = append(of, packets(rain.Numbers{{First: d.packet, Last: d.packet}}))
	}
	if d.user != "" {
		of = append(of, "player "+d.user)
	}
	if d.amount != 0 && d.kind != posting.LetterForged {
		of = append(of, "amount "+delta(d.amount, 0))
	}
	f.add("dead letters of kind "+d.kind, txnKey(d.id), "dead letter %s (%s): %s", d.claim, strings.Join(of, ", "),
		d.reason)
}

// allLetters are the dead letters of everybody that wait for a person, in words.
func allLetters(ctx context.Context, q sqldb.Querier) ([]string, error) {
	waiting := findings{texts: []string{}}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var d letterRow
		err := scan(&d.id, &d.kind, &d.campaign, &d.claim, &d.packet, &d.user, &d.amount, &d.reason)
		waiting.letter(d)
		return err
	}, "SELECT id, kind, campaign_id, claim, packet, user_id, amount, reason FROM dead_letter WHERE resolved_at = 0 "+
		"AND NOT "+posting.PaidLetter+"ORDER BY id")
	return waiting.all(), err
}
