package posting

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// terms is what a campaign allows.
type terms struct {
	sponsor string
	budget  rain.Money
	packets int
	shards  int
	letters bool // there are dead letters of the campaign, resolved or not
}

// readTerms reads what campaigns allow. One that does not exist is missing in the answer.
func readTerms(ctx context.Context, q sqldb.Querier, campaigns []string) (map[string]terms, error) {
	all := make(map[string]terms, len(campaigns))
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		var t terms
		err := scan(&id, &t.sponsor, &t.budget, &t.packets, &t.shards, &t.letters)
		all[id] = t
		return err
	}, "SELECT id, sponsor, budget, packets, shards, EXISTS (SELECT 1 FROM dead_letter d "+
		"WHERE d.campaign_id = campaign.id) FROM campaign WHERE id IN", campaigns)
	if err != nil {
		return nil, fmt.Errorf("reading campaigns: %w", err)
	}
	return all, nil
}

type packetKey struct {
	campaign string
	packet   int
}

type shardKey struct {
	campaign string
	shard    int
}

// position is where an entry stands in its outbox, and which transaction it is posted in.
type position struct {
	ref     rain.EntryRef
	ms, seq int64
	key     string
}
