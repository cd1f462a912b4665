package reconcile

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/history"
)

// checkHistoriesOf holds a page of things against their histories, those that cannot be read by themselves.
func checkHistoriesOf(ctx context.Context, q sqldb.Querier, kind history.Kind, ids []string, found *findings) error {
	return oneByOne(ids, func(ids []string) error { return compareHistories(ctx, q, kind, ids, found) },
		func(id string, why error) {
			found.addThing(kind, id)
			found.add("rows that cannot be read", string(kind)+id, "%s %s: its rows cannot be read, so somebody has "+
				"changed them: %v", kind, id, why)
		})
}

func compareHistories(ctx context.Context, q sqldb.Querier, kind history.Kind, ids []string, found *findings) error {
	is, err := history.Digests(ctx, q, kind, ids)
	if err != nil {
		return err
	}
	was, err := history.Newest(ctx, q, kind, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		now, exists := is[id]
		then, known := was[id]
		name := string(kind) + " " + id
		if known && now == then.Digest && exists == (then.Digest != "") && !then.Loose {
			continue // as it must be, or removed by the ledger
		}
		if !exists && !known && slices.Contains(turnKinds, kind) {
			continue // somebody had added it by hand, and has removed it again; no other rows belong to these
		}
		found.addThing(kind, id)
		switch {
		case then.Loose:
			found.add("a history that was added by hand", name, "%s: the newest line of its history is not what was "+
				"chained, so somebody has added or changed it", name)
		case !exists && known:
			found.add("a row that was removed", name, "%s: its row was removed; its history has it", name)
		case !exists:
			found.add("rows of nothing", name, "%s: there are rows that belong to it, but it does not exist", name)
		case !known:
			found.add("a row that was added by hand", name, "%s: it has no history, so the ledger has not made it",
				name)
		default:
			found.add("a row that is not its history", name, "%s: it, or a row that belongs to it, is not what "+
				"its history "+
				"says, so somebody has changed it", name)
		}
	}
	return nil
}

// checkHistory holds the campaign against its history, where that is asked for.
func (r *campaignCheck) checkHistory(ctx context.Context, q sqldb.Querier) error {
	if !r.look.chained {
		return nil
	}
	return checkHistoriesOf(ctx, q, history.Campaign, []string{r.campaign.ID}, &r.found)
}
