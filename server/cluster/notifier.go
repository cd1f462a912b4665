package cluster

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"redrain/grab/store"
	"redrain/payout/ledger/posting"
	"redrain/server/timeout"
)

// Notifier notifies players of settlements. It implements pipeline.Notifier: the settler calls it after COMMIT, and
// again for each copy of an entry. Each node notifies a player once.
type Notifier struct {
	ranking Ranking
	bus     *Bus
	log     *slog.Logger
}

// Ranking stores the players who have won most of a campaign.
type Ranking interface {
	Rank(ctx context.Context, winners []store.Winners) error
}

// NewNotifier returns a notifier on a bus. All arguments are required.
func NewNotifier(ranking Ranking, bus *Bus, log *slog.Logger) *Notifier {
	return &Notifier{ranking: ranking, bus: bus, log: log}
}

// Settled notifies the nodes of settlements. A failure costs a player the message, not the money: the next welcome has
// the claims.
func (n *Notifier) Settled(ctx context.Context, settlements []posting.Settlement) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	byCampaign := map[string][]posting.Settlement{}
	for _, s := range settlements {
		byCampaign[s.Campaign] = append(byCampaign[s.Campaign], s)
	}
	for campaign, group := range byCampaign {
		if err := n.bus.Settled(campaign, group); err != nil {
			n.log.Warn("notify players of a settlement; their next welcome has it", "campaign", campaign, "err",
				err)
		}
	}
	n.rank(ctx, settlements)
}

// Retried notifies the nodes of claims that an operator's retry of dead letters has settled.
func (n *Notifier) Retried(ctx context.Context, settled []posting.Settlement) {
	n.Settled(context.WithoutCancel(ctx), settled)
}

// rank adds the players' wins to their campaigns' rankings. After a failure a player's rank is stale until the next
// win.
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
		winners = append(winners, store.Winners{Campaign: home.campaign, Shard: home.number,
			Totals: slices.Compact(list)})
	}
	if err := n.ranking.Rank(ctx, winners); err != nil {
		n.log.Warn("update the ranking", "err", err)
	}
}
