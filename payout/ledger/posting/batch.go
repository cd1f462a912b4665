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

// batch is one try of posting some entries: the state of the ledger, and then the rows to write.
type batch struct {
	asked []string // the campaigns of the entries

	// Read from the ledger, and updated while the batch is classified.
	campaigns  map[string]terms
	unreadable map[string]bool // campaigns whose rows cannot be read or split
	paid       map[packetKey]Holder
	quick      bool                      // paid lacks earlier payouts
	doubted    *seal.Ring                // verifies the seals; nil: all are valid
	dead       Letters                   // about the claims in the batch
	bounds     bounds                    // decide which entries are void
	escrow     map[string]rain.Money     // nil: not read; then Book finds too little money
	players    *players                  // nil: not read; the database refuses too many wins
	reclaimed  reclaimed                 // of the campaigns with reclaims, in the batch or before
	bannedAt   bannedAt                  // nil: not checked
	listed     standing.Refused          // nil: not checked
	verdictOf  verdictOf                 // nil: no win is held
	holdings   map[shardKey]rain.Numbers // the packets of shards with reclaims

	// Decided by classify.
	txns      []booking.Txn
	payments  map[string]*payment // by campaign
	wins      []postedWin
	reclaims  []postedReclaim
	cuts      []ReclaimCut
	letters   []DeadLetter
	discarded int          // dead letters beyond the limit
	voids     []DeadLetter // of an earlier epoch of their shard: kept, and resolved
	held      []heldWin    // held wins, also in wins
	settled   []Settlement
	totals    map[string]Totals
}

// bannedAt reports whether a player was banned at a moment.
type bannedAt func(user string, at int64) bool

type postedWin struct {
	entryAt
	win   rain.Win
	claim string
}

type postedReclaim struct {
	entryAt
	asked   rain.Numbers
	packets int // number of reclaimed packets
	amount  rain.Money
}

// readDepth says how much is read before a posting.
type readDepth int

const (
	// quick looks up one packet of each entry in payout. Nearly always no win of a batch is paid yet. If one is, the
	// database refuses to pay it again.
	quick readDepth = iota
	// thorough looks up every packet.
	thorough
	// careful also locks and reads the escrows, and reads the earlier wins of each player.
	careful
)

// readBatch reads the ledger's state for the entries, and fills in their amounts. If an entry is a reclaim, it looks
// up all packets and locks the escrows.
func (p *Poster) readBatch(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry,
	with readDepth) (b *batch, err error) {
	wins := 0
	for i := range entries {
		wins += len(entries[i].Wins)
	}
	b = &batch{
		paid: make(map[packetKey]Holder, wins), dead: Letters{}, totals: map[string]Totals{},
	}
	packets, hasReclaim := packetsOf(entries)
	if hasReclaim {
		with = max(with, thorough)
	}
	b.quick = with == quick
	b.asked = slices.Collect(maps.Keys(packets))
	if b.campaigns, b.unreadable, err = p.terms.read(ctx, tx, b.asked); err != nil {
		return nil, err
	}
	// Before the payouts: another transaction may pay meanwhile, and its payout would look unpayable.
	if with == careful || hasReclaim {
		if err := b.lockEscrows(ctx, tx, entries); err != nil {
			return nil, err
		}
		// Again: the transaction that held the escrow may have written the campaign's first dead letter.
		if b.campaigns, b.unreadable, err = p.terms.read(ctx, tx, b.asked); err != nil {
			return nil, err
		}
	}
	// Before the payouts, too: then the payouts include all that was posted before a fence that is seen here.
	if b.bounds, err = readBounds(ctx, tx, b.asked); err != nil {
		return nil, err
	}
	if err := b.readPayouts(ctx, tx, entries, packets); err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	if err := b.readDead(ctx, tx, b.mayBeDead(entries)); err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
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
		return nil, fmt.Errorf("read reclaims: %w", err)
	}
	if b.holdings, err = readHoldings(ctx, tx, entries, b.campaigns); err != nil {
		return nil, err
	}
	if with == careful {
		if b.players, err = readPlayers(ctx, tx, entries); err != nil {
			return nil, fmt.Errorf("read the players' wins: %w", err)
		}
	}
	return b, nil
}

// fillInPaid sets the amounts of an entry's paid wins. Without the campaign, the other amounts are unknown.
func (b *batch) fillInPaid(e *rain.Entry) {
	for i := range e.Wins {
		w := &e.Wins[i]
		w.Amount = 0
		if h := b.paid[packetKey{e.Ref.Campaign, w.Packet}]; h.User == w.User {
			w.Amount = h.Amount
		}
	}
}

// packetsOf returns the packets that entries win, by campaign, and whether an entry is a reclaim.
func packetsOf(entries []rain.Entry) (packets map[string][]int, hasReclaim bool) {
	packets = map[string][]int{}
	for i := range entries {
		e := &entries[i]
		if len(e.Wins) > 0 || e.Reclaim != nil {
			numbers := packets[e.Ref.Campaign]
			for j := range e.Wins {
				numbers = append(numbers, e.Wins[j].Packet)
			}
			packets[e.Ref.Campaign] = numbers
		}
		hasReclaim = hasReclaim || e.Reclaim != nil
	}
	return packets, hasReclaim
}

// readPayouts reads the payouts of the entries' packets. A quick batch first checks a sample.
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

// anyPaid looks up the first packet of each entry. The wins of an entry are normally paid together.
func anyPaid(ctx context.Context, q sqldb.Querier, entries []rain.Entry) (some bool, err error) {
	first := map[string][]int{}
	for i := range entries {
		if e := &entries[i]; len(e.Wins) > 0 {
			first[e.Ref.Campaign] = append(first[e.Ref.Campaign], e.Wins[0].Packet)
		}
	}
	for campaign, packets := range first {
		err := eachHolder(ctx, q, campaign, packets, func(packet int, _ Holder) {
			some = some || slices.Contains(packets, packet) // the range may include packets of other entries
		})
		if err != nil || some {
			return some, err
		}
	}
	return false, nil
}

// mayBeDead lists the claims that may have a dead letter. It leaves out campaigns without any.
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

// lockEscrows locks and reads the escrows. It locks the players first, as booking.Book does. A player without a
// balance is locked out of order, which costs at most one more try.
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
	players, escrows := booking.InLockOrder(locked)
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

// Holder is the owner of a paid packet, and its amount.
type Holder struct {
	User   string
	Amount rain.Money
}

// eachHolder reads the owners of paid packets. The packets of a batch mostly lie close together. Then it reads the
// range, including the few others, because a list of hundreds of numbers costs more.
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
