package posting

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// A person who has looked at a dead letter may say that it is nobody's. What the ledger can bear out is somebody's all
// the same, and is to be retried. A letter of a win or a reclaim keeps its packets from everybody else while it waits:
// Redis may have them in its stock, or nowhere. So one that keeps something is dismissed when its campaign is over, and
// what it kept goes back to the sponsor in the same step. A forged letter or a message keeps nothing.

// DismissedLetter is the shard of a reclaim that gives back what a dismissed letter kept; its entry_seq is the letter's
// id.
const DismissedLetter = -2

// DismissedReason begins the reason of a letter that was dismissed.
const DismissedReason = "dismissed: "

// NotDismissedError is the error of a dismissal that is refused, and says why.
type NotDismissedError string

func (e NotDismissedError) Error() string { return string(e) }

// DismissLetter ends a letter that waits, and that tx has locked, as nobody's; given is what goes back to the sponsor
// by it. It fails with NotDismissedError where the letter is somebody's, or not to be dismissed yet; tx must be rolled
// back then. why is the person's reason.
func (p *Poster) DismissLetter(ctx context.Context, tx *sqldb.Tx, d DeadLetter, why string) (given rain.Money,
	err error) {
	if d.Kind == LetterWithdrawal {
		return 0, NotDismissedError("a withdrawal is its player's until the provider has paid or refused it: retry it")
	}
	reason := sqldb.Storable(DismissedReason+why+"; it was: "+d.Reason, MaxReason)
	if d.Kind == LetterMessage {
		return 0, resolveLetter(ctx, tx, d.ID, p.clock(), reason)
	}
	e, err := payout.DecodeEntry(d.Payload)
	if err != nil {
		return 0, NotDismissedError("its entry cannot be read: " + err.Error())
	}
	b, refused, err := p.classifyLetter(ctx, tx, d, e, p.bans.BannedAt)
	if err != nil {
		return 0, err
	}
	if b.unreadable[d.Campaign] && d.Kind != LetterForged {
		return 0, NotDismissedError(Unreadable)
	}
	if len(refused) == 0 {
		return 0, NotDismissedError("the ledger can bear it out, so it is somebody's: retry it")
	}
	if err := resolveLetter(ctx, tx, d.ID, p.clock(), reason); err != nil {
		return 0, err
	}
	c, known := b.campaigns[d.Campaign]
	if !known || c.dropped || d.Kind == LetterForged {
		return 0, nil // no money moves by it
	}
	free, err := nobodysOf(ctx, tx, d.Campaign, keptBy(e, c.Packets)) // the letter does not count any more
	if err != nil || len(free) == 0 {
		return 0, err
	}
	given = c.amounts.Sum(free)
	switch {
	case !c.Drained:
		return 0,
			NotDismissedError(fmt.Sprintf("it keeps packets %s from others until campaign %s is over and all else of "+
				"it "+
				"is settled: dismiss it then", free, d.Campaign))
	case given > b.escrow[d.Campaign]:
		return 0,
			NotDismissedError(fmt.Sprintf("it keeps %d, but the campaign's escrow has %d: reconcile the campaign",
				given,
				b.escrow[d.Campaign]))
	}
	at := position{ref: rain.EntryRef{Campaign: d.Campaign, Shard: DismissedLetter}, seq: d.ID,
		key: fmt.Sprintf("dismiss:%s:%d", d.Campaign, d.ID)}
	return given, p.giveBack(ctx, tx, at, c.Sponsor, free, given)
}

func resolveLetter(ctx context.Context, tx *sqldb.Tx, id, now int64, reason string) error {
	_, err := tx.Exec(ctx, "UPDATE dead_letter SET resolved_at = ?, reason = ? WHERE id = ?", now, reason, id)
	return err
}

// keptBy are those of the packets of a letter's entry that there are.
func keptBy(e rain.Entry, packets int) (kept rain.Numbers) {
	asked := e.Packets()
	if e.Reclaim != nil {
		asked = e.Reclaim.Numbers
	}
	for _, some := range asked {
		if some.First = max(some.First, 0); some.First <= min(some.Last, packets-1) {
			kept = append(kept, rain.Range{First: some.First, Last: min(some.Last, packets-1)})
		}
	}
	return kept
}

// nobodysOf is what of some packets is neither paid, nor promised in a letter that waits, nor given back.
func nobodysOf(ctx context.Context, q sqldb.Querier, campaign string, of rain.Numbers) (rain.Numbers, error) {
	asking := []rain.Entry{{Ref: rain.EntryRef{Campaign: campaign}, Reclaim: &rain.Reclaim{Numbers: of}}}
	r, err := readReclaimed(ctx, q, asking, map[string]int64{campaign: 1})
	if err != nil || r.whole[campaign] || len(of) == 0 {
		return nil, err
	}
	return r.nobodys(campaign, of), nil
}

// FundKey is the key of the transaction that funds a campaign.
func FundKey(campaign string) string { return booking.KindFund + ":" + campaign }

// ReturnBudget gives a campaign's whole budget back. The row for the shard -1 makes every later reclaim of a shard
// void.
func (p *Poster) ReturnBudget(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign) error {
	at := position{ref: rain.EntryRef{Campaign: c.ID, Shard: WholeCampaign}, key: "reclaim:" + c.ID}
	return p.giveBack(ctx, tx, at, c.Sponsor, rain.Numbers{{First: 0, Last: c.Packets - 1}}, c.Budget)
}

// giveBack books what goes back to a sponsor, and no shard has asked for.
func (p *Poster) giveBack(ctx context.Context, tx *sqldb.Tx, at position, sponsor string, packets rain.Numbers,
	amount rain.Money) error {
	at.ms = p.clock()
	campaign := at.ref.Campaign
	_, err := p.write(ctx, tx, &batch{
		txns: []booking.Txn{booking.Move(booking.KindReclaim, at.key, booking.EscrowAccount(campaign),
			booking.SponsorAccount(sponsor), amount)},
		reclaims: []postedReclaim{{at, packets, packets.Count(), amount}},
		totals:   map[string]Totals{campaign: {Reclaimed: int64(packets.Count()), AmountReclaimed: amount}},
	})
	return err
}
