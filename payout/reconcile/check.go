package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Reconciliation accounts for every cent of a campaign. Each packet, and so each cent, is in exactly one of these
// places:
//
//	Funded = Paid + Reclaimed + Stock + Unsettled + Dead + Difference
//
// If every packet is in its place, and the escrow has too little for the unpaid ones, Funded is reduced by the
// missing amount.
type Reconciliation struct {
	Funded    rain.Money `json:"funded"`
	Paid      rain.Money `json:"paid"`      // posted as wins
	Reclaimed rain.Money `json:"reclaimed"` // returned to the sponsor
	// in Redis and not won, including packets in flight between shards; while a campaign is loading, its whole budget
	Stock      rain.Money `json:"stock"`
	Unsettled  rain.Money `json:"unsettled"`  // in an outbox and not posted
	Dead       rain.Money `json:"dead"`       // in dead letters, except packets that are in stock
	Difference rain.Money `json:"difference"` // positive: packets missing; negative: too much won, or the escrow short
	Balanced   bool       `json:"balanced"`   // no difference and no findings
	Held       rain.Money `json:"held"`       // part of paid: held until an operator decides
	Confirmed  rain.Money `json:"confirmed"`  // part of paid: held once, and then returned to the sponsor
	Findings   []string   `json:"findings,omitempty"`
	// Letters describes the campaign's open dead letters. Their money is accounted for, and a forged one has none, so
	// they do not unbalance the books.
	Letters []string `json:"letters,omitempty"`
	// Later counts the packets that were paid meanwhile: Redis was read before, and has them in stock.
	Later int64 `json:"later"`

	CheckedAt int64 `json:"checked_at"` // Unix ms, at the end
	TookMS    int64 `json:"took_ms"`

	// Final reports whether every row of a drained campaign was read without a finding: it need not be read again.
	Final bool `json:"-"`
	// Fingerprint is equal for two reconciliations with the same findings, even if money moved between them.
	Fingerprint string `json:"-"`
}

// scope is the extent of a reconciliation. Without rows it compares sums. If these do not match, it is repeated with
// rows.
type scope struct {
	rows bool      // also read payouts, the split, and the records in Redis
	txns bool      // with rows: also the campaign's transactions and balances
	live LiveState // nil: Redis is not read; a drained campaign does not need it
	last bool      // no other attempt follows if a shard was rebuilt meanwhile

	stretch int            // rows that one statement sums
	seen    func(rows int) // is called with the number of payouts read; may be nil
}

// campaignCheck has the figures of one reconciliation.
type campaignCheck struct {
	campaign    *rain.Campaign
	amounts     *rain.Amounts // nil if the campaign's row cannot be split
	scope       scope
	shards      []*shardBooks // by number
	moves       map[string]*move
	found       findings
	letterTexts findings // descriptions of the open dead letters

	funded    rain.Money
	short     rain.Money      // missing in the escrow for packets that are neither paid nor reclaimed
	reclaimed rain.Money      // as of the snapshots
	held      rain.Money      // of the payouts: held
	confirmed rain.Money      // of the payouts: returned to the sponsor
	given     bool            // the whole budget was returned to the sponsor
	dismissed []reclaimRow    // packets of dismissed dead letters, returned to the sponsor
	letters   posting.Letters // the open dead letters
	astray    rain.Money      // paid in shards that do not exist; without rows, in all shards together
	all       posting.Totals  // of all rows, including those newer than the snapshots
	inFlight  rain.Numbers    // in flight between shards
	twiceSeen rain.Numbers    // in two snapshots: they moved between the two
	later     int64           // packets paid since the snapshots
	suspect   bool            // the sums do not match
}

// shardBooks is one shard in Redis and in the ledger.
type shardBooks struct {
	snapshot rain.ShardSnapshot
	cut      position // the newest outbox entry in the snapshot
	outbox   outbox
	holding  holding

	// Of the holding, as of the snapshot.
	stock                set  // in stock in Redis
	won, outboxReclaimed set  // in the outbox: won, or in a reclaim
	paid                 set  // in the ledger; without rows, only those in the outbox or a dead letter
	dead, deadReclaimed  set  // in open dead letters
	reclaimed            set  // reclaimed in the ledger
	recorded             set  // won, by the records in Redis
	compared             bool // all records were compared

	amountPaid    rain.Money // the sum of the payouts' rows
	deadPay       rain.Money // of dead letters
	mismatched    rain.Money // in the outbox, and paid to another player in the ledger
	tooMuchStock  rain.Money // in stock twice, or of another shard
	tooMuchOutbox rain.Money // in the outbox twice, or of another shard
	reclaims      []reclaimRow
	laterReclaims []reclaimRow // of entries that are not in the snapshot
}

// newCampaignCheck takes the snapshots. If Redis does not have a shard, no entry counts as later than its snapshot.
func newCampaignCheck(c *rain.Campaign, shards []rain.ShardSnapshot, how scope) *campaignCheck {
	r := &campaignCheck{campaign: c, scope: how, moves: map[string]*move{}, letters: posting.Letters{}}
	fault := c.Fault
	if fault == "" {
		var err error
		if r.amounts, err = rain.NewAmounts(c); err != nil {
			fault = err.Error()
		}
	}
	if fault != "" {
		r.amounts = nil
		r.found.add("the campaign", "the campaign's database row is invalid, so its packets cannot be verified one "+
			"by one: %s", fault)
		return r
	}
	for n := range max(c.Shards, 1) {
		r.shards = append(r.shards, &shardBooks{cut: position{math.MaxInt64, math.MaxInt64},
			snapshot: rain.ShardSnapshot{Shard: n}})
	}
	for _, s := range shards {
		b := r.shard(s.Shard)
		if b != nil && s.Unread != "" {
			b.snapshot.Unread = s.Unread
			r.cannotRead(s.Shard, s.Unread)
		}
		if b == nil || !s.Found {
			continue
		}
		b.snapshot = s
		for _, what := range s.Unreadable {
			r.found.add("invalid data in Redis", "shard %d: %s, which no script has written", s.Shard, what)
		}
		var err error
		if b.cut, err = positionOf(s.LastEntry); err != nil {
			r.found.add("invalid data in Redis", "shard %d: %v", s.Shard, err)
		}
	}
	return r
}

// cannotRead reports an unreadable part of a shard.
func (r *campaignCheck) cannotRead(shard int, why string) {
	r.found.add("invalid data in Redis", "shard %d: what Redis has of it cannot be read: %s", shard, why)
}

// unread handles an error of reading a shard. If the shard's data is invalid, that is a finding and hides no other
// one. Any other error is returned: it says nothing about the books.
func (r *campaignCheck) unread(shard int, err error) error {
	if !errors.Is(err, rain.ErrUnreadable) {
		return err
	}
	r.cannotRead(shard, err.Error())
	return nil
}

// counted reports whether each packet has a place: all were stocked, and the whole budget was not returned.
func (r *campaignCheck) counted() bool {
	return r.amounts != nil && r.campaign.Status != rain.Loading && !r.given
}

// known reports whether all packets of a shard are known: Redis has the shard, or may have deleted it.
func (r *campaignCheck) known(b *shardBooks) bool { return b.snapshot.Found || r.campaign.Drained }

// position is the position of an outbox entry in its shard.
type position struct{ ms, seq int64 }

// positionOf parses the id of an outbox entry. After an error the position is zero.
func positionOf(id string) (at position, err error) {
	at.ms, at.seq, err = rain.EntryRef{ID: id}.Position()
	if err != nil {
		at = position{}
	}
	return at, err
}

func (p position) after(other position) bool {
	return cmp.Or(cmp.Compare(p.ms, other.ms), cmp.Compare(p.seq, other.seq)) > 0
}

func (p position) String() string { return fmt.Sprintf("%d-%d", p.ms, p.seq) }

// later reports whether an entry is newer than the shard's snapshot.
func (b *shardBooks) later(at position) bool { return at.after(b.cut) }

// laterRef is later for an entry's id. An invalid id counts as later, because no script has written it.
func (b *shardBooks) laterRef(ref rain.EntryRef) bool {
	at, err := positionOf(ref.ID)
	return err != nil || b.later(at)
}

// shard returns a shard, or nil if there is no such shard.
func (r *campaignCheck) shard(n int) *shardBooks {
	if n < 0 || n >= len(r.shards) {
		return nil
	}
	return r.shards[n]
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sums computes the result.
func (r *campaignCheck) sums() Reconciliation {
	res := Reconciliation{Funded: r.funded, Reclaimed: r.reclaimed, Paid: r.astray}
	for _, b := range r.shards {
		res.Paid += b.amountPaid
		res.Dead += b.deadPay
		if !r.counted() {
			continue
		}
		h := &b.holding
		// A dead letter about a packet in stock has no money: its entry was altered, or Redis has gone back in time.
		// Another finding reports that the packet is in two places.
		res.Dead -= r.amounts.Sum(h.list(func(w int) uint64 { return b.dead.word(w) & b.stock.word(w) }))
		res.Dead += r.amounts.Sum(h.list(func(w int) uint64 {
			return b.deadReclaimed.word(w) &^ (b.paid.word(w) | b.dead.word(w) | b.reclaimed.word(w))
		}))
		res.Unsettled += b.mismatched + b.tooMuchOutbox + r.amounts.Sum(h.list(b.unposted))
		res.Stock += b.tooMuchStock + r.amounts.Sum(h.list(b.stock.word))
	}
	if r.counted() {
		res.Stock += r.amounts.Sum(r.inFlight) - r.amounts.Sum(r.twiceSeen)
	}
	accounted := res.Paid + res.Reclaimed + res.Unsettled + res.Dead
	if r.campaign.Status == rain.Loading {
		res.Stock = res.Funded - accounted
	}
	if res.Difference = res.Funded - accounted - res.Stock; res.Difference == 0 {
		// Every packet is in its place. Only the escrow can show that the money is there, too.
		res.Funded -= r.short
		res.Difference = -r.short
	}
	return res
}

// unposted returns the packets in the outbox that are neither posted nor dead-lettered.
func (b *shardBooks) unposted(w int) uint64 {
	return b.won.word(w)&^(b.paid.word(w)|b.dead.word(w)) |
		b.outboxReclaimed.word(w)&^(b.paid.word(w)|b.dead.word(w)|b.reclaimed.word(w)|b.deadReclaimed.word(w))
}

func (r *campaignCheck) result() Reconciliation {
	res := r.sums()
	res.Held, res.Confirmed = r.held, r.confirmed
	res.Findings, res.Letters, res.Later = r.found.all(), r.letterTexts.all(), r.later
	res.Balanced = res.Difference == 0 && len(res.Findings) == 0
	res.Final = res.Balanced && r.scope.rows && r.campaign.Drained
	res.Fingerprint = r.found.fingerprint(res.Difference)
	return res
}
