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

// Notifier tells players what has become money. It is pipeline.Notifier: the settlement worker calls it after COMMIT,
// and again for each copy of an entry. Each node sees to it that a player is told once.
type Notifier struct {
	ranking Ranking
	bus     *Bus
	log     *slog.Logger
}

// Ranking keeps who has won most of a campaign.
type Ranking interface {
	Rank(ctx context.Context, winners []store.Winners) error
}

// NewNotifier makes a notifier that tells over a bus. All is needed.
func NewNotifier(ranking Ranking, bus *Bus, log *slog.Logger) *Notifier {
	return &Notifier{ranking: ranking, bus: bus, log: log}
}

// Settled tells every node. A failure costs the player a message, not the money: the claims in the next welcome
// have it.
func (n *Notifier) Settled(ctx context.Context, settlements []posting.Settlement) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	n.tell(ctx, settlements)
	n.rank(ctx, settlements)
}

// tell tells the nodes, campaign by campaign.
func (n *Notifier) tell(ctx context.Context, settlements []posting.Settlement) {
	byCampaign := map[string][]posting.Settlement{}
	for _, s := range settlements {
		byCampaign[s.Campaign] = append(byCampaign[s.Campaign], s)
	}
	for campaign, group := range byCampaign {
		if err := n.bus.Settled(ctx, campaign, group); err != nil {
			n.log.Warn("players were not told of a settlement; their next welcome does", "campaign", campaign, "err",
				err)
		}
	}
}

// Retried tells every node what an operator's retry of dead letters has settled.
func (n *Notifier) Retried(ctx context.Context, settled []posting.Settlement) {
	n.Settled(context.WithoutCancel(ctx), settled)
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
		winners = append(winners, store.Winners{Campaign: home.campaign, Shard: home.number,
			Totals: slices.Compact(list)})
	}
	if err := n.ranking.Rank(ctx, winners); err != nil {
		n.log.Warn("who has won most is not up to date", "err", err)
	}
}
