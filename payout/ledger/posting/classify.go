package posting

import (
	"fmt"
	"slices"

	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// classify decides the outcome of entries: each is posted, was posted already, becomes a dead letter, or is void. It
// does no I/O. Reclaims come last, because they may only return the rest.
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
			b.classifyReclaim(e, at, campaign, fault, void)
		}
	}
}

// place returns an entry's position and terms, or the reason why it has none (fault) or came too late (void).
func (b *batch) place(e rain.Entry) (at position, campaign terms, fault, void string) {
	ms, seq, err := e.Ref.Position()
	campaign, known := b.campaigns[e.Ref.Campaign]
	switch {
	case err != nil:
		fault = err.Error()
	case b.unreadable[e.Ref.Campaign]:
		fault = Unreadable
	case !known:
		fault = ErrUnknownCampaign.Error()
	case campaign.dropped:
		fault = Dropped
	case e.Ref.Shard < 0 || e.Ref.Shard >= max(campaign.Shards, 1):
		fault = fmt.Sprintf("the campaign has no shard %d", e.Ref.Shard)
	}
	at = position{ref: e.Ref, ms: ms, seq: seq}
	if err == nil && fault != Dropped {
		void = b.bounds.void(at)
	}
	return at, campaign, fault, void
}

// Dropped is the reason of entries whose campaign's payouts were removed after an export.
const Dropped = "the campaign's payouts were removed from the ledger, so all of it was paid or given back: look into " +
	"its export, and dismiss this"

// Unreadable is the reason of entries whose campaign's row cannot be read or split.
const Unreadable = "the campaign's row cannot be read: correct it, and retry this"

// errSeal is the reason of input with an invalid seal.
const errSeal = "invalid seal: no node of this installation sealed this with a valid key"

// Banned is the reason of a banned player's win. An operator's retry pays it.
const Banned = "the player was banned when it was won"

// classifyWins decides the outcome of an entry's wins.
func (b *batch) classifyWins(e rain.Entry, at position, campaign terms, fault, void string) {
	first := len(b.wins)
	for _, w := range e.Wins {
		claim := rain.ClaimID(e.Ref.Campaign, w.Packet)
		if b.dead.HasWin(e.Ref, e.SealedAt, w) {
			continue
		}
		paid := b.paid[packetKey{e.Ref.Campaign, w.Packet}] == Holder{w.User, w.Amount} && w.Amount > 0
		if !isSealedWin(b.doubted, &e, &w) {
			// The seal of a paid win may be from a key that was rotated out since.
			if d := forgedLetter(winLetter(e.Ref, e.SealedAt, w, at, errSeal)); !paid && !b.dead.has(d) {
				b.addDead(d)
			}
			continue
		}
		if void != "" && !paid {
			b.addVoid(winLetter(e.Ref, e.SealedAt, w, at, void))
			continue
		}
		key := packetKey{e.Ref.Campaign, w.Packet}
		_, before := b.paid[key]
		reason, unpayable := fault, false
		switch _, known := b.campaigns[e.Ref.Campaign]; {
		case fault == "":
			reason = b.refusal(e, w, campaign)
			unpayable = reason != ""
		case paid && !known: // it was allowed when it was paid
			reason = ""
		}
		if reason == "" && !before {
			reason = b.spend(campaign.ID, w, max(e.SealedAt, at.ms))
		}
		if reason != "" {
			d := winLetter(e.Ref, e.SealedAt, w, at, reason)
			d.unpayable = unpayable
			b.addDead(d)
			continue
		}
		if !before {
			b.paid[key] = Holder{w.User, w.Amount}
			b.reclaimed.take(e.Ref.Campaign, w.Packet)
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

// payment is a batch's one transaction for the wins of a campaign.
type payment struct {
	txn   int            // its index
	lines map[string]int // player → line
}

// pay adds an entry's wins to the transaction of its campaign. The transaction's key names the first entry and its
// first packet. A packet is paid once, so the key is new, even if an earlier transaction paid other wins of the
// entry.
func (b *batch) pay(at position, fresh []postedWin) {
	campaign := at.ref.Campaign
	to := b.payments[campaign]
	if to == nil {
		to = &payment{txn: len(b.txns), lines: make(map[string]int, len(fresh))}
		if b.payments == nil {
			b.payments = map[string]*payment{}
		}
		b.payments[campaign] = to
		lines := make([]booking.Line, 1, 1+len(fresh))
		lines[0].Account = booking.EscrowAccount(campaign)
		b.txns = append(b.txns, booking.Txn{
			Kind: booking.KindPay, Key: fmt.Sprintf("pay:%s:%d", at.ref, fresh[0].win.Packet), Lines: lines,
		})
	}
	txn := &b.txns[to.txn]
	var total rain.Money
	for i := range fresh {
		w := &fresh[i].win
		fresh[i].key = txn.Key
		total += w.Amount
		n, ok := to.lines[w.User]
		if !ok {
			n = len(txn.Lines)
			to.lines[w.User] = n
			txn.Lines = append(txn.Lines, booking.Line{Account: booking.UserAccount(w.User)})
		}
		txn.Lines[n].Amount += w.Amount
	}
	txn.Lines[0].Amount -= total
	t := b.totals[campaign]
	t.Paid += int64(len(fresh))
	t.AmountPaid += total
	b.totals[campaign] = t
}

// refusal returns the reason why a win cannot be posted. It is "" if the win can be, or is, posted.
func (b *batch) refusal(e rain.Entry, w rain.Win, campaign terms) string {
	if err := rain.CheckUser(w.User); err != nil {
		return err.Error()
	}
	if w.Amount == 0 {
		return fmt.Sprintf("the campaign has no packet %d", w.Packet)
	}
	if h, ok := b.paid[packetKey{campaign.ID, w.Packet}]; ok {
		if h != (Holder{w.User, w.Amount}) {
			return fmt.Sprintf("packet %d is paid to another player", w.Packet)
		}
		return ""
	}
	if has(b.reclaimed.given[campaign.ID], w.Packet) {
		return fmt.Sprintf("packet %d was returned to the sponsor", w.Packet)
	}
	layout := campaign.Layout()
	if layout.Home(w.User) != e.Ref.Shard {
		return fmt.Sprintf("the player's taps are not decided on shard %d", e.Ref.Shard)
	}
	if !layout.MayHave(w.User, w.Packet) {
		return fmt.Sprintf("packet %d is not in the player's lane: guests and players have separate packets",
			w.Packet)
	}
	if err := campaign.CheckTicket(w.User, w.Drop, e.SealedAt); err != nil {
		return err.Error()
	}
	return b.players.refusal(campaign, w)
}

// spend deducts a win from the campaign's escrow, if that was read. It returns the reason of a refusal, or "".
func (b *batch) spend(campaign string, w rain.Win, at int64) string {
	if b.bannedAt != nil && b.bannedAt(w.User, at) {
		return Banned
	}
	if b.listed != nil {
		if why := b.listed(campaign, w.User, at); why != "" {
			return why
		}
	}
	amount := w.Amount
	if b.escrow == nil {
		return ""
	}
	if b.escrow[campaign] < amount {
		return "the campaign's escrow has too little money"
	}
	b.escrow[campaign] -= amount
	return ""
}

// WholeCampaign is the shard of a reclaim that returns a whole budget.
const WholeCampaign = -1

// classifyReclaim decides the outcome of a reclaim. A packet is returned once, and only if it is unassigned.
func (b *batch) classifyReclaim(e rain.Entry, at position, campaign terms, fault, void string) {
	r := *e.Reclaim
	if b.dead.HasReclaim(e) || b.reclaimed.entries[e.Ref] || b.reclaimed.whole[e.Ref.Campaign] {
		return
	}
	if !isSealedReclaim(b.doubted, &e) {
		if d := forgedLetter(reclaimLetter(e, at, errSeal)); !b.dead.has(d) {
			b.addDead(d)
		}
		return
	}
	switch {
	case void != "":
		b.addVoid(reclaimLetter(e, at, void))
		return
	case fault != "":
	case campaign.Status != rain.Closed:
		fault = "the campaign is not closed"
	case !within(r.Numbers, campaign.Packets):
		fault = "the campaign has no such packets"
	}
	if fault != "" {
		b.addDead(reclaimLetter(e, at, fault))
		return
	}
	foreign := without(r.Numbers, b.holdings[shardKey{e.Ref.Campaign, e.Ref.Shard}])
	own := without(r.Numbers, foreign)
	if len(own) == 0 {
		// It keeps no money: its packets belong to other shards, whose reclaims return them.
		d := forgedLetter(reclaimLetter(e, at,
			fmt.Sprintf("by the moves in the ledger shard %d has none of packets %s: "+
				"an outsider has written to Redis", e.Ref.Shard, inShort(foreign))))
		if !b.dead.has(d) {
			b.addDead(d)
		}
		return
	}
	b.reclaimed.entries[e.Ref] = true
	free := b.reclaimed.unassigned(e.Ref.Campaign, own)
	given := min(campaign.amounts.Sum(free), b.escrow[e.Ref.Campaign])
	if given < r.Amount {
		b.cuts = append(b.cuts, ReclaimCut{at.ref, r.Amount, given, cutReason(r.Amount, given, foreign), free})
	}
	b.escrow[e.Ref.Campaign] -= given
	if given > 0 {
		at.key = fmt.Sprintf("reclaim:%s", e.Ref)
		b.txns = append(b.txns, booking.Move(booking.KindReclaim, at.key, booking.EscrowAccount(e.Ref.Campaign),
			booking.SponsorAccount(campaign.Sponsor), given))
	}
	b.reclaims = append(b.reclaims, postedReclaim{at, r.Numbers, free.Count(), given})
	t := b.totals[at.ref.Campaign]
	t.Reclaimed += int64(free.Count())
	t.AmountReclaimed += given
	b.totals[at.ref.Campaign] = t
}

// cutReason returns the reason why a reclaim gets less than it asked for. foreign are the packets that its shard
// cannot have had.
func cutReason(asked, given rain.Money, foreign rain.Numbers) string {
	if len(foreign) > 0 {
		return fmt.Sprintf("the shard asked for %d and got %d: by the moves in the ledger packets %s are not its own. "+
			"An outsider has written to Redis, or Redis had gone back in time", asked, given, inShort(foreign))
	}
	return fmt.Sprintf("the shard asked for %d, and %d of that belongs to players: Redis had lost wins", asked,
		asked-given)
}

// addDead keeps a dead letter, once.
func (b *batch) addDead(d DeadLetter) {
	b.dead.Note(d)
	if d.Kind == LetterPay {
		b.reclaimed.take(d.Campaign, d.Packet)
	}
	b.letters = append(b.letters, d)
}

// addVoid keeps a dead letter as void: it is resolved from the start. It keeps it once.
func (b *batch) addVoid(d DeadLetter) {
	b.dead.Note(d)
	d.void = true
	b.voids = append(b.voids, d)
}
