package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"redrain/grab"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/timeout"
)

// toldFor is how long it is remembered that a settlement has been told. A copy of an entry can turn up for as long
// as the stream keeps it unacknowledged; one day is far beyond any repair.
const toldFor = 24 * time.Hour

// notifier tells players what has become money. It is pipeline.Notifier: the settlement worker calls it after COMMIT, and
// again for each copy of an entry; the mark in Redis lets one call through.
type notifier struct {
	grabber *grab.Grabber
	bus     *Bus
	log     *slog.Logger
}

func NewNotifier(grabber *grab.Grabber, bus *Bus, log *slog.Logger) *notifier {
	return &notifier{grabber: grabber, bus: bus, log: log}
}

// Settled tells every node. A failure costs the player a message, not the money: the claims in the next welcome
// have it.
func (n *notifier) Settled(ctx context.Context, settlements []posting.Settlement) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	n.tell(ctx, settlements)
	Rank(ctx, n.grabber, n.log, settlements) // of copies too: what it did not come to the first time is done then
}

// tell asks Redis once for the whole batch what has been told before, since the settlement worker waits.
func (n *notifier) tell(ctx context.Context, settlements []posting.Settlement) {
	groups := byEntry(settlements)
	refs := slices.Collect(maps.Keys(groups))
	first, err := n.grabber.Once(ctx, refs, toldFor)
	for i, ref := range refs {
		if first[i] {
			err = errors.Join(err, n.bus.Settled(ref.Campaign, groups[ref]))
		}
	}
	if err != nil {
		n.log.Warn("players were not told of a settlement; their next welcome does", "entries", len(refs), "err", err)
	}
}

// rank puts the players among those who have won most in their campaigns. What fails costs them their place until
// they win again.
func Rank(ctx context.Context, grabber *grab.Grabber, log *slog.Logger, settlements []posting.Settlement) {
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
