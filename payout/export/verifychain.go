package export

import (
	"bytes"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// link is the place of a row in its chain.
type link struct {
	book         string
	stripe, link int64
}

// page is some transactions with all that belongs to them.
type page struct {
	txns             []row
	entries, payouts map[int64][]row
}

func newPage() page { return page{entries: map[int64][]row{}, payouts: map[int64][]row{}} }

// provePage proves the transactions that were read last.
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

// proveTxn holds a transaction against its papers, and against the chain.
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
	papers, want := c.papersOf(id, kind, escrow)
	for account, amount := range want {
		if is[account] != amount {
			c.fault("%s: %s gets %d, and by its papers %d", name, account, is[account], amount)
		}
	}
	for account, amount := range is {
		if _, ok := want[account]; !ok {
			c.fault("%s: %s gets %d, and no paper says so", name, account, amount)
		}
	}
	slices.SortStableFunc(lines, func(a, b chain.Line) int { return int(a.Number - b.Number) })
	linked := chain.Linked{ID: t.number("id"), Kind: kind, Key: t.text("idem_key")}
	linked.Content, linked.Rest = chain.TxnContent(kind, linked.Key, t.number("created_at"), papers, lines)
	hash, ok := c.proveLink(t, name, linked.Content)
	if ok && c.each != nil {
		linked.Stripe, linked.Link, linked.Hash = t.number("stripe"), t.number("link"), hash
		c.each(linked, is)
	}
}

// papersOf are the papers of a transaction, as the chain holds them, and what each account gets by them.
func (c *checker) papersOf(id int64, kind, escrow string) (papers [][]sql.NullString, want map[string]int64) {
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

// first is the first row of a table; none where there is none.
func (c *checker) first(table string) row {
	if rows := c.rows[table]; len(rows) > 0 {
		return rows[0]
	}
	return row{}
}

// record holds a line of a history, or an audit record, against its chain.
func (c *checker) record(r row) {
	var values []sql.NullString
	for _, column := range chain.RecordColumns(r.table) {
		values = append(values, r.of(column))
	}
	name := "audit record " + r.text("id")
	if r.table == histories.name {
		name = "line " + r.text("version") + " of the history of " + r.text("kind") + " " + r.text("thing")
		key := r.text("kind") + " " + r.text("thing")
		before, known := c.newest[key]
		if next := r.number("version"); !known && next != 1 || known && next != before.number("version")+1 {
			c.fault("%s: the line before it is missing", name)
		}
		c.newest[key] = r
	}
	c.proveLink(r, name, chain.RecordContent(values))
}

// proveLink holds a row against the chain that it is tied into. The hash is that of its link.
func (c *checker) proveLink(r row, name string, content chain.Hash) (hash chain.Hash, ok bool) {
	at := link{r.table, r.number("stripe"), r.number("link")}
	before := r.of("before")
	follows := chain.FirstHash(at.book, at.stripe)
	if c.links[at] != nil {
		c.fault("%s has its place in its chain with another", name)
		return hash, false
	}
	if at.link == 1 && before.Valid {
		c.fault("%s is the first link, and another before it", name)
	}
	if at.link != 1 {
		if len(before.String) != len(follows) {
			c.fault("%s: the hash of the link before it is missing", name)
			return hash, false
		}
		follows = chain.Hash([]byte(before.String))
	}
	hash = chain.LinkHash(follows, content)
	if string(hash[:]) != r.text("hash") {
		c.fault("%s is not what was chained: it was changed, or another put in its place", name)
		return hash, false
	}
	c.links[at] = hash[:]
	earlier := link{at.book, at.stripe, at.link - 1}
	if known := c.links[earlier]; known != nil && !bytes.Equal(known, follows[:]) {
		c.fault("%s does not follow the link before it", name)
	}
	c.v.Links++
	return hash, true
}

// none is the digest of nothing.
var none = history.DigestOf(history.Letter, func(string) []func(string) sql.NullString { return nil })

// proveHistories holds the campaign and its dead letters, as they are, against the newest lines of their histories.
func (c *checker) proveHistories() {
	if is, want := c.digest(history.Campaign, "", ""), c.newest["campaign "+c.campaign.ID].text("digest"); is != want {
		c.fault("the campaign, or one of its rains, is not what its history says")
	}
	for _, letter := range c.rows["dead_letter"] {
		of := letter.text("fingerprint")
		want := c.newest[string(history.Letter)+" "+of].text("digest")
		if c.digest(history.Letter, "fingerprint", of) != want {
			c.fault("dead letter %s is not what its history says", letter.text("claim"))
		}
	}
	for _, line := range c.newest {
		of := line.text("thing")
		if line.text("kind") == string(history.Letter) && c.digest(history.Letter, "fingerprint", of) == none {
			c.fault("there is a history of dead letter %s, and no such letter", of)
		}
	}
}

// digest is what a history says of something: of the rows whose column is a text, or of all.
func (c *checker) digest(kind history.Kind, column, is string) string {
	return history.DigestOf(kind, func(table string) (of []func(string) sql.NullString) {
		for _, r := range c.rows[table] {
			if column == "" || r.text(column) == is {
				of = append(of, r.of)
			}
		}
		return of
	})
}
