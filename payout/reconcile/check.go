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

// Reconciliation says where every cent of a campaign is. Each packet, and so each cent, is in exactly one of the
// places:
//
//	Funded = Paid + Reclaimed + Stock + Unsettled + Dead + Difference
//
// Where every packet is in its place, and the escrow holds less than what is not paid or given back yet, so much less
// counts as funded.
type Reconciliation struct {
	Funded    rain.Money `json:"funded"`
	Paid      rain.Money `json:"paid"`      // posted as players' wins
	Reclaimed rain.Money `json:"reclaimed"` // posted back to the sponsor
	// in Redis and not won, also on its way between shards; while a campaign is loading, all that is being stocked
	Stock      rain.Money `json:"stock"`
	Unsettled  rain.Money `json:"unsettled"`  // in an outbox and not yet posted
	Dead       rain.Money `json:"dead"`       // dead letters, but for packets that can be won
	Difference rain.Money `json:"difference"` // positive: money is missing; negative: more was promised than funded
	Balanced   bool       `json:"balanced"`   // no difference and no findings
	Held       rain.Money `json:"held"`       // of what is paid: kept apart until somebody has decided about it
	Confirmed  rain.Money `json:"confirmed"`  // of what is paid: kept apart once, and then given back to the sponsor
	Findings   []string   `json:"findings,omitempty"`
	// Letters are dead letters about the campaign that wait for a person, in words. Their money is accounted for, and
	// what nobody has sealed costs nobody anything: so they do not unbalance the books.
	Letters []string `json:"letters,omitempty"`
	// Later is how many packets were paid while this was done: Redis was read before, and has them as stock.
	Later int64 `json:"later"`

	CheckedAt int64 `json:"checked_at"` // Unix ms, when it was done
	TookMS    int64 `json:"took_ms"`

	// Final reports whether every row of a drained campaign was read, and all is well: it need not be read again.
	Final bool `json:"-"`
	// Fingerprint is the same for two reconciliations that have found the same faults, also while money goes on moving.
	Fingerprint string `json:"-"`
}

// look is the scope of a reconciliation. Without rows it compares sums; if these do not fit, it is repeated with rows.
type look struct {
	rows bool // payouts, the split, and what Redis has recorded
	txns bool // the campaign's transactions and balances, if rows too
	hot  Hot  // nil: what Redis has is not known, and of a drained campaign need not be
	last bool // this is not tried again if a shard was rebuilt meanwhile

	stretch int            // how many rows one statement adds up
	seen    func(rows int) // is called with the number of payouts that were read; may be nil
}

// campaignCheck gathers the figures of one reconciliation.
type campaignCheck struct {
	campaign *rain.Campaign
	amounts  *rain.Amounts // nil where the campaign's row cannot be split
	look     look
	shards   map[int]*shardBooks
	moves    map[string]*move
	cannotBe map[string]bool // moves whose rows make no sense
	found    findings
	waiting  findings // the dead letters, in words

	funded    rain.Money
	short     rain.Money      // what the escrow holds less than what is neither paid nor given back
	reclaimed rain.Money      // as of the snapshots
	held      rain.Money      // of the payouts, kept apart
	confirmed rain.Money      // of the payouts, given back to the sponsor
	given     bool            // the whole budget is back at the sponsor
	dismissed []reclaimRow    // packets that dismissed letters held, back at the sponsor
	letters   posting.Letters // the dead letters that wait
	astray    rain.Money      // paid in shards that do not exist; without rows, in all shards together
	all       posting.Totals  // of all rows, those newer than the snapshots too
	onTheWay  rain.Numbers    // from one shard to another
	twiceSeen rain.Numbers    // in two snapshots: they moved between the one and the other
	later     int64           // packets that were paid since the snapshots
	suspect   bool            // the sums do not fit
}

// shardBooks is one shard as Redis and as the ledger see it.
type shardBooks struct {
	snapshot rain.ShardSnapshot
	cut      position // the newest outbox entry that the snapshot knows of
	outbox   outbox
	holding  holding
	borrowed map[string]int64 // moves that have come to it, with their numbers; nil: not read

	// Of the holding, as of the snapshot.
	stock, won, returned set  // in Redis: can be won; in the outbox, won or given back
	paid                 set  // in the ledger; without rows, of those only that are in the outbox or a dead letter
	dead, deadReturned   set  // in dead letters that wait
	reclaimed            set  // given back by the ledger
	recorded             set  // won, as Redis has recorded
	counted              set  // of these, counted for their players
	compared             bool // all that is recorded was looked at

	amountPaid         rain.Money // as the rows of the payouts say
	deadPay            rain.Money // of dead letters
	mismatched         rain.Money // in the outbox, and in the ledger another's
	tooMuchStock       rain.Money // in the stock and not this shard's, or there twice
	tooMuchOutbox      rain.Money // the same of the outbox
	reclaims           []reclaimRow
	laterReclaims      []reclaimRow // of entries that the snapshot does not know of
	given, givenBefore rain.Numbers // what entries of this epoch, and of earlier ones, have given back
}

// newCampaignCheck sorts the snapshots in. A shard that Redis does not know has no outbox, so nothing in the ledger is
// newer than what it knows of.
func newCampaignCheck(c *rain.Campaign, shards []rain.ShardSnapshot, how look) *campaignCheck {
	r := &campaignCheck{campaign: c, look: how, shards: map[int]*shardBooks{}, moves: map[string]*move{},
		cannotBe: map[string]bool{}, letters: posting.Letters{}}
	fault := c.Fault
	if fault == "" {
		var err error
		if r.amounts, err = rain.NewAmounts(c); err != nil {
			fault = err.Error()
		}
	}
	if fault != "" {
		r.amounts = nil
		r.found.add("the campaign", fault, "the campaign's database row is invalid, so its "+
			"packets cannot be verified one by one: %s", fault)
		return r
	}
	for n := range max(c.Shards, 1) {
		r.shards[n] = &shardBooks{cut: position{math.MaxInt64, math.MaxInt64}, snapshot: rain.ShardSnapshot{Shard: n}}
	}
	for _, s := range shards {
		b := r.shards[s.Shard]
		if b != nil && s.Unread != "" {
			b.snapshot.Unread = s.Unread
			r.cannotRead(s.Shard, s.Unread)
		}
		if b == nil || !s.Found {
			continue
		}
		b.snapshot = s
		for _, what := range s.Unreadable {
			r.found.add("what cannot be read", shardName(s.Shard)+what, "shard %d: %s, which no script has "+
				"written", s.Shard,
				what)
		}
		var err error
		if b.cut, err = positionOf(s.LastEntry); err != nil {
			r.found.add("what cannot be read", shardName(s.Shard)+"last", "shard %d: %v", s.Shard, err)
		}
	}
	return r
}

// cannotRead names a shard of which something cannot be read.
func (r *campaignCheck) cannotRead(shard int, why string) {
	r.found.add("what cannot be read", shardName(shard)+" "+why, "shard %d: what Redis has of it cannot be read: %s",
		shard, why)
}

// unread takes an error of reading a shard. What nobody can read is a fault of this shard, and hides no other one. Any
// other error is returned: it says nothing about the books.
func (r *campaignCheck) unread(shard int, err error) error {
	if !errors.Is(err, rain.ErrUnreadable) {
		return err
	}
	r.cannotRead(shard, err.Error())
	return nil
}

// counted tells whether each packet has a place of its own: not before all are stocked, and not when all was given
// back.
func (r *campaignCheck) counted() bool {
	return r.amounts != nil && r.campaign.Status != rain.Loading && !r.given
}

// known tells whether all is known of a shard's packets: Redis knows the shard, or nothing of it need be there any
// more.
func (r *campaignCheck) known(b *shardBooks) bool { return b.snapshot.Found || r.campaign.Drained }

// position is the place of an outbox entry among those of its shard.
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

// later tells whether an entry came after the shard's snapshot.
func (b *shardBooks) later(at position) bool { return at.after(b.cut) }

// laterRef is later for an entry's id. An invalid id counts as later.
func (b *shardBooks) laterRef(ref rain.EntryRef) bool {
	at, err := positionOf(ref.ID)
	return err != nil || b.later(at)
}

// sortedShards lists the shards in order, so that findings come in the same order each time.
func (r *campaignCheck) sortedShards() []int { return sortedKeys(r.shards) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sums does the sum.
func (r *campaignCheck) sums() Reconciliation {
	res := Reconciliation{Funded: r.funded, Reclaimed: r.reclaimed, Paid: r.astray}
	for _, b := range r.shards {
		res.Paid += b.amountPaid
		res.Dead += b.deadPay
		if !r.counted() {
			continue
		}
		h := &b.holding
		// A letter about a packet that can be won holds no money: its entry was altered, or Redis has gone back. That
		// the packet is in two places is found beside.
		res.Dead -= r.amounts.Sum(h.list(func(w int) uint64 { return b.dead.word(w) & b.stock.word(w) }))
		res.Dead += r.amounts.Sum(h.list(func(w int) uint64 {
			return b.deadReturned.word(w) &^ (b.paid.word(w) | b.dead.word(w) | b.reclaimed.word(w))
		}))
		res.Unsettled += b.mismatched + b.tooMuchOutbox + r.amounts.Sum(h.list(b.waiting))
		res.Stock += b.tooMuchStock + r.amounts.Sum(h.list(b.stock.word))
	}
	if r.counted() {
		res.Stock += r.amounts.Sum(r.onTheWay) - r.amounts.Sum(r.twiceSeen)
	}
	accounted := res.Paid + res.Reclaimed + res.Unsettled + res.Dead
	if r.campaign.Status == rain.Loading {
		res.Stock = res.Funded - accounted
	}
	if res.Difference = res.Funded - accounted - res.Stock; res.Difference == 0 {
		// Every packet is in its place; that the money for it is there too, only the escrow can say.
		res.Funded -= r.short
		res.Difference = -r.short
	}
	return res
}

// waiting is what is in the outbox and not dealt with by the ledger.
func (b *shardBooks) waiting(w int) uint64 {
	return b.won.word(w)&^(b.paid.word(w)|b.dead.word(w)) |
		b.returned.word(w)&^(b.paid.word(w)|b.dead.word(w)|b.reclaimed.word(w)|b.deadReturned.word(w))
}

func (r *campaignCheck) result() Reconciliation {
	res := r.sums()
	res.Held, res.Confirmed = r.held, r.confirmed
	res.Findings, res.Letters, res.Later = r.found.all(), r.waiting.all(), r.later
	res.Balanced = res.Difference == 0 && len(res.Findings) == 0
	res.Final = res.Balanced && r.look.rows && r.campaign.Drained
	res.Fingerprint = r.found.fingerprint(res.Difference)
	return res
}
