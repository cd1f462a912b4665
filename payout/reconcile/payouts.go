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

// paidRow is a row of the table payout.
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

// name describes the payout in findings.
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

// is reports whether the payout belongs to a win.
func (p *paidRow) is(user, drop string, entry rain.EntryRef) bool {
	at, err := positionOf(entry.ID)
	return err == nil && p.user == user && p.drop == drop && p.shard == entry.Shard && p.at == at
}

// otherwise describes how a payout to the right player differs from the win.
func (p *paidRow) otherwise(user string) string {
	if p.user != user {
		return ""
	}
	return fmt.Sprintf(", by entry %s of shard %d and drop %s", p.at, p.shard, p.drop)
}

// payoutCheck reads the payouts of a campaign in the order of their packets.
type payoutCheck struct {
	*campaignCheck
	checked map[string]bool // players, so that one with many packets is summed once and not on every page
	last    int             // the previous packet
}

// checkPayouts sums the payouts by shard, up to the shard's snapshot. It compares each payout with the split and its
// transaction, and each player with the limits and the table winner. It compares the balance of each account of the
// campaign with its entries.
//
// It works page by page. With one statement for all, MariaDB groups hundreds of thousands of accounts in a temporary
// table on disk, which takes minutes.
func (r *campaignCheck) checkPayouts(ctx context.Context, q sqldb.Querier) error {
	p := &payoutCheck{campaignCheck: r, checked: map[string]bool{}, last: math.MinInt64}
	if r.scope.txns {
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
		if r.scope.seen != nil {
			r.scope.seen(len(rows))
		}
	}
}

// payoutPage reads the payouts after a packet. A page ends between packets. If the database has lost its key and has
// a packet twice, both rows are in one page.
func (r *campaignCheck) payoutPage(ctx context.Context, q sqldb.Querier, after int) ([]paidRow, error) {
	rows, err := sqldb.List(ctx, q, scanPayout, payoutSelect+"WHERE campaign_id = ? AND packet > ? ORDER BY packet "+
		"LIMIT ?", r.campaign.ID, after, sqldb.Chunk)
	if len(rows) == sqldb.Chunk {
		n := len(rows)
		for n > 0 && rows[n-1].packet == rows[len(rows)-1].packet {
			n--
		}
		if n > 0 { // else one packet fills the page, which is reported once
			rows = rows[:n]
		}
	}
	return rows, err
}

// check counts a payout, reports faults that need no query, and records its place.
func (p *payoutCheck) check(row *paidRow) {
	p.all.Paid++
	p.all.AmountPaid += row.amount
	switch b := p.shard(row.shard); {
	case b == nil:
		p.astray += row.amount
	case b.later(row.at):
		p.later++
	default:
		b.amountPaid += row.amount
	}
	if p.checkRow(row) {
		p.place(row)
	}
}

// checkRow reports faults that the row alone shows. It returns whether the packet belongs to the campaign.
func (p *payoutCheck) checkRow(row *paidRow) bool {
	c := p.campaign
	if row.packet == p.last {
		p.found.add("a packet paid twice", "%s: this packet is paid more than once", row.name())
	}
	p.last = row.packet
	if row.claim != rain.ClaimID(c.ID, row.packet) {
		p.found.add("a payout with a wrong claim", "%s: its claim should be %s", row.name(),
			rain.ClaimID(c.ID, row.packet))
	}
	if row.state != ledger.StateSettled {
		p.found.add("a payout with a wrong state", "%s: its state is %q", row.name(), row.state)
	}
	if p.amounts == nil {
		return false // the packets of the shards are unknown
	}
	if row.packet < 0 || row.packet >= c.Packets {
		p.found.add("a payout of no packet", "%s: the campaign has packets 0 to %d", row.name(), c.Packets-1)
		return false
	}
	if row.amount != p.amounts.Of(row.packet) {
		p.found.add("a payout that is not the split's", "%s: the split says %d", row.name(), p.amounts.Of(row.packet))
	}
	layout := c.Layout()
	if home := layout.Home(row.user); row.shard != home {
		p.found.add("a payout in a wrong shard", "%s: it says shard %d, but the player's is shard %d", row.name(),
			row.shard, home)
	}
	if !layout.MayHave(row.user, row.packet) {
		p.found.add("a payout of another lane's packet", "%s: guests and players have packets of their own, and this "+
			"one is not of the player's lane", row.name())
	}
	if err := c.CheckLuck(row.user, row.drop); err != nil {
		p.found.add("a payout without luck", "%s: it was won with %s, but %s", row.name(), row.drop, err)
	}
	return true
}

// place records that a packet is paid, as of its shard's snapshot.
func (p *payoutCheck) place(row *paidRow) {
	b := p.shard(row.shard)
	if !p.counted() || b != nil && b.later(row.at) {
		return
	}
	if b == nil {
		p.found.add("a payout in a wrong shard", "%s: there is no shard %d", row.name(), row.shard)
		return
	}
	i, ok := b.holding.index(row.packet)
	if !ok && !p.known(b) {
		return
	}
	if !ok {
		p.found.add("a payout of another shard's packet", "%s: shard %d does not have this packet", row.name(),
			row.shard)
		return
	}
	b.paid.add(i, b.holding.count)
}

// checkForgotten reports payouts and dead letters that should be in Redis and are not. It skips those that are newer
// than the snapshot, and drained campaigns, which Redis may delete.
func (r *campaignCheck) checkForgotten(ctx context.Context, q sqldb.Querier) error {
	if !r.counted() || r.campaign.Drained {
		return nil
	}
	for _, b := range r.shards {
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
				r.found.add("a dead letter unknown to Redis", "dead letter %s: it is about packet %d, but Redis "+
					"knows no such win", rain.ClaimID(r.campaign.ID, packet), packet)
				continue
			}
			r.found.add("a payout unknown to Redis", "%s: in the ledger, but Redis knows no such win", row.name())
		}
	}
	return nil
}

// checkPage checks the transactions and the players of some payouts.
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
		err := oneByOne(users, &p.found, "player", func(some []string) error { return p.checkLimits(ctx, q, some) })
		if err != nil {
			return err
		}
	}
	if !p.scope.txns {
		return nil
	}
	return checkAccounts(ctx, q, accounts, &p.found)
}

// checkPaid checks that each payout's transaction exists, is a payment, and debits the escrow.
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
			p.found.add("a payout without a transaction", "%s: there is no such transaction", row.name())
		case kind != booking.KindPay:
			p.found.add("a payout without a transaction", "%s: the transaction is of kind %s", row.name(), kind)
		case !taking[row.txn]:
			p.found.add("a payout without a transaction", "%s: the transaction takes nothing from %s", row.name(),
				escrow)
		}
	}
	return err
}

// checkLimits reports players with too many packets, and players whose row in the table winner differs from their
// payouts.
func (p *payoutCheck) checkLimits(ctx context.Context, q sqldb.Querier, users []string) error {
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		var wins, counted int
		var amount, summed rain.Money
		err := scan(&user, &wins, &amount, &counted, &summed)
		if wins > p.campaign.WinsPerUser {
			p.found.add("a player with too many packets", "player %s was paid for %d packets, but may win %d", user,
				wins, p.campaign.WinsPerUser)
		}
		if counted != wins || summed != amount {
			p.found.add("a player whose wins are counted wrong", "player %s was paid for %d packets, %d in all, but "+
				"the table winner says %d and %d", user, wins, amount, counted, summed)
		}
		return err
	}, "SELECT p.user_id, COUNT(*), SUM(p.amount), COALESCE(MAX(w.wins), 0), COALESCE(MAX(w.amount), 0) "+
		"FROM payout p LEFT JOIN winner w ON w.campaign_id = p.campaign_id AND w.user_id = p.user_id "+
		"WHERE p.campaign_id = ? AND p.user_id IN "+sqldb.Marks(len(users))+" GROUP BY p.user_id",
		append([]any{p.campaign.ID}, sqldb.Args(users)...)...)
}

// checkAddedWinners reports rows of the table winner without payouts: such a row would refuse an honest win. The
// other rows were compared before, so the sums differ only if a row was added.
func (p *payoutCheck) checkAddedWinners(ctx context.Context, q sqldb.Querier) error {
	var wins, pageWins int64
	var amount, pageAmount rain.Money
	for after, more := "", true; more; wins, amount = wins+pageWins, amount+pageAmount {
		_, err := q.First(ctx, []any{&after, &pageWins, &pageAmount}, "SELECT COALESCE(MAX(user_id), ''), "+
			"COALESCE(SUM(ABS(wins)), 0), COALESCE(SUM(ABS(amount)), 0) FROM (SELECT user_id, wins, amount FROM "+
			"winner WHERE campaign_id = ? AND user_id > ? ORDER BY user_id LIMIT ?) page", p.campaign.ID, after,
			sqldb.Chunk)
		if err != nil {
			return err
		}
		more = after != ""
	}
	if wins == p.all.Paid && amount == p.all.AmountPaid {
		return nil
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		err := scan(&user)
		p.found.add("a player whose wins are counted wrong", "player %s was paid nothing, but is in the table winner",
			user)
		return err
	}, "SELECT w.user_id FROM winner w LEFT JOIN payout p ON p.campaign_id = w.campaign_id AND p.user_id = w.user_id "+
		"WHERE w.campaign_id = ? AND p.packet IS NULL ORDER BY w.user_id LIMIT ?", p.campaign.ID, maxFindings+1)
}
