package posting

import (
	"fmt"
	"slices"

	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// classify decides what becomes of entries: each is posted, was posted already, is a dead letter, or is void. It does
// no I/O. Reclaims come last, because what they take must be left over by everything else.
func (b *batch) classify(entries ...rain.Entry) {
	wins := 0
	for i := range entries {
		wins += len(entries[i].Wins)
	}
	b.settled, b.wins = slices.Grow(b.settled, wins), slices.Grow(b.wins, wins)
	for _, e := range entries {
		at, campaign, fault, void := b.place(e)
		b.classifyWins(e, at, campaign, fault, void)
	}
	for _, e := range entries {
		if e.Reclaim != nil {
			at, campaign, fault, void := b.place(e)
			b.classifyReclaim(*e.Reclaim, at, campaign, fault, void)
		}
	}
}

// place is where an entry belongs, or why nowhere, or why it came too late to be posted.
func (b *batch) place(e rain.Entry) (at position, campaign terms, fault, void string) {
	ms, seq, err := e.Ref.Position()
	campaign, known := b.campaigns[e.Ref.Campaign]
	switch {
	case err != nil:
		fault = err.Error()
	case !known:
		fault = ErrUnknownCampaign.Error()
	case e.Ref.Shard < 0 || e.Ref.Shard >= campaign.shards:
		fault = fmt.Sprintf("the campaign has no shard %d", e.Ref.Shard)
	}
	at = position{ref: e.Ref, ms: ms, seq: seq}
	if fault == "" {
		void = b.barriers.void(at)
	}
	return at, campaign, fault, void
}

// classifyWins makes one transaction of the wins that are to be posted.
func (b *batch) classifyWins(e rain.Entry, at position, campaign terms, fault, void string) {
	first := len(b.wins)
	for _, w := range e.Wins {
		claim := rain.ClaimID(e.Ref.Campaign, w.Packet)
		if b.dead.HasWin(e.Ref, w) {
			continue
		}
		if void != "" && b.paid[packetKey{e.Ref.Campaign, w.Packet}] != (Holder{w.User, w.Amount}) {
			b.annul(winLetter(e.Ref, w, at, void))
			continue
		}
		reason := fault
		if reason == "" {
			reason = b.refusal(e.Ref, w, campaign)
		}
		if reason != "" {
			b.bury(winLetter(e.Ref, w, at, reason))
			continue
		}
		key := packetKey{e.Ref.Campaign, w.Packet}
		_, before := b.paid[key]
		if !before {
			b.paid[key] = Holder{w.User, w.Amount}
			b.allow.paidOf(e.Ref, w.Amount)
			b.wins = append(b.wins, postedWin{at, w, claim})
		}
		b.settled = append(b.settled, Settlement{
			Campaign: e.Ref.Campaign, Entry: e.Ref, Claim: claim, User: w.User, Packet: w.Packet, Drop: w.Drop,
			Amount: w.Amount,
			WonAt:  at.ms, New: !before,
		})
	}
	if fresh := b.wins[first:]; len(fresh) > 0 {
		b.pay(at, fresh)
	}
}

// pay makes the transaction of an entry's wins. Its key names the first packet too: a packet is paid once, so the key
// cannot have been used, not even where an earlier part of the same entry was posted without this one.
func (b *batch) pay(at position, fresh []postedWin) {
	key := fmt.Sprintf("pay:%s:%d", at.ref, fresh[0].win.Packet)
	var total rain.Money
	credits := make(map[string]int, len(fresh)) // user → line
	lines := make([]booking.Line, 1, 1+len(fresh))
	lines[0].Account = booking.EscrowAccount(at.ref.Campaign)
	for i := range fresh {
		w := fresh[i].win
		fresh[i].key = key
		total += w.Amount
		n, ok := credits[w.User]
		if !ok {
			n = len(lines)
			credits[w.User] = n
			lines = append(lines, booking.Line{Account: booking.UserAccount(w.User)})
		}
		lines[n].Amount += w.Amount
	}
	lines[0].Amount = -total
	b.txns = append(b.txns, booking.Txn{Kind: booking.KindPay, Key: key, Lines: lines})
	t := b.totals[at.ref.Campaign]
	t.Paid += int64(len(fresh))
	t.AmountPaid += total
	b.totals[at.ref.Campaign] = t
}

// refusal says why a win cannot be in the ledger; "" where it can, or is.
func (b *batch) refusal(ref rain.EntryRef, w rain.Win, campaign terms) string {
	if err := rain.CheckUser(w.User); err != nil {
		return err.Error()
	}
	if _, ok := rain.ParseDrop(w.Drop); !ok {
		return "the drop's id is none"
	}
	if w.Packet < 0 || w.Packet >= campaign.packets {
		return fmt.Sprintf("the campaign has no packet %d", w.Packet)
	}
	if w.Amount < 1 || w.Amount > rain.MaxBudget {
		return fmt.Sprintf("%d is no amount of a packet", w.Amount)
	}
	if h, ok := b.paid[packetKey{ref.Campaign, w.Packet}]; ok {
		if h != (Holder{w.User, w.Amount}) {
			return fmt.Sprintf("packet %d is paid to another player or with another amount", w.Packet)
		}
		return ""
	}
	return b.spend(ref.Campaign, w.Amount)
}

// spend counts an amount off the campaign's escrow, where that is looked at. It says why it cannot.
func (b *batch) spend(campaign string, amount rain.Money) string {
	if b.escrow == nil {
		return ""
	}
	if b.escrow[campaign] < amount {
		return "the campaign's escrow holds less than that"
	}
	b.escrow[campaign] -= amount
	return ""
}

// WholeCampaign is the shard of a reclaim that gives back everything.
const WholeCampaign = -1

// classifyReclaim decides about what was left in a shard. A shard is given back once, and no more of it than is its
// own.
func (b *batch) classifyReclaim(r rain.Reclaim, at position, campaign terms, fault, void string) {
	if b.dead.HasReclaim(at.ref, r) {
		return
	}
	key := shardKey{at.ref.Campaign, at.ref.Shard}
	before, done := b.reclaimed[key]
	_, abandoned := b.reclaimed[shardKey{at.ref.Campaign, WholeCampaign}]
	reason := fault
	switch {
	case reason != "":
	case abandoned, done && before == r, r == rain.Reclaim{}:
		return
	case void != "":
		b.annul(reclaimLetter(at.ref, r, at, void))
		return
	case done:
		reason = "the shard's rest was given back already, and was another"
	case r.Packets < 1 || r.Packets > campaign.packets || r.Amount < 1 || r.Amount > rain.MaxBudget:
		reason = "the reclaim makes no sense"
	}
	if reason != "" {
		b.bury(reclaimLetter(at.ref, r, at, reason))
		return
	}
	b.reclaimed[key] = r
	if most := b.allow.most(at.ref, b.escrow[at.ref.Campaign]); most < r.Amount {
		b.cuts = append(b.cuts, ReclaimCut{at.ref, r.Amount, most, fmt.Sprintf(
			"the shard asked for %d, and %d is left of its part besides what is paid and what dead letters wait for: "+
				"Redis had forgotten wins", r.Amount, most)})
		r.Amount = most
	}
	b.escrow[at.ref.Campaign] -= r.Amount
	if r.Amount > 0 {
		at.key = fmt.Sprintf("reclaim:%s.%d", at.ref.Campaign, at.ref.Shard)
		b.txns = append(b.txns, booking.Move(booking.KindReclaim, at.key, booking.EscrowAccount(at.ref.Campaign),
			booking.SponsorAccount(campaign.sponsor), r.Amount))
	}
	b.reclaims = append(b.reclaims, postedReclaim{at, r})
	t := b.totals[at.ref.Campaign]
	t.Reclaimed += int64(r.Packets)
	t.AmountReclaimed += r.Amount
	b.totals[at.ref.Campaign] = t
}

// bury keeps a dead letter. One that is kept already is not kept twice.
func (b *batch) bury(d DeadLetter) {
	b.dead.Note(d)
	b.allow.deadOf(d, b.campaigns[d.Campaign])
	b.letters = append(b.letters, d)
}

// annul keeps a letter as void: it is resolved from the start. A letter that is kept already is not kept twice.
func (b *batch) annul(d DeadLetter) {
	b.dead.Note(d)
	b.voids = append(b.voids, d)
}
