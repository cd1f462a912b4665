package cluster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"redrain/grab/store"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/timeout"
)

// toldFor is how long it is remembered that a settlement has been told. A copy of an entry can turn up for as long
// as the stream keeps it unacknowledged; one day is far beyond any repair.
const toldFor = 24 * time.Hour

// Notifier tells players what has become money. It is pipeline.Notifier: the settlement worker calls it after COMMIT,
// and again for each copy of an entry; the mark in Redis lets one call through.
type Notifier struct {
	marks   Marks
	ranking Ranking
	bus     *Bus
	log     *slog.Logger
}

// Marks remembers, for all nodes, of which outbox entries the players have been told. It returns for each entry
// whether this call is the first one, also with an error.
type Marks interface {
	Once(ctx context.Context, refs []rain.EntryRef, ttl time.Duration) (first []bool, err error)
}

// Ranking keeps who has won most of a campaign.
type Ranking interface {
	Rank(ctx context.Context, winners []store.Winners) error
}

// NewNotifier makes a notifier that tells over a bus. All is needed.
func NewNotifier(marks Marks, ranking Ranking, bus *Bus, log *slog.Logger) *Notifier {
	return &Notifier{marks: marks, ranking: ranking, bus: bus, log: log}
}

// Settled tells every node. A failure costs the player a message, not the money: the claims in the next welcome
// have it.
func (n *Notifier) Settled(ctx context.Context, settlements []posting.Settlement) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	n.tell(ctx, settlements)
	n.rank(ctx, settlements)
}

// tell asks Redis once for the whole batch what has been told before, since the settlement worker waits.
func (n *Notifier) tell(ctx context.Context, settlements []posting.Settlement) {
	groups := byEntry(settlements)
	refs := slices.Collect(maps.Keys(groups))
	first, err := n.marks.Once(ctx, refs, toldFor)
	for i, ref := range refs {
		if first[i] {
			err = errors.Join(err, n.bus.Settled(ref.Campaign, groups[ref]))
		}
	}
	if err != nil {
		n.log.Warn("players were not told of a settlement; their next welcome does", "entries", len(refs), "err", err)
	}
}

// Retried tells every node what an operator's retry of dead letters has settled. There is no mark to ask for: the
// ledger settles a letter once, and the entry's mark is set by the wins that came with it.
func (n *Notifier) Retried(ctx context.Context, settled []posting.Settlement) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Backend)
	defer cancel()
	byCampaign := map[string][]posting.Settlement{}
	for _, s := range settled {
		byCampaign[s.Campaign] = append(byCampaign[s.Campaign], s)
	}
	for campaign, group := range byCampaign {
		if err := n.bus.Settled(campaign, group); err != nil {
			n.log.Warn("players were not told of a settlement; their next welcome does", "campaign", campaign, "err",
				err)
		}
	}
	n.rank(ctx, settled)
}

// rank puts the players among those who have won most in their campaigns. What fails costs them their place until
// they win again.
func (n *Notifier) rank(ctx context.Context, settlements []posting.Settlement) {
	type shard struct {
		campaign string
		number   int
	}
	totals := map[shard][]store.Ranked{}
	for _, s := range settlements {
		if s.Total > 0 {
			home := shard{s.Entry.Campaign, s.Entry.Shard}
			totals[home] = append(totals[home], store.Ranked{User: s.User, Amount: s.Total})
		}
	}
	winners := make([]store.Winners, 0, len(totals))
	for home, list := range totals {
		slices.SortFunc(list, func(a, b store.Ranked) int { return cmp.Compare(a.User, b.User) })
		winners = append(winners, store.Winners{Campaign: home.campaign, Shard: home.number, Totals: slices.Compact(list)})
	}
	if err := n.ranking.Rank(ctx, winners); err != nil {
		n.log.Warn("who has won most is not up to date", "err", err)
	}
}

func byEntry(settlements []posting.Settlement) map[rain.EntryRef][]posting.Settlement {
	groups := map[rain.EntryRef][]posting.Settlement{}
	for _, s := range settlements {
		groups[s.Entry] = append(groups[s.Entry], s)
	}
	return groups
}
