package reconcile

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Reconciliation says where every cent of a campaign is. Each cent is in exactly one of the places:
//
//	Funded = Paid + Reclaimed + Stock + Unsettled + Dead + Difference
type Reconciliation struct {
	Funded    rain.Money `json:"funded"`
	Paid      rain.Money `json:"paid"`      // posted to players
	Reclaimed rain.Money `json:"reclaimed"` // posted back to the sponsor
	// in Redis and not won; while a campaign is loading, all that is being stocked
	Stock      rain.Money `json:"stock"`
	Unsettled  rain.Money `json:"unsettled"`  // in an outbox and not yet posted
	Dead       rain.Money `json:"dead"`       // dead letters
	Difference rain.Money `json:"difference"` // positive: money is missing; negative: more was promised than funded
	Balanced   bool       `json:"balanced"`   // no difference and no findings
	Findings   []string   `json:"findings,omitempty"`

	// Fingerprint is the same for two reconciliations that have found the same faults, also while money goes on moving.
	Fingerprint string `json:"-"`
}

// Hot is what reconciliation reads of the campaigns' state in Redis. Package grab has it.
type Hot interface {
	// Snapshot reads each shard in one atomic step.
	Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error)
	// EachWin calls fn for every win that Redis has recorded for players of a shard, in any order, with the id of
	// the outbox entry that it was put in. A win may come twice, and one that is recorded meanwhile may be among
	// them or not. It ends with fn's error.
	EachWin(ctx context.Context, c *rain.Campaign, shard int,
		fn func(user string, w rain.Win, entry string) error) error
}

// ErrHot is the error of a reconciliation that could not read what Redis holds. It says nothing about the books.
var ErrHot = errors.New("what Redis holds cannot be read")

// look is what a reconciliation looks at beside the sums. Where the sums do not fit it looks at everything.
type look struct {
	rows bool // payouts, the split, and what Redis has recorded
	txns bool // the campaign's transactions and balances, if rows too
	hot  Hot  // nil: the wins in Redis are not compared

	stretch int // how many rows one statement adds up
}

// campaignCheck gathers the figures of one reconciliation.
type campaignCheck struct {
	campaign *rain.Campaign
	amounts  *rain.Amounts // nil where the campaign's row cannot be split
	look     look
	shards   map[int]*shardBooks
	found    findings

	funded    rain.Money
	reclaimed rain.Money             // as of the snapshots
	given     map[int]bool           // shards whose rest is back at the sponsor; wholeCampaign for all of them
	dead      posting.Letters        // the dead letters that wait
	all       posting.Totals         // of all rows, those newer than the snapshots too
	waiting   map[int]posting.Holder // the packets in the outboxes that are not in the ledger
	seen      *hotWins               // nil: not compared
}

// shardBooks is one shard as Redis and as the ledger see it.
type shardBooks struct {
	snapshot       rain.ShardSnapshot
	cutMS, cutSeq  int64 // the newest outbox entry that the snapshot knows of
	paid, dead     rain.Money
	waitingWins    rain.Money // in the outbox and not in the ledger
	waitingReclaim rain.Money
	deadReclaim    rain.Money
}

// newCampaignCheck sorts the snapshots in. A shard that Redis does not know has no outbox, so nothing in the ledger is
// newer than what it knows of.
func newCampaignCheck(c *rain.Campaign, shards []rain.ShardSnapshot, how look) (*campaignCheck, error) {
	r := &campaignCheck{campaign: c, look: how, shards: map[int]*shardBooks{}, given: map[int]bool{},
		waiting: map[int]posting.Holder{}, dead: posting.Letters{}}
	var err error
	if r.amounts, err = rain.NewAmounts(c); err != nil {
		r.found.add("the campaign", "split",
			"the campaign's budget cannot be split as its row says, so the row has been changed: %v", err)
	}
	for _, s := range shards {
		books := r.shard(s.Shard)
		books.snapshot = s
		switch {
		case s.Found:
			ms, seq, err := rain.EntryRef{ID: s.LastEntry}.Position()
			if err != nil {
				return nil, err
			}
			books.cutMS, books.cutSeq = ms, seq
		}
	}
	return r, nil
}

func (r *campaignCheck) shard(n int) *shardBooks {
	b, ok := r.shards[n]
	if !ok {
		b = &shardBooks{cutMS: math.MaxInt64, cutSeq: math.MaxInt64, snapshot: rain.ShardSnapshot{Shard: n}}
		r.shards[n] = b
	}
	return b
}

// later tells whether an entry came after the shard's snapshot.
func (b *shardBooks) later(ms, seq int64) bool {
	return cmp.Or(cmp.Compare(ms, b.cutMS), cmp.Compare(seq, b.cutSeq)) > 0
}

// sortedShards lists the shards in order, so that findings come in the same order each time.
func (r *campaignCheck) sortedShards() []int {
	numbers := make([]int, 0, len(r.shards))
	for n := range r.shards {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// sums does the sum.
func (r *campaignCheck) sums() Reconciliation {
	res := Reconciliation{Funded: r.funded, Reclaimed: r.reclaimed}
	var stock rain.Numbers
	for _, b := range r.shards {
		res.Paid += b.paid
		res.Unsettled += b.waitingWins + b.waitingReclaim
		res.Dead += b.dead + b.deadReclaim
		stock = append(stock, b.snapshot.Stock...)
		for _, lent := range b.snapshot.Lent { // which may have come to its shard already
			stock = append(stock, lent.Numbers...)
		}
	}
	if r.amounts != nil && !r.given[posting.WholeCampaign] { // what an abandoned stocking has left behind in Redis is worth nothing
		res.Stock = r.amounts.Sum(rain.Remaining(stock, nil))
	}
	accounted := res.Paid + res.Reclaimed + res.Unsettled + res.Dead
	if r.campaign.Status == rain.Loading {
		res.Stock = res.Funded - accounted
	}
	res.Difference = res.Funded - accounted - res.Stock
	return res
}

func (r *campaignCheck) result() Reconciliation {
	res := r.sums()
	res.Findings = r.found.all()
	res.Balanced = res.Difference == 0 && len(res.Findings) == 0
	res.Fingerprint = r.found.fingerprint(res.Difference)
	return res
}
