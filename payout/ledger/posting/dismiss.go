package posting

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// An operator may dismiss a dead letter that no retry can pay. While it is open, a win's or reclaim's dead letter
// keeps its packets from all players, because Redis may have them in stock or lost. So it is dismissed after its
// campaign, and its packets return to the sponsor in the same transaction. A forged entry or a message keeps no
// packets.

// DismissedLetter is the shard of a reclaim that returns the packets of a dismissed dead letter. Its entry_seq is the
// dead letter's id.
const DismissedLetter = -2

// DismissedReason begins the reason of a dismissed dead letter.
const DismissedReason = "dismissed: "

// NotDismissedError is the reason why a dismissal is refused.
type NotDismissedError string

func (e NotDismissedError) Error() string { return string(e) }

// DismissLetter dismisses an open dead letter that tx has locked. why is the operator's reason, given the amount that
// returns to the sponsor. It fails with NotDismissedError if a retry can pay the dead letter, or if it is too early.
// Then tx must be rolled back.
func (p *Poster) DismissLetter(ctx context.Context, tx *sqldb.Tx, d DeadLetter, why string) (given rain.Money,
	err error) {
	if d.Kind == LetterWithdrawal {
		return 0, NotDismissedError("a withdrawal belongs to its player until the provider has paid or refused it: " +
			"retry it")
	}
	reason := sqldb.Storable(DismissedReason+why+"; it was: "+d.Reason, MaxReason)
	if d.Kind == LetterMessage {
		return 0, resolveLetter(ctx, tx, d.ID, p.clock(), reason)
	}
	e, err := payout.DecodeEntry(d.Payload)
	if err != nil {
		return 0, NotDismissedError("its entry is invalid: " + err.Error())
	}
	b, refused, err := p.classifyLetter(ctx, tx, d, e, p.bans.BannedAt)
	if err != nil {
		return 0, err
	}
	if b.unreadable[d.Campaign] && d.Kind != LetterForged {
		return 0, NotDismissedError(Unreadable)
	}
	if len(refused) == 0 {
		return 0, NotDismissedError("a retry can pay it: retry it")
	}
	if err := resolveLetter(ctx, tx, d.ID, p.clock(), reason); err != nil {
		return 0, err
	}
	c, known := b.campaigns[d.Campaign]
	if !known || c.removed || d.Kind == LetterForged {
		return 0, nil // it moves no money
	}
	free, err := freeOf(ctx, tx, d.Campaign, keptBy(e, c.Packets)) // without this dead letter
	if err != nil || len(free) == 0 {
		return 0, err
	}
	given = c.amounts.Sum(free)
	switch {
	case !c.Drained:
		return 0, NotDismissedError(fmt.Sprintf("it keeps packets %s from others until campaign %s is over and all "+
			"else of it is settled: dismiss it then", free, d.Campaign))
	case given > b.escrow[d.Campaign]:
		return 0, NotDismissedError(fmt.Sprintf("it keeps %d, but the campaign's escrow has %d: reconcile the campaign",
			given, b.escrow[d.Campaign]))
	}
	at := entryAt{ref: rain.EntryRef{Campaign: d.Campaign, Shard: DismissedLetter}, seq: d.ID,
		key: fmt.Sprintf("dismiss:%s:%d", d.Campaign, d.ID)}
	return given, p.returnPackets(ctx, tx, at, c.Sponsor, free, given)
}

func resolveLetter(ctx context.Context, tx *sqldb.Tx, id, now int64, reason string) error {
	_, err := tx.Exec(ctx, "UPDATE dead_letter SET resolved_at = ?, reason = ? WHERE id = ?", now, reason, id)
	return err
}

// keptBy returns the existing packets of a dead letter's entry.
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

// freeOf returns those of the packets that are not taken.
func freeOf(ctx context.Context, q sqldb.Querier, campaign string, of rain.Numbers) (rain.Numbers, error) {
	asking := []rain.Entry{{Ref: rain.EntryRef{Campaign: campaign}, Reclaim: &rain.Reclaim{Numbers: of}}}
	r, err := readReclaimed(ctx, q, asking, map[string]int64{campaign: 1})
	if err != nil || r.whole[campaign] || len(of) == 0 {
		return nil, err
	}
	return r.takeFree(campaign, of), nil
}

// FundKey is the key of the transaction that funds a campaign.
func FundKey(campaign string) string { return booking.KindFund + ":" + campaign }

// ReturnBudget returns a campaign's whole budget. The row is for the shard WholeCampaign. Post ignores every later
// reclaim.
func (p *Poster) ReturnBudget(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign) error {
	at := entryAt{ref: rain.EntryRef{Campaign: c.ID, Shard: WholeCampaign}, key: "reclaim:" + c.ID}
	return p.returnPackets(ctx, tx, at, c.Sponsor, rain.Numbers{{First: 0, Last: c.Packets - 1}}, c.Budget)
}

// returnPackets books the return of packets that no shard's reclaim asked for.
func (p *Poster) returnPackets(ctx context.Context, tx *sqldb.Tx, at entryAt, sponsor string, packets rain.Numbers,
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

// PostLetter posts the entry in a dead letter on an operator's request. It never posts an entry that no node of this
// installation has sealed.
func (p *Poster) PostLetter(ctx context.Context, tx *sqldb.Tx,
	d DeadLetter) (settled []Settlement, reason string, err error) {
	if d.Kind == LetterMessage {
		return nil, "its payload is no entry of this installation: it cannot be retried", nil
	}
	e, err := payout.DecodeEntry(d.Payload)
	if err != nil {
		return nil, err.Error(), nil //nolint:nilerr // the reason why it stays a dead letter
	}
	b, refused, err := p.classifyLetter(ctx, tx, d, e, nil)
	if err != nil {
		return nil, "", err
	}
	if len(refused) > 0 {
		return nil, refused[0].Reason, nil
	}
	posted, err := p.write(ctx, tx, b)
	return posted.Settled, "", err
}

// classifyLetter decides the present outcome of the entry in a dead letter. It locks the campaign's escrow. refused
// are the parts that cannot be posted; with banned, also a banned player's wins.
func (p *Poster) classifyLetter(ctx context.Context, tx *sqldb.Tx, d DeadLetter, e rain.Entry,
	banned bannedAt) (b *batch, refused []DeadLetter, err error) {
	entries := []rain.Entry{e}
	if b, err = p.readBatch(ctx, tx, entries, careful); err != nil {
		return nil, nil, err
	}
	if b.doubted, err = p.seals.ever(ctx, tx); err != nil {
		return nil, nil, err
	}
	clear(b.dead) // the dead letter itself must not block its entry
	if d.Kind != LetterForged {
		clear(b.bounds.barriers) // every rebuild has counted its packet as assigned, so the packet is not in stock
	}
	b.bannedAt = banned
	b.classify(entries...)
	return b, slices.Concat(b.letters, b.voids), nil
}
