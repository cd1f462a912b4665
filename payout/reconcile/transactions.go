package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// askedAtOnce is the number of keys in one query. MariaDB and MySQL look into an index for fewer than 200
// (eq_range_index_dive_limit). For more they use its statistics. If those are outdated, they read the whole table.
const askedAtOnce = 100

// txnsAtOnce is the number of transactions in one page. Each may have 4,000 lines and as many payouts, which are kept
// in memory.
const txnsAtOnce = 25

// source names the rows that justify one kind of transaction. A transaction must move exactly the amounts of its rows,
// for each account.
type source struct {
	from, to string // the kinds of the accounts between which the money moves
	rows     string // the table, with joins
	id       string // the column of the transaction's id; it has an index, and 0 = none
	fields   string // a row's name, the owners of both accounts, and the amount
}

// sources has every kind of transaction. Reconciliation reports a transaction of any other kind.
var sources = map[string]source{
	booking.KindDeposit: {booking.KindWorld, booking.KindSponsor, "deposit", "txn_id",
		"reference, '', sponsor, amount"},
	// The campaign row is written first, so it has no transaction id. The transaction's key names the campaign, and
	// the campaign's own check finds a missing one.
	booking.KindFund: {booking.KindSponsor, booking.KindEscrow, "campaign c JOIN txn t ON t.kind = '" +
		booking.KindFund + "' AND c.id = SUBSTR(t.idem_key, 6) AND t.idem_key = CONCAT('fund:', c.id)", "t.id",
		"c.id, c.sponsor, c.id, c.budget"},
	booking.KindPay: {booking.KindEscrow, booking.KindUser, "payout", "txn_id", "claim, campaign_id, user_id, amount"},
	booking.KindReclaim: {booking.KindEscrow, booking.KindSponsor,
		"reclaim r LEFT JOIN campaign c ON c.id = r.campaign_id", "r.txn_id",
		"'the rest of a shard', r.campaign_id, COALESCE(c.sponsor, '?'), r.amount"},
	booking.KindWithdraw: {booking.KindUser, booking.KindClearing, "withdrawal", "txn_id",
		"id, user_id, user_id, amount"},
	booking.KindPaid: {booking.KindClearing, booking.KindWorld, "withdrawal", "paid_id", "id, user_id, '', amount"},
	booking.KindReturn: {booking.KindClearing, booking.KindUser, "withdrawal", "return_id",
		"id, user_id, user_id, amount"},
	booking.KindHold:    {booking.KindUser, booking.KindHeld, "held", "hold_id", "claim, user_id, user_id, amount"},
	booking.KindRelease: {booking.KindHeld, booking.KindUser, "held", "release_id", "claim, user_id, user_id, amount"},
	booking.KindConfirm: {booking.KindHeld, booking.KindSponsor,
		"held h LEFT JOIN campaign c ON c.id = h.campaign_id", "h.confirm_id",
		"h.claim, h.user_id, COALESCE(c.sponsor, '?'), h.amount"},
}

// txnPage is a page of transactions, with all of their rows.
type txnPage struct {
	kinds   map[int64]string // of the existing transactions
	lines   map[int64][]bookedLine
	sources map[int64]map[string]*sourceSums // by the kind of transaction
	removed map[int64]bool                   // payments whose payouts were removed after an export
	found   *findings
}

// bookedLine is a row of the table entry.
type bookedLine struct {
	number  int
	account string
	amount  rain.Money
	known   bool // the account exists
}

// sourceSums are the sums of a transaction's source rows, by account.
type sourceSums struct {
	sums  map[string]rain.Money
	names map[string][]string // of some of the rows
}

// oneByOne calls work with a page of rows. If a row cannot be read, it calls work with each row, and reports those
// that fail.
func oneByOne[T any](page []T, found *findings, what string, work func([]T) error) error {
	err := work(page)
	if !sqldb.IsUnreadable(err) {
		return err
	}
	for i := range page {
		if err := work(page[i : i+1]); sqldb.IsUnreadable(err) {
			found.add("rows that cannot be read", "%s %v: its rows cannot be read or added up, so they were "+
				"tampered with: %v", what, page[i], err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// checkTxns compares transactions with their lines, with the source rows and with their stored hashes. All are read
// from one snapshot.
func checkTxns(ctx context.Context, q sqldb.Querier, ids []int64, found *findings) error {
	return oneByOne(ids, found, "transaction", func(ids []int64) error {
		if err := compareTxns(ctx, q, ids, found); err != nil {
			return err
		}
		return chain.CheckTxns(ctx, q, ids, found.addFault)
	})
}

func compareTxns(ctx context.Context, q sqldb.Querier, ids []int64, found *findings) error {
	p := &txnPage{lines: map[int64][]bookedLine{}, sources: map[int64]map[string]*sourceSums{}, found: found}
	for _, step := range []func(context.Context, sqldb.Querier, []int64) error{p.readTxns, p.readLines, p.readSources,
		p.findRemoved} {
		if err := step(ctx, q, ids); err != nil {
			return err
		}
	}
	for _, id := range ids {
		p.check(id)
	}
	return nil
}

func (p *txnPage) readTxns(ctx context.Context, q sqldb.Querier, ids []int64) (err error) {
	p.kinds, err = kindsOf(ctx, q, ids)
	return err
}

// kindsOf reads the kinds of transactions. A transaction that does not exist is missing in the result.
func kindsOf(ctx context.Context, q sqldb.Querier, ids []int64) (map[int64]string, error) {
	kinds := make(map[int64]string, len(ids))
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var kind string
		err := scan(&id, &kind)
		kinds[id] = kind
		return err
	}, "SELECT id, kind FROM txn WHERE id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...)
	return kinds, err
}

func (p *txnPage) readLines(ctx context.Context, q sqldb.Querier, ids []int64) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		var ln bookedLine
		err := scan(&id, &ln.number, &ln.account, &ln.amount, &ln.known)
		p.lines[id] = append(p.lines[id], ln)
		return err
	}, "SELECT e.txn_id, e.line_no, e.account_id, e.amount, b.account_id IS NOT NULL FROM entry e "+
		"LEFT JOIN balance b ON b.account_id = e.account_id WHERE e.txn_id IN "+sqldb.Marks(len(ids))+
		" ORDER BY e.txn_id, e.line_no", sqldb.Args(ids)...)
}

func (p *txnPage) readSources(ctx context.Context, q sqldb.Querier, ids []int64) error {
	for kind, source := range sources {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id int64
			var name string
			from, to := booking.Account{Kind: source.from}, booking.Account{Kind: source.to}
			var amount rain.Money
			err := scan(&id, &name, &from.Owner, &to.Owner, &amount)
			if p.sources[id] == nil {
				p.sources[id] = map[string]*sourceSums{}
			}
			w := p.sources[id][kind]
			if w == nil {
				w = &sourceSums{sums: map[string]rain.Money{}, names: map[string][]string{}}
				p.sources[id][kind] = w
			}
			w.add(from.ID(), name, -amount)
			w.add(to.ID(), name, amount)
			return err
		}, "SELECT "+source.id+", "+source.fields+" FROM "+source.rows+" WHERE "+source.id+" IN "+
			sqldb.Marks(len(ids)), sqldb.Args(ids)...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *sourceSums) add(account, name string, amount rain.Money) {
	w.sums[account] += amount
	if names := w.names[account]; len(names) < maxFindings {
		w.names[account] = append(names, name)
	}
}

// check reports the faults of one transaction.
func (p *txnPage) check(id int64) {
	kind, exists := p.kinds[id]
	lines := p.lines[id]
	if !exists {
		p.missing(id, lines)
		return
	}
	var sum rain.Money
	for _, ln := range lines {
		if sum += ln.amount; !ln.known {
			p.found.add("a line of an unknown account", "transaction %d (%s), line %d: there is no account %s", id,
				kind, ln.number, ln.account)
		}
	}
	if sum != 0 {
		p.found.add("a transaction that does not sum to zero", "transaction %d (%s) sums to %d, not to 0", id, kind,
			sum)
	}
	p.checkSources(id, kind, lines)
}

// missing reports the rows of a transaction that does not exist.
func (p *txnPage) missing(id int64, lines []bookedLine) {
	for _, ln := range lines {
		p.found.add("a line without a transaction", "line %d of transaction %d (%s %s): there is no such transaction",
			ln.number, id, ln.account, moves(ln.amount))
	}
	for _, kind := range slices.Sorted(maps.Keys(p.sources[id])) {
		w := p.sources[id][kind]
		for _, a := range slices.Sorted(maps.Keys(w.sums)) {
			if w.sums[a] > 0 {
				p.found.add("source rows without a transaction", "%s %s by %s, in transaction %d: there is no such "+
					"transaction", a, moves(w.sums[a]), strings.Join(w.names[a], ", "), id)
			}
		}
	}
}

// checkSources compares a transaction's lines with its source rows.
func (p *txnPage) checkSources(id int64, kind string, lines []bookedLine) {
	for _, other := range slices.Sorted(maps.Keys(p.sources[id])) {
		if other != kind {
			w := p.sources[id][other]
			p.found.add("source rows of another kind", "transaction %d is of kind %s, but %s name it as theirs", id,
				kind, strings.Join(slices.Concat(slices.Collect(maps.Values(w.names))...), ", "))
		}
	}
	source, known := sources[kind]
	table, _, _ := strings.Cut(source.rows, " ")
	w := p.sources[id][kind]
	switch {
	case !known:
		p.found.add("a transaction of an unknown kind", "transaction %d (%s): there is no kind of transaction %q", id,
			linesInWords(lines), kind)
		return
	case p.removed[id]:
		return
	case w == nil:
		p.found.add("a transaction without source rows", "transaction %d is of kind %s, but no row of %s belongs to "+
			"it (%s)", id, kind, table, linesInWords(lines))
		return
	}
	moved := map[string]rain.Money{}
	at := map[string]int{}
	for _, ln := range lines {
		moved[booking.Whole(ln.account)] += ln.amount
		at[booking.Whole(ln.account)] = ln.number
	}
	for _, a := range slices.Sorted(maps.Keys(moved)) {
		if want, named := w.sums[a]; !named {
			p.found.add("a line without source rows", "transaction %d (%s), line %d: %s %s, but no row of %s says so",
				id, kind, at[a], a, moves(moved[a]), table)
		} else if want != moved[a] {
			p.found.add("a line that differs from its source rows", "transaction %d (%s), line %d: %s %s, but "+
				"should be %d by %s", id, kind, at[a], a, moves(moved[a]), abs(want), w.say(a))
		}
	}
	for _, a := range slices.Sorted(maps.Keys(w.sums)) {
		if _, booked := moved[a]; !booked {
			p.found.add("source rows without a line", "transaction %d (%s) has no line for %s, who should have %d "+
				"by %s", id, kind, a, w.sums[a], w.say(a))
		}
	}
}

// say returns the names of the rows for an account.
func (w *sourceSums) say(account string) string {
	names := strings.Join(w.names[account], ", ")
	if len(w.names[account]) == maxFindings {
		names += " and others"
	}
	return names
}

// moves describes the effect of a line.
func moves(amount rain.Money) string {
	if amount < 0 {
		return fmt.Sprintf("gives %d", -amount)
	}
	return fmt.Sprintf("gets %d", amount)
}

func linesInWords(lines []bookedLine) string {
	var words []string
	for _, ln := range lines[:min(len(lines), maxFindings)] {
		words = append(words, ln.account+" "+moves(ln.amount))
	}
	if len(lines) > maxFindings {
		words = append(words, "and others")
	}
	return strings.Join(words, ", ")
}
