package export

import (
	"encoding/json"
	"fmt"
	"io"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Verified is the content of a file, and its faults.
type Verified struct {
	Campaign     string     `json:"campaign"`
	TakenAt      int64      `json:"taken_at"`
	SHA256       string     `json:"sha256"`
	Rows         int64      `json:"rows"`
	Budget       rain.Money `json:"budget"`
	Paid         rain.Money `json:"paid"`
	Reclaimed    rain.Money `json:"reclaimed"`
	Transactions int64      `json:"transactions"`
	PacketsPaid  int64      `json:"packets_paid"`
	PacketsBack  int64      `json:"packets_back"` // returned to the sponsor
	Hashes       int64      `json:"hashes"`       // of transactions and audit records that match their rows
	Proved       bool       `json:"proved"`       // there are no findings
	Findings     []string   `json:"findings,omitempty"`
	More         int64      `json:"more,omitempty"` // findings beyond those
}

// maxFindings is the largest number of named findings.
const maxFindings = 100

// checker verifies a file while it is read.
type checker struct {
	v        Verified
	header   Header
	rows     map[string][]row // of the tables that are kept
	campaign rain.Campaign
	amounts  *rain.Amounts // nil: not known
	layout   *rain.Layout  // of packets and players; nil: not known
	paid     packets
	given    packets
	escrow   rain.Money
	page     page
}

// packets is the set of a campaign's packets that were paid, or returned.
type packets struct {
	has    []bool
	count  int64
	amount rain.Money
}

// put adds a packet. It returns false if the set has it, or if there is no such packet.
func (p *packets) put(n int64) bool {
	if n < 0 || n >= int64(len(p.has)) || p.has[n] {
		return false
	}
	p.has[n] = true
	p.count++
	return true
}

// Verify verifies an export. It fails with ErrNoExport if the file is no export.
func Verify(from io.Reader) (Verified, error) {
	c := &checker{rows: map[string][]row{}, page: newPage()}
	t, err := read(from, &c.header, c.begin, c.row)
	if err != nil {
		return Verified{}, err
	}
	c.v.Campaign, c.v.TakenAt, c.v.SHA256, c.v.Rows = c.header.Campaign, c.header.TakenAt, t.SHA256, t.Rows
	c.end()
	c.v.Proved = len(c.v.Findings) == 0
	return c.v, nil
}

func (c *checker) fault(format string, args ...any) {
	if len(c.v.Findings) == maxFindings {
		c.v.More++
		return
	}
	c.v.Findings = append(c.v.Findings, fmt.Sprintf(format, args...))
}

// begin handles the heading of a table.
func (c *checker) begin(table string) {
	switch table {
	case "txn":
		c.settle()
		c.provePage()
	case "audit":
		c.provePage()
	}
}

// row handles one row.
func (c *checker) row(r row) {
	for i, column := range r.columns {
		switch {
		case column == "campaign_id" && r.values[i].String != c.header.Campaign:
			c.fault("a row of the table %s is of campaign %q", r.table, r.values[i].String)
		case !r.values[i].Valid && column != "max_amount":
			c.fault("a row of the table %s has no %s", r.table, column)
		}
	}
	switch r.table {
	case "txn":
		c.page.txns = append(c.page.txns, r)
	case "entry":
		id := r.number("txn_id")
		c.page.entries[id] = append(c.page.entries[id], r)
	case "payout":
		id := r.number("txn_id")
		c.page.payouts[id] = append(c.page.payouts[id], r)
		c.payout(r)
	case "audit":
		c.proveRecord(r)
	default:
		c.rows[r.table] = append(c.rows[r.table], r)
	}
}

// settle reads the campaign's settings, after their rows.
func (c *checker) settle() {
	if c.campaign.ID != "" || len(c.rows["campaign"]) != 1 {
		return
	}
	r := c.rows["campaign"][0]
	c.campaign = rain.Campaign{ID: r.text("id"), Spec: rain.Spec{Sponsor: r.text("sponsor"),
		Budget: rain.Money(r.number("budget")), Packets: int(r.number("packets")),
		Split: rain.SplitKind(r.text("split")), Min: rain.Money(r.number("min_amount"))}}
	if r.of("max_amount").Valid {
		most := rain.Money(r.number("max_amount"))
		c.campaign.Max = &most
	}
	if len(c.rows["campaign_amounts"]) > 1 {
		c.fault("the campaign has two lists of amounts")
	}
	for _, given := range c.rows["campaign_amounts"] {
		if err := json.Unmarshal([]byte(given.text("amounts")), &c.campaign.Amounts); err != nil {
			c.fault("the campaign's amounts cannot be read: %v", err)
		}
	}
	var err error
	if c.campaign.SplitSeed, err = rain.ParseSeed(r.text("split_seed")); err != nil {
		c.fault("the campaign's seed: %v", err)
	}
	if c.campaign.Packets < 1 || c.campaign.Packets > rain.MaxPackets {
		c.fault("the campaign has %d packets", c.campaign.Packets)
		return
	}
	if c.amounts, err = rain.NewAmounts(&c.campaign); err != nil {
		c.fault("the campaign's split: %v", err)
	}
	c.paid.has, c.given.has = make([]bool, c.campaign.Packets), make([]bool, c.campaign.Packets)
	c.v.Budget = c.campaign.Budget
	c.settleLayout(r)
	c.reclaims()
}

// payout compares a payout with the split.
func (c *checker) payout(r row) {
	packet, amount := r.number("packet"), rain.Money(r.number("amount"))
	name := fmt.Sprintf("the payout of packet %d to player %s", packet, r.text("user_id"))
	switch {
	case r.text("campaign_id") != c.campaign.ID || r.text("claim") != rain.ClaimID(c.campaign.ID, int(packet)):
		c.fault("%s is of another campaign", name)
	case !c.paid.put(packet):
		c.fault("%s: there is no such packet, or it is paid twice", name)
	case c.given.has[packet]:
		c.fault("%s: the packet was returned, too", name)
	case c.amounts != nil && c.amounts.Of(int(packet)) != amount:
		c.fault("%s is %d, and the split says %d", name, amount, c.amounts.Of(int(packet)))
	}
	if why := c.lane(r.text("user_id"), packet, r.number("shard")); why != "" {
		c.fault("%s: %s", name, why)
	}
	c.paid.amount += amount
}

// reclaims adds the returned packets.
func (c *checker) reclaims() {
	cuts := len(c.rows["reclaim_cut"])
	for _, r := range c.rows["reclaim"] {
		numbers := r.text("numbers")
		if cut, ok := c.cutOf(r); ok {
			numbers = cut.text("numbers")
			cuts--
		}
		given, err := rain.ParseNumbers(numbers, c.campaign.Packets)
		if err != nil {
			c.fault("the reclaim of shard %d: %v", r.number("shard"), err)
			continue
		}
		for n := range given.Each() {
			if !c.given.put(int64(n)) {
				c.fault("packet %d was returned twice", n)
			}
		}
		amount := rain.Money(r.number("amount"))
		if int64(given.Count()) != r.number("packets") || c.amounts != nil && c.amounts.Sum(given) != amount {
			c.fault("the reclaim of shard %d returns %d for %d packets, which differs from the split",
				r.number("shard"), amount, r.number("packets"))
		}
		c.given.amount += amount
	}
	if cuts != 0 {
		c.fault("the table reclaim_cut has rows that belong to no reclaim")
	}
}

// cutOf returns the row of reclaim_cut for a reclaim, if there is one.
func (c *checker) cutOf(r row) (cut row, ok bool) {
	for _, cut := range c.rows["reclaim_cut"] {
		if cut.text("shard") == r.text("shard") && cut.text("closed_at") == r.text("closed_at") &&
			cut.text("entry_seq") == r.text("entry_seq") {
			return cut, true
		}
	}
	return row{}, false
}

// end makes the checks that need all rows.
func (c *checker) end() {
	c.settle()
	c.provePage()
	if c.campaign.ID != c.header.Campaign {
		c.fault("it says that it is of campaign %q, and its rows are of %q", c.header.Campaign, c.campaign.ID)
	}
	c.v.Paid, c.v.Reclaimed = c.paid.amount, c.given.amount
	c.v.PacketsPaid, c.v.PacketsBack = c.paid.count, c.given.count
	if out := c.paid.amount + c.given.amount; out != c.campaign.Budget ||
		c.paid.count+c.given.count != int64(c.campaign.Packets) {
		c.fault("%d of %d packets and %d of %d are paid or returned", c.paid.count+c.given.count,
			c.campaign.Packets, out, c.campaign.Budget)
	}
	if c.escrow != 0 {
		c.fault("the transactions leave %d in the campaign's escrow", c.escrow)
	}
	tally := row{}
	if rows := c.rows["campaign_tally"]; len(rows) == 1 {
		tally = rows[0]
	}
	if tally.number("paid") != c.paid.count || tally.number("amount_paid") != int64(c.paid.amount) ||
		tally.number("reclaimed") != c.given.count || tally.number("amount_reclaimed") != int64(c.given.amount) {
		c.fault("the campaign's tally is not the sum of its payouts and reclaims")
	}
	for _, letter := range c.rows["dead_letter"] {
		if letter.number("resolved_at") == 0 && letter.text("kind") != posting.LetterWithdrawal {
			c.fault("dead letter %s waits for a person", letter.text("claim"))
		}
	}
}

// settleLayout reads the layout of the campaign's packets and players.
func (c *checker) settleLayout(r row) {
	spec := &c.campaign.Spec
	spec.Shards, spec.GuestsShare = int(r.number("shards")), rain.Share(r.number("guests_share"))
	if spec.Shards < 1 || spec.Shards > rain.MaxShards || spec.GuestsShare.String() == "invalid" ||
		spec.GuestsShare != 0 && spec.Shards < rain.LaneCount {
		c.fault("the campaign has %d shards, and %d millionths for guests", spec.Shards, int64(spec.GuestsShare))
		return
	}
	layout := spec.Layout()
	c.layout = &layout
}

// lane returns the reason why a player cannot have won a packet on a shard, or "".
func (c *checker) lane(user string, packet, shard int64) string {
	switch {
	case c.layout == nil:
		return ""
	case shard != int64(c.layout.Home(user)):
		return fmt.Sprintf("it says shard %d, but the player's is shard %d", shard, c.layout.Home(user))
	case !c.layout.MayHave(user, int(packet)):
		return "guests and players have packets of their own, and this one is not of the player's lane"
	}
	return ""
}
