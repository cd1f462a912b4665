package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	ledgerchain "redrain/payout/ledger/chain"
	"redrain/payout/ledger/checkpoint"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// place is how far the steps have come since the newest checkpoint.
type place struct {
	marks   ledgerchain.Marks
	lastTxn int64
	rows    int64                     // that were read
	ahead   map[string]checkpoint.Sum // all that a checkpoint here would carry forward, by subject
	aside   map[string]checkpoint.Sum // what is in its holes beside that
	pending map[string]bool           // accounts whose sums are carried, to be compared when the end is reached
	renewed map[string]bool           // accounts of which entries have left the books: their sums begin anew at the end
}

func newPlace(from checkpoint.Checkpoint) place {
	at := place{marks: from.Marks, lastTxn: from.LastTxn, ahead: map[string]checkpoint.Sum{},
		aside: map[string]checkpoint.Sum{}, pending: map[string]bool{}, renewed: map[string]bool{}}
	for _, account := range from.Accounts {
		at.pending[account] = true
	}
	return at
}

// recentStep reads some links of the chains, with all that belongs to them.
type recentStep struct {
	place
	s     *Reconciler
	from  checkpoint.Checkpoint
	until ledgerchain.Marks // where it ends; nil: after so many links
	links int64
	found *findings                 // of this step alone
	turn  map[history.Kind][]string // what has its turn
	end   bool                      // it has come to the ends of the chains
	lie   bool                      // a sum of payouts is not what was written, so it cannot be carried forward

	moved map[string]checkpoint.Sum // what the step adds to sums
	begun map[string]checkpoint.Sum // of accounts that have come to have many entries
	anew  map[string]checkpoint.Sum // of the rows, where what was carried is a lie
	fresh map[string]checkpoint.Sum // of all entries of accounts of which some have left the books

	since     int64   // the highest number of a transaction before this step
	txns      []int64 // that were read, in order
	events    []int64 // of withdrawals
	histories []int64 // lines

	accounts  map[string]bool // that were touched
	campaigns map[string]bool // that were touched, or are live
	things    map[history.Kind]map[string]bool
}

func newStep(s *Reconciler, from checkpoint.Checkpoint, at place, links int64) *recentStep {
	r := &recentStep{place: at, s: s, from: from, links: links, since: at.lastTxn,
		found:    &findings{things: map[history.Kind]map[string]bool{}},
		accounts: map[string]bool{}, campaigns: map[string]bool{}, things: map[history.Kind]map[string]bool{},
		moved: map[string]checkpoint.Sum{}, begun: map[string]checkpoint.Sum{},
		anew: map[string]checkpoint.Sum{}, fresh: map[string]checkpoint.Sum{}}
	r.pending, r.renewed = maps.Clone(at.pending), maps.Clone(at.renewed)
	for _, kind := range history.Kinds {
		r.things[kind] = map[string]bool{}
	}
	return r
}

// read does the step, as of one moment.
func (r *recentStep) read(ctx context.Context, tx *sqldb.Tx) error {
	if err := r.walk(ctx, tx); err != nil {
		return err
	}
	var parts []part
	for _, p := range []struct {
		what string
		look func(context.Context, sqldb.Querier) error
	}{
		{"new transactions", r.checkTxns},
		{"what new transactions have moved", r.addUp},
		{"accounts", r.checkAccounts},
		{"new payouts", r.checkPayouts},
		{"what is not over", r.readOpen},
		{"histories", r.checkHistories},
		{"withdrawals", r.checkWithdrawals},
		{"campaigns", r.checkFunds},
		{"what has left the books", r.checkArchives},
	} {
		parts = append(parts, part{p.what, func() error { return p.look(ctx, tx) }})
	}
	return r.s.parts(r.found, parts)
}

// walk goes along the chains.
func (r *recentStep) walk(ctx context.Context, q sqldb.Querier) error {
	see := func(book string, id int64) {
		switch book {
		case ledgerchain.Txns:
			r.txns = append(r.txns, id)
		case ledgerchain.Events:
			r.events = append(r.events, id)
		case ledgerchain.Histories:
			r.histories = append(r.histories, id)
		}
	}
	var links int64
	var err error
	if r.until != nil {
		links, err = ledgerchain.Between(ctx, q, r.marks, r.until, see, r.found.addBreak)
	} else {
		var walked ledgerchain.Walked
		walked, r.end, err = ledgerchain.Advance(ctx, q, r.marks, r.links, see, r.found.addBreak)
		links, r.marks = walked.Links, walked.Marks
	}
	if err != nil {
		return err
	}
	r.rows += links
	slices.Sort(r.txns)
	if n := len(r.txns); n > 0 {
		r.lastTxn = max(r.lastTxn, r.txns[n-1])
	}
	if !r.end {
		return nil
	}
	return ledgerchain.CheckRoots(ctx, q, rootsAsked, func(fault string) {
		r.found.add("a root that is not whole", fault, "%s", fault)
	})
}

// rootsAsked is how many of the newest roots are held against the chains by a proof of what is recent.
const rootsAsked = 2

// checkTxns holds the transactions against their lines and papers, and looks for lines and papers of transactions that
// there are not.
func (r *recentStep) checkTxns(ctx context.Context, q sqldb.Querier) error {
	for ids := range slices.Chunk(r.txns, txnsAtOnce) {
		if err := checkTxnPage(ctx, q, ids, r.found); err != nil {
			return err
		}
	}
	for after := r.since; ; {
		ids, err := nextTxns(ctx, q, after)
		if err != nil || len(ids) == 0 || !r.end && ids[0] > r.lastTxn {
			return err
		}
		after = ids[len(ids)-1]
		ids = slices.DeleteFunc(ids, func(id int64) bool {
			_, walked := slices.BinarySearch(r.txns, id)
			return walked
		})
		if err := checkTxnPage(ctx, q, ids, r.found); err != nil {
			return err
		}
	}
}

// add adds to the sum of a subject.
func (r *recentStep) add(subject string, rows, numbers, amount int64) {
	r.moved[subject] = r.moved[subject].Plus(rows, numbers, amount)
}

// amount is the sum of a subject: what is carried, what is in the holes, and what this step has added.
func (r *recentStep) amount(subject string) rain.Money {
	return rain.Money(r.ahead[subject].Amount + r.aside[subject].Amount + r.moved[subject].Amount)
}

// addTo adds what the step has added up to sums that are kept.
func (r *recentStep) addTo(sums map[string]checkpoint.Sum) {
	for subject, m := range r.moved {
		sum := sums[subject]
		sum.Subject = subject
		sums[subject] = sum.Plus(m.Rows, m.Numbers, m.Amount)
	}
}

// begin reads what was carried forward of subjects that this step is the first to add to.
func (r *recentStep) begin(ctx context.Context, q sqldb.Querier, subjects []string) error {
	subjects = slices.DeleteFunc(slices.Clone(subjects), func(s string) bool {
		_, known := r.ahead[s]
		return known
	})
	sums, err := checkpoint.Sums(ctx, q, r.from, subjects, func(fault string) {
		r.lie = r.lie || strings.HasPrefix(subjects[0], "payouts ") // an account's is added up anew
		r.found.add("a checkpoint that is not whole", fault, "%s", fault)
	})
	maps.Copy(r.ahead, sums)
	return err
}

// movedSum is what transactions of one kind have done to an account.
type movedSum struct {
	account, kind string
	rows, amount  int64
}

// addUp adds up what the transactions have done to each account and each shard.
func (r *recentStep) addUp(ctx context.Context, q sqldb.Querier) error {
	for ids := range slices.Chunk(r.txns, txnsAtOnce) {
		moved, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (m movedSum, err error) {
			err = scan(&m.account, &m.kind, &m.rows, &m.amount)
			return m, err
		}, "SELECT e.account_id, t.kind, COUNT(*), SUM(e.amount) FROM entry e JOIN txn t ON t.id = e.txn_id "+
			"WHERE e.txn_id IN "+sqldb.Marks(len(ids))+" GROUP BY e.account_id, t.kind", sqldb.Args(ids)...)
		if err != nil {
			return err
		}
		if err := r.addMoved(ctx, q, moved); err != nil {
			return err
		}
		if err := r.addPaid(ctx, q, ids); err != nil {
			return err
		}
	}
	return nil
}

// addMoved adds to the accounts. An escrow has a sum for each kind of transaction, from its first one on; another
// account has one as soon as it has many entries.
func (r *recentStep) addMoved(ctx context.Context, q sqldb.Querier, moved []movedSum) error {
	subjects := make([]string, len(moved))
	escrow := make([]bool, len(moved))
	for i, m := range moved {
		r.rows += m.rows
		r.accounts[m.account] = true
		subjects[i] = checkpoint.Account(m.account)
		campaign, is := strings.CutPrefix(m.account, booking.KindEscrow+":")
		if escrow[i] = is; is {
			r.campaigns[campaign] = true
			subjects[i] = checkpoint.Escrow(campaign, m.kind)
		}
		if m.kind == booking.KindCarried {
			r.renewed[m.account] = true
		}
	}
	if err := r.begin(ctx, q, subjects); err != nil {
		return err
	}
	for i, m := range moved {
		if _, carried := r.ahead[subjects[i]]; carried || escrow[i] {
			r.add(subjects[i], m.rows, 0, m.amount)
		}
	}
	return nil
}

// paidSum is what transactions have paid of one shard.
type paidSum struct {
	campaign string
	shard    int
	rows     int64
	numbers  int64
	amount   int64
}

// addPaid adds to the shards.
func (r *recentStep) addPaid(ctx context.Context, q sqldb.Querier, ids []int64) error {
	paid, err := paidBy(ctx, q, ids)
	if err != nil {
		return err
	}
	subjects := make([]string, len(paid))
	for i, p := range paid {
		subjects[i] = checkpoint.Payouts(p.campaign, p.shard)
		r.campaigns[p.campaign] = true
	}
	if err := r.begin(ctx, q, subjects); err != nil {
		return err
	}
	for i, p := range paid {
		r.add(subjects[i], p.rows, p.numbers, p.amount)
	}
	return nil
}

// paidBy adds up what transactions have paid, by campaign and shard.
func paidBy(ctx context.Context, q sqldb.Querier, ids []int64) ([]paidSum, error) {
	return sqldb.List(ctx, q, func(scan sqldb.Scan) (p paidSum, err error) {
		err = scan(&p.campaign, &p.shard, &p.rows, &p.numbers, &p.amount)
		return p, err
	}, "SELECT campaign_id, shard, COUNT(*), SUM(packet), SUM(amount) FROM payout WHERE txn_id IN "+
		sqldb.Marks(len(ids))+" GROUP BY campaign_id, shard", sqldb.Args(ids)...)
}
