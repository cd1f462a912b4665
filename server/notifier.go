package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"redrain/grab"
	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/room"
)

// toldFor is how long it is remembered that a settlement has been told. A copy of an entry can turn up for as long
// as the stream keeps it unacknowledged; one day is far beyond any repair.
const toldFor = 24 * time.Hour

// notifier tells players what has become money. It is payout.Notifier: the settlement worker calls it after COMMIT, and
// again for each copy of an entry; the mark in Redis lets one call through.
type notifier struct {
	grabber *grab.Grabber
	control *control
	log     *slog.Logger
}

// Settled tells every node. A failure costs the player a message, not the money: the claims in the next welcome
// have it.
func (n *notifier) Settled(ctx context.Context, settlements []posting.Settlement) {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	n.tell(ctx, settlements)
	rank(ctx, n.grabber, n.log, settlements) // of copies too: what it did not come to the first time is done then
}

// tell asks Redis once for the whole batch what has been told before, since the settlement worker waits.
func (n *notifier) tell(ctx context.Context, settlements []posting.Settlement) {
	groups := byEntry(settlements)
	refs := slices.Collect(maps.Keys(groups))
	first, err := n.grabber.Once(ctx, refs, toldFor)
	for i, ref := range refs {
		if first[i] {
			err = errors.Join(err, n.control.Settled(ref.Campaign, groups[ref]))
		}
	}
	if err != nil {
		n.log.Warn("players were not told of a settlement; their next welcome does", "entries", len(refs), "err", err)
	}
}

// rank puts the players among those who have won most in their campaigns. What fails costs them their place until
// they win again.
func rank(ctx context.Context, grabber *grab.Grabber, log *slog.Logger, settlements []posting.Settlement) {
	type shard struct {
		campaign string
		number   int
	}
	users := map[shard][]string{}
	for _, s := range settlements {
		home := shard{s.Entry.Campaign, s.Entry.Shard}
		users[home] = append(users[home], s.User)
	}
	winners := make([]grab.Winners, 0, len(users))
	for home, names := range users {
		slices.Sort(names)
		winners = append(winners, grab.Winners{Campaign: home.campaign, Shard: home.number,
			Users: slices.Compact(names)})
	}
	if err := grabber.Rank(ctx, winners); err != nil {
		log.Warn("who has won most is not up to date", "err", err)
	}
}

func byEntry(settlements []posting.Settlement) map[rain.EntryRef][]posting.Settlement {
	groups := map[rain.EntryRef][]posting.Settlement{}
	for _, s := range settlements {
		groups[s.Entry] = append(groups[s.Entry], s)
	}
	return groups
}

// teller hands what was heard of settlements to the players of this node.
type teller struct {
	lobby    *room.Lobby
	arrivals *arrivals
	figures  *figures
	registry *registry
	grabber  *grab.Grabber
}

// Settled tells each player that is here about all their claims in one message.
func (t *teller) Settled(campaign string, n settledNotice) {
	t.figures.Won(campaign, n.Claims)
	t.remember(campaign, n.Claims)
	messages := map[string]*wire.Settled{}
	for _, c := range n.Claims {
		m := messages[c.User]
		if m == nil {
			m = &wire.Settled{Type: wire.TypeSettled}
			messages[c.User] = m
		}
		m.Claims = append(m.Claims, wire.SettledClaim{Claim: c.Claim, Amount: c.Amount})
		m.Balance = c.Balance
	}
	t.arrivals.tell(messages, func(user string, m *wire.Settled) { t.lobby.ToUser(user, wire.Encode(m)) })
}

// Withdrawn tells a player that is here how a withdrawal of theirs has ended.
func (t *teller) Withdrawn(n withdrawalNotice) {
	t.lobby.ToUser(n.Withdrawal.User, wire.Encode(wire.WithdrawalChange{Type: wire.TypeWithdrawal,
		Withdrawal: n.Withdrawal, Balance: n.Balance}))
}

// remember lets this node know the wins that other nodes have given, so that it answers a tap that is sent again
// with the same win, also where it knows the stock to be sold out and would not ask Redis.
func (t *teller) remember(campaign string, claims []settledNoticeClaim) {
	c := t.registry.Cached(campaign)
	if c == nil || t.lobby.Room(campaign) == nil {
		return // nobody is here; who comes brings their wins
	}
	gate := t.grabber.Gate(c)
	for _, claim := range claims {
		gate.Remember(claim.User, []rain.Win{{User: claim.User, Packet: claim.Packet, Amount: claim.Amount,
			Drop: claim.Drop}})
	}
}
