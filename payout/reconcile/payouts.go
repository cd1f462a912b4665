package reconcile

import (
	"context"
	"fmt"
	"math"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// paidRow is a payout as it is in the database.
type paidRow struct {
	packet int
	claim  string
	user   string
	drop   string
	amount rain.Money
	state  ledger.ClaimState
	shard  int
	at     position // of the outbox entry
	txn    int64
}

// name is how findings speak of the payout.
func (p *paidRow) name() string {
	return fmt.Sprintf("payout of packet %d (claim %s, player %s, amount %d, transaction %d)", p.packet, p.claim,
		p.user, p.amount, p.txn)
}

const payoutSelect = "SELECT packet, claim, user_id, drop_id, amount, state, shard, won_at, entry_seq, txn_id FROM " +
	"payout "

func scanPayout(scan sqldb.Scan) (p paidRow, err error) {
	err = scan(&p.packet, &p.claim, &p.user, &p.drop, &p.amount, &p.state, &p.shard, &p.at.ms, &p.at.seq, &p.txn)
	return p, err
}

// is tells whether the payout is that of a win.
func (p *paidRow) is(user, drop string, entry rain.EntryRef) bool {
	at, err := positionOf(entry.ID)
	return err == nil && p.user == user && p.drop == drop && p.shard == entry.Shard && p.at == at
}

// otherwise says how a payout to the right player is not that of the win.
func (p *paidRow) otherwise(user string) string {
	if p.user != user {
		return ""
	}
	return fmt.Sprintf(", by entry %s of shard %d and drop %s", p.at, p.shard, p.drop)
}

// payoutCheck goes through the payouts of a campaign in the order of their packets.
type payoutCheck struct {
	*campaignCheck
	checked map[string]bool // players, so that one with many packets is summed once and not on every page
	last    int             // the packet before
}

// checkPayouts adds up what was paid, by shard, without what is newer than the shard's snapshot. It holds each payout
// against the split and its transaction, each player against the limits and the table winner, and the balance of each
// account that the campaign has touched against its entries.
//
// It goes page by page. One statement for all of them makes MariaDB group hundreds of thousands of accounts in a
// temporary table on disk, which takes minutes.
func (r *campaignCheck) checkPayouts(ctx context.Context, q sqldb.Querier) error {
	p := &payoutCheck{campaignCheck: r, checked: map[string]bool{}, last: math.MinInt64}
	if r.look.txns {
		err := checkAccounts(ctx, q, []string{booking.EscrowAccount(r.campaign.ID).ID(),
			booking.SponsorAccount(r.campaign.Sponsor).ID()}, &r.found)
		if err != nil {
			return err
		}
	}
	for after := math.MinInt64; ; {
		rows, err := r.payoutPage(ctx, q, after)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return p.checkAddedWinners(ctx, q)
		}
		for i := range rows {
			p.check(&rows[i])
		}
		for some := range slices.Chunk(rows, askedAtOnce) {
			if err := p.checkPage(ctx, q, some); err != nil {
				return err
			}
		}
		after = rows[len(rows)-1].packet
		if r.look.seen != nil {
			r.look.seen(len(rows))
		}
	}
}

// payoutPage reads the payouts after a packet. A page ends where a packet ends: should the database have lost its
// key and have a packet twice, both are in one page.
func (r *campaignCheck) payoutPage(ctx context.Context, q sqldb.Querier, after int) ([]paidRow, error) {
	rows, err := sqldb.List(ctx, q, scanPayout, payoutSelect+"WHERE campaign_id = ? AND packet > ? ORDER BY packet "+
		"LIMIT ?", r.campaign.ID, after, sqldb.Chunk)
	if len(rows) == sqldb.Chunk {
		n := len(rows)
		for n > 0 && rows[n-1].packet == rows[len(rows)-1].packet {
			n--
		}
		if n > 0 { // else the same packet fills the page, which is bad enough to be said once
			rows = rows[:n]
		}
	}
	return rows, err
}

// check counts a payout, says what is wrong with it, as far as it can be seen without asking the database, and notes
// its place.
func (p *payoutCheck) check(row *paidRow) {
	p.all.Paid++
	p.all.AmountPaid += row.amount
	switch b := p.shards[row.shard]; {
	case b == nil:
		p.astray += row.amount
	case b.later(row.at):
		p.later++
	default:
		b.amountPaid += row.amount
	}
	if p.inItself(row) {
		p.place(row)
	}
}

// inItself says what is wrong with one payout by what the row itself says. It tells whether its packet is one of the
// campaign's.
func (p *payoutCheck) inItself(row *paidRow) bool {
	c := p.campaign
	key := row.claim
	if row.packet == p.last {
		p.found.add("a packet paid twice", key, "%s: this packet is paid more than once", row.name())
	}
	p.last = row.packet
	if row.claim != rain.ClaimID(c.ID, row.packet) {
		p.found.add("a payout with a wrong claim", key, "%s: its claim should be %s", row.name(),
			rain.ClaimID(c.ID, row.packet))
	}
	if row.state != ledger.StateSettled {
		p.found.add("a payout with a wrong state", key, "%s: its state is %q", row.name(), row.state)
	}
	if p.amounts == nil {
		return false // which packets there are, and in which shard, is not known
	}
	if row.packet < 0 || row.packet >= c.Packets {
		p.found.add("a payout of no packet", key, "%s: the campaign has packets 0 to %d", row.name(), c.Packets-1)
		return false
	}
	if row.amount != p.amounts.Of(row.packet) {
		p.found.add("a payout that is not the split's", key, "%s: the split says %d", row.name(),
			p.amounts.Of(row.packet))
	}
	layout := c.Layout()
	if home := layout.Home(row.user); row.shard != home {
		p.found.add("a payout in a wrong shard", key, "%s: it says shard %d, but the player's is shard %d",
			row.name(), row.shard, home)
	}
	if !layout.MayHave(row.user, row.packet) {
		p.found.add("a payout of another lane's packet", key, "%s: guests and players have packets of their own, and "+
			"this one is not of the player's lane", row.name())
	}
	if err := c.CheckLuck(row.user, row.drop); err != nil {
		p.found.add("a payout without luck", key, "%s: it was won with %s, but %s", row.name(), row.drop, err)
	}
	return true
}

// place notes that a packet is paid, as of its shard's snapshot.
func (p *payoutCheck) place(row *paidRow) {
	b := p.shards[row.shard]
	if !p.counted() || b != nil && b.later(row.at) {
		return
	}
	if b == nil {
		p.found.add("a payout in a wrong shard", row.claim, "%s: there is no shard %d", row.name(), row.shard)
		return
	}
	i, ok := b.holding.index(row.packet)
	if !ok && !p.known(b) {
		return
	}
	if !ok {
		p.found.add("a payout of another shard's packet", row.claim, "%s: shard %d does not have this packet",
			row.name(),
			row.shard)
		return
	}
	b.paid.add(i, b.holding.count)
}

// checkForgotten names payouts that Redis should know of and does not. What is newer than the snapshot is left out, and
// so is a drained campaign: Redis may forget it.
func (r *campaignCheck) checkForgotten(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.campaign.Drained {
		return nil
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		if !b.compared {
			continue
		}
		missing := b.holding.list(func(w int) uint64 { return (b.paid.word(w) | b.dead.word(w)) &^ b.recorded.word(w) })
		var some []int
		for packet := range missing.Each() {
			if some = append(some, packet); len(some) > maxFindings {
				break
			}
		}
		rows, err := r.payoutsOf(ctx, q, some)
		if err != nil {
			return err
		}
		for _, packet := range some {
			row, paid := rows[packet]
			if !paid {
				r.found.add("a promise unknown to Redis", rain.ClaimID(r.campaign.ID, packet), "dead letter %s: it "+
					"promises packet %d, "+
					"but Redis knows no such win", rain.ClaimID(r.campaign.ID, packet), packet)
				continue
			}
			r.found.add("a payout unknown to Redis", row.claim, "%s: in the ledger, but Redis knows no such win",
				row.name())
		}
	}
	return nil
}

// checkPage asks the database about the transactions and the players of some payouts.
func (p *payoutCheck) checkPage(ctx context.Context, q sqldb.Querier, rows []paidRow) error {
	if err := p.checkPaid(ctx, q, rows); err != nil {
		return err
	}
	if len(p.checked) > 100*sqldb.Chunk {
		clear(p.checked) // with so many players, few come again
	}
	var users, accounts []string
	for i := range rows {
		if user := rows[i].user; !p.checked[user] {
			p.checked[user] = true
			users, accounts = append(users, user), append(accounts, booking.UserAccount(user).ID())
		}
	}
	if p.amounts != nil {
		err := oneByOne(users, func(some []string) error { return p.checkLimits(ctx, q, some) },
			func(user string, why error) {
				p.found.add("rows that cannot be read", user, "player %s: the rows cannot be added up, so somebody "+
					"has changed them: %v", user, why)
			})
		if err != nil {
			return err
		}
	}
	if !p.look.txns {
		return nil
	}
	return checkAccounts(ctx, q, accounts, &p.found)
}

// checkPaid sees that each payout was posted: that its transaction is there, is a payment, and takes from the escrow.
func (p *payoutCheck) checkPaid(ctx context.Context, q sqldb.Querier, rows []paidRow) error {
	taking := map[int64]bool{}
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].txn
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	kinds, err := kindsOf(ctx, q, ids)
	if err != nil {
		return err
	}
	escrow := booking.EscrowAccount(p.campaign.ID).ID()
	from, err := sqldb.Column[int64](ctx, q, "SELECT DISTINCT txn_id FROM entry WHERE account_id = ? AND txn_id IN "+
		sqldb.Marks(len(ids)),
		append([]any{escrow}, sqldb.Args(ids)...)...)
	for _, id := range from {
		taking[id] = true
	}
	for i := range rows {
		row := &rows[i]
		switch kind := kinds[row.txn]; {
		case kind == "":
			p.found.add("a payout without a transaction", row.claim, "%s: there is no such transaction", row.name())
		case kind != booking.KindPay:
			p.found.add("a payout without a transaction", row.claim, "%s: the transaction is of kind %s", row.name(),
				kind)
		case !taking[row.txn]:
			p.found.add("a payout without a transaction", row.claim, "%s: the transaction takes nothing from %s",
				row.name(), escrow)
		}
	}
	return err
}

// checkLimits looks for players with more packets than the campaign allows, and for players of whom the table winner
// says something else than their payouts.
func (p *payoutCheck) checkLimits(ctx context.Context, q sqldb.Querier, users []string) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		var wins, counted int
		var amount, summed rain.Money
		err := scan(&user, &wins, &amount, &counted, &summed)
		if wins > p.campaign.WinsPerUser {
			p.found.add("a player with too many packets", user, "player %s was paid for %d packets, but may win %d",
				user, wins, p.campaign.WinsPerUser)
		}
		if counted != wins || summed != amount {
			p.found.add("a player whose wins are counted wrong", user, "player %s was paid for %d packets, %d in all, "+
				"but the table winner says %d and %d", user, wins, amount, counted, summed)
		}
		return err
	}, "SELECT p.user_id, COUNT(*), SUM(p.amount), COALESCE(MAX(w.wins), 0), COALESCE(MAX(w.amount), 0) "+
		"FROM payout p LEFT JOIN winner w ON w.campaign_id = p.campaign_id AND w.user_id = p.user_id "+
		"WHERE p.campaign_id = ? AND p.user_id IN "+sqldb.Marks(len(users))+" GROUP BY p.user_id",
		append([]any{p.campaign.ID}, sqldb.Args(users)...)...)
}

// checkAddedWinners names rows of the table winner whose players were paid nothing: such a row would refuse an honest
// win. The rows of all others agree with their payouts, or were named, so the sums differ only where a row was added.
func (p *payoutCheck) checkAddedWinners(ctx context.Context, q sqldb.Querier) error {
	var wins int64
	var amount rain.Money
	_, err := q.First(ctx, []any{&wins, &amount}, "SELECT COALESCE(SUM(ABS(wins)), 0), COALESCE(SUM(ABS(amount)), 0) "+
		"FROM winner WHERE campaign_id = ?", p.campaign.ID)
	if err != nil || wins == p.all.Paid && amount == p.all.AmountPaid {
		return err
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		err := scan(&user)
		p.found.add("a player whose wins are counted wrong", user, "player %s was paid nothing, but is in the table "+
			"winner", user)
		return err
	}, "SELECT w.user_id FROM winner w LEFT JOIN payout p ON p.campaign_id = w.campaign_id AND p.user_id = w.user_id "+
		"WHERE w.campaign_id = ? AND p.packet IS NULL ORDER BY w.user_id LIMIT ?", p.campaign.ID, maxFindings+1)
}
