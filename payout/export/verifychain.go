package export

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// page is some transactions with their rows.
type page struct {
	txns             []row
	entries, payouts map[int64][]row
}

func newPage() page { return page{entries: map[int64][]row{}, payouts: map[int64][]row{}} }

// provePage verifies the last page of transactions.
func (c *checker) provePage() {
	for _, t := range c.page.txns {
		c.v.Transactions++
		c.proveTxn(t)
		delete(c.page.entries, t.number("id"))
		delete(c.page.payouts, t.number("id"))
	}
	for id := range c.page.entries {
		c.fault("there are lines of transaction %d, and no such transaction", id)
	}
	for id := range c.page.payouts {
		c.fault("there are payouts of transaction %d, and no such transaction", id)
	}
	c.page = newPage()
}

// proveTxn compares a transaction with its source documents and with its hash.
func (c *checker) proveTxn(t row) {
	id, kind := t.number("id"), t.text("kind")
	name := fmt.Sprintf("transaction %d (%s)", id, kind)
	lines := make([]chain.Line, 0, len(c.page.entries[id]))
	is := map[string]int64{}
	var sum int64
	for _, e := range c.page.entries[id] {
		l := chain.Line{Number: e.number("line_no"), Account: e.text("account_id"), Amount: e.number("amount")}
		lines = append(lines, l)
		is[l.Account] += l.Amount
		sum += l.Amount
	}
	escrow := booking.EscrowAccount(c.campaign.ID).ID()
	c.escrow += rain.Money(is[escrow])
	if sum != 0 {
		c.fault("%s sums to %d, not to 0", name, sum)
	}
	papers, want := c.sourcesOf(id, kind, escrow)
	for account, amount := range want {
		if is[account] != amount {
			c.fault("%s: %s gets %d, and by its source documents %d", name, account, is[account], amount)
		}
	}
	for account, amount := range is {
		if _, ok := want[account]; !ok {
			c.fault("%s: %s gets %d, and no source document says so", name, account, amount)
		}
	}
	slices.SortStableFunc(lines, func(a, b chain.Line) int { return int(a.Number - b.Number) })
	paperSum := chain.HashRows(papers...)
	if string(paperSum[:]) != t.text("papers") {
		c.fault("the hash of the source documents of %s is not that of its source documents", name)
	}
	c.proveHash(t, name, chain.HashTxn(kind, t.text("idem_key"), t.number("created_at"), paperSum, lines))
}

// proveHash compares a row with its stored hash.
func (c *checker) proveHash(r row, name string, is chain.Hash) {
	if string(is[:]) != r.text("hash") {
		c.fault("%s is not what was hashed: it was changed, or another put in its place", name)
		return
	}
	c.v.Hashes++
}

// sourcesOf returns the source documents of a transaction, as package chain hashes them, and their amounts by account.
func (c *checker) sourcesOf(id int64, kind, escrow string) (papers [][]sql.NullString, want map[string]int64) {
	want = map[string]int64{}
	sponsor := booking.SponsorAccount(c.campaign.Sponsor).ID()
	move := func(from, to string, amount int64) {
		want[from] -= amount
		want[to] += amount
	}
	columns := chain.PaperColumns(kind)
	paper := func(from map[string]row) {
		values := make([]sql.NullString, len(columns))
		for i, column := range columns {
			table, name, ok := strings.Cut(column, ".")
			if !ok {
				table, name = "", column
			}
			values[i] = from[table].of(name)
		}
		papers = append(papers, values)
	}
	switch kind {
	case booking.KindFund:
		from := map[string]row{"c": c.first("campaign"), "a": c.first("campaign_amounts")}
		paper(from)
		move(sponsor, escrow, int64(c.campaign.Budget))
	case booking.KindPay:
		for _, p := range c.page.payouts[id] {
			paper(map[string]row{"": p})
			move(escrow, booking.UserAccount(p.text("user_id")).ID(), p.number("amount"))
		}
	case booking.KindReclaim:
		for _, r := range c.rows["reclaim"] {
			if r.number("txn_id") == id {
				cut, _ := c.cutOf(r)
				paper(map[string]row{"r": r, "cut": cut})
				move(escrow, sponsor, r.number("amount"))
			}
		}
	}
	return papers, want
}

// first returns the first row of a table, or an empty row.
func (c *checker) first(table string) row {
	if rows := c.rows[table]; len(rows) > 0 {
		return rows[0]
	}
	return row{}
}

// proveRecord compares an audit record with its hash.
func (c *checker) proveRecord(r row) {
	var values []sql.NullString
	for _, column := range chain.PaperColumns(chain.Audits) {
		values = append(values, r.of(column))
	}
	c.proveHash(r, "audit record "+r.text("id"), chain.HashRows(values))
}
