package posting

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"redrain/internal/seal"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// batch is one try of posting some entries: what the ledger knows of them, and then what is to be written.
type batch struct {
	asked []string // the campaigns of the entries

	// Read from the ledger, and kept up to date while the batch is classified.
	campaigns  map[string]terms
	unreadable map[string]bool // campaigns whose rows cannot be read or split
	paid       map[packetKey]Holder
	quick      bool                    // paid has nothing of what was posted before
	doubted    *seal.Ring              // to check the seals with; nil: they are all right
	dead       Letters                 // of the claims in the batch
	bounds     bounds                  // what may not be paid any more
	escrow     map[string]rain.Money   // nil: not looked at, because it has always been enough
	players    *players                // nil: not looked at; the database refuses what is too much
	reclaimed  reclaimed               // of the campaigns that return stock, or have; empty if there are none
	bannedAt   bannedAt                // nil: a person has decided
	listed     standing.Refused        // nil: a person has decided
	verdictOf  verdictOf               // nil: a person has decided, or verdicts hold nothing
	holdings   map[shardKey]*packetSet // what the shards can have that give something back

	// Decided by classify.
	txns     []booking.Txn
	payments map[string]*payment // by campaign
	wins     []postedWin
	reclaims []postedReclaim
	cuts     []ReclaimCut
	letters  []DeadLetter
	dropped  int          // letters for which there was no room
	voids    []DeadLetter // of an earlier epoch of their shard: kept, and resolved
	held     []heldWin    // of the wins
	settled  []Settlement
	totals   map[string]Totals
}

// bannedAt tells whether a player was banned at a moment.
type bannedAt func(user string, at int64) bool

type postedWin struct {
	position
	win   rain.Win
	claim string
}

type postedReclaim struct {
	position
	asked   rain.Numbers
	packets int // that are given back
	amount  rain.Money
}

// care is how much of what the ledger knows is read before a posting.
type care int

const (
	// quick looks for one packet of each entry among the payouts. Nearly always nothing of a batch is paid yet, and
	// what is paid all the same the database refuses to pay again.
	quick care = iota
	// thorough looks for every packet.
	thorough
	// careful also locks the escrows and counts what they hold, and looks at what each player has won.
	careful
)

// readBatch reads what the ledger knows of the entries, and fills in their amounts. A reclaim, which takes what is
// left, has all packets looked for and the escrows locked.
func (p *Poster) readBatch(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry, with care) (b *batch, err error) {
	wins := 0
	for i := range entries {
		wins += len(entries[i].Wins)
	}
	b = &batch{
		paid: make(map[packetKey]Holder, wins), dead: Letters{}, totals: map[string]Totals{},
	}
	packets, closing := packetsOf(entries)
	if closing {
		with = max(with, thorough)
	}
	b.quick = with == quick
	b.asked = slices.Collect(maps.Keys(packets))
	if b.campaigns, b.unreadable, err = p.terms.read(ctx, tx, b.asked); err != nil {
		return nil, err
	}
	// Before the payouts: whoever pays meanwhile takes from the escrow, and what they paid would look unpayable.
	if with == careful || closing {
		if err := b.lockEscrows(ctx, tx, entries); err != nil {
			return nil, err
		}
		// Once more: whoever held the escrow until now may have made the campaign's first dead letter.
		if b.campaigns, b.unreadable, err = p.terms.read(ctx, tx, b.asked); err != nil {
			return nil, err
		}
	}
	// Before the payouts too: what was posted before a fence that is seen here is then seen as well, and not taken
	// for void.
	if b.bounds, err = readBounds(ctx, tx, b.asked); err != nil {
		return nil, err
	}
	if err := b.readPayouts(ctx, tx, entries, packets); err != nil {
		return nil, fmt.Errorf("reading payouts: %w", err)
	}
	if err := b.readDead(ctx, tx, b.mayBeDead(entries)); err != nil {
		return nil, fmt.Errorf("reading dead letters: %w", err)
	}
	if b.doubted, err = p.seals.doubted(ctx, tx, entries); err != nil {
		return nil, err
	}
	for i := range entries {
		if c, known := b.campaigns[entries[i].Ref.Campaign]; known {
			entries[i].FillIn(c.amounts)
		} else {
			b.fillInPaid(&entries[i])
		}
	}
	if b.reclaimed, err = readReclaimed(ctx, tx, entries, b.bounds.reclaims); err != nil {
		return nil, fmt.Errorf("reading reclaims: %w", err)
	}
	if b.holdings, err = readHoldings(ctx, tx, entries, b.campaigns); err != nil {
		return nil, err
	}
	if with == careful {
		if b.players, err = readPlayers(ctx, tx, entries); err != nil {
			return nil, fmt.Errorf("reading what players have won: %w", err)
		}
	}
	return b, nil
}

// fillInPaid sets the amounts of those wins of an entry that are paid. Of others nobody knows what they hold.
func (b *batch) fillInPaid(e *rain.Entry) {
	for i := range e.Wins {
		w := &e.Wins[i]
		w.Amount = 0
		if h := b.paid[packetKey{e.Ref.Campaign, w.Packet}]; h.User == w.User {
			w.Amount = h.Amount
		}
	}
}

// packetsOf are the packets that entries win, by campaign, and whether one of them gives packets back.
func packetsOf(entries []rain.Entry) (packets map[string][]int, closing bool) {
	packets = map[string][]int{}
	for i := range entries {
		e := &entries[i]
		if len(e.Wins) > 0 || e.Reclaim != nil {
			packets[e.Ref.Campaign] = AppendPackets(packets[e.Ref.Campaign], e.Wins)
		}
		closing = closing || e.Reclaim != nil
	}
	return packets, closing
}

// AppendPackets appends the packet numbers of wins to numbers.
func AppendPackets(numbers []int, wins []rain.Win) []int {
	for i := range wins {
		numbers = append(numbers, wins[i].Packet)
	}
	return numbers
}

// readPayouts reads what is paid of the packets of entries; where the batch is quick, only if some of it is.
func (b *batch) readPayouts(ctx context.Context, q sqldb.Querier, entries []rain.Entry,
	packets map[string][]int) error {
	if b.quick {
		some, err := anyPaid(ctx, q, entries)
		if b.quick = !some; err != nil || b.quick {
			return err
		}
	}
	for campaign, numbers := range packets {
		err := eachHolder(ctx, q, campaign, numbers, func(packet int, h Holder) {
			b.paid[packetKey{campaign, packet}] = h
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// anyPaid looks for the first packet of each entry among the payouts. The wins of an entry are paid together, as a
// rule.
func anyPaid(ctx context.Context, q sqldb.Querier, entries []rain.Entry) (some bool, err error) {
	first := map[string][]int{}
	for i := range entries {
		if e := &entries[i]; len(e.Wins) > 0 {
			first[e.Ref.Campaign] = append(first[e.Ref.Campaign], e.Wins[0].Packet)
		}
	}
	for campaign, packets := range first {
		err := eachHolder(ctx, q, campaign, packets, func(packet int, _ Holder) {
			some = some || slices.Contains(packets, packet) // others may lie between them
		})
		if err != nil || some {
			return some, err
		}
	}
	return false, nil
}

// mayBeDead lists the claims that a dead letter may be about: none where all is well.
func (b *batch) mayBeDead(entries []rain.Entry) (claims []string) {
	for _, e := range entries {
		if c, known := b.campaigns[e.Ref.Campaign]; known && !c.letters {
			continue
		}
		for _, w := range e.Wins {
			claims = append(claims, LetterClaim(rain.ClaimID(e.Ref.Campaign, w.Packet)))
		}
		if e.Reclaim != nil {
			claims = append(claims, LetterClaim(e.Ref.String()))
		}
	}
	return claims
}

func (b *batch) readDead(ctx context.Context, q sqldb.Querier, claims []string) error {
	return sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var claim, fingerprint string
		err := scan(&claim, &fingerprint)
		b.dead.note(claim, fingerprint)
		return err
	}, "SELECT claim, fingerprint FROM dead_letter WHERE claim IN", claims)
}

// lockEscrows counts what the escrows hold and keeps it so. The players come first, as in book; one who has no
// balance yet comes out of turn then, which costs a try more at worst.
func (b *batch) lockEscrows(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry) error {
	locked := map[booking.Account]bool{}
	for _, e := range entries {
		if _, known := b.campaigns[e.Ref.Campaign]; !known {
			continue
		}
		locked[booking.EscrowAccount(e.Ref.Campaign)] = true
		for _, w := range e.Wins {
			if rain.CheckUser(w.User) == nil {
				locked[booking.UserAccount(w.User)] = true
			}
		}
	}
	players, escrows := booking.InKeyOrder(locked)
	if _, err := booking.LockBalances(ctx, tx, players); err != nil {
		return err
	}
	balances, err := booking.LockBalances(ctx, tx, escrows)
	if err != nil {
		return err
	}
	b.escrow = make(map[string]rain.Money, len(balances))
	for a, balance := range balances {
		b.escrow[a.Owner] = balance
	}
	return nil
}

// Holder is who has a packet, and what is in it.
type Holder struct {
	User   string
	Amount rain.Money
}

// eachHolder reads who has the packets. Those of a batch mostly lie close together, as they were won one after the
// other: then the range is read, with the few others in it, because a list of hundreds of numbers costs more than
// finding the rows.
func eachHolder(ctx context.Context, q sqldb.Querier, campaign string, packets []int, fn func(int, Holder)) error {
	if len(packets) == 0 {
		return nil
	}
	row := func(scan sqldb.Scan) error {
		var packet int
		var h Holder
		err := scan(&packet, &h.User, &h.Amount)
		fn(packet, h)
		return err
	}
	if first, last := slices.Min(packets), slices.Max(packets); last < first+2*len(packets) {
		return q.Each(ctx, row, selectHolders+"packet BETWEEN ? AND ?", campaign, first, last)
	}
	return sqldb.EachIn(ctx, q, row, selectHolders+"packet IN", packets, campaign)
}

const selectHolders = "SELECT packet, user_id, amount FROM payout WHERE campaign_id = ? AND "
