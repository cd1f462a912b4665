package ledger

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// CampaignOrder is the order of a list of campaigns.
type CampaignOrder string

// The orders. Equal campaigns are ordered by their ids.
const (
	ByCreation CampaignOrder = "created"
	ByExpiry   CampaignOrder = "expires"
	ByName     CampaignOrder = "name"
	ByBudget   CampaignOrder = "budget"
)

// CampaignOrders returns all orders.
func CampaignOrders() []CampaignOrder { return []CampaignOrder{ByCreation, ByExpiry, ByName, ByBudget} }

// inOrder has the indexed column of each order.
var inOrder = map[CampaignOrder]string{ByCreation: "created_at", ByExpiry: "expires_at", ByName: "name",
	ByBudget: "budget"}

// CampaignQuery selects campaigns. The zero value with a limit lists all, the newest first.
type CampaignQuery struct {
	Words   []string // each is contained in the name, the sponsor or the id
	Sponsor string   // "" = all
	State   string   // a result of rain.Campaign.State at Now; "" = all
	Now     int64    // Unix ms
	Order   CampaignOrder
	Upwards bool   // ascending
	After   string // the cursor; "" begins
	Limit   int    // at least 1
}

// ListCampaigns lists campaigns, including those with a Fault. next is "" on the last page.
func (s *Campaigns) ListCampaigns(ctx context.Context, q CampaignQuery) (list []*rain.Campaign, next string,
	err error) {
	order := inOrder[cmp.Or(q.Order, ByCreation)] + ", id"
	if !q.Upwards {
		order = strings.ReplaceAll(order, ",", " DESC,") + " DESC"
	}
	err = s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		var rows []rain.Campaign
		if rows, next, err = CampaignTable.ListPage(ctx, tx, q.where(), order, q.After, q.Limit); err != nil {
			return fmt.Errorf("list campaigns: %w", err)
		}
		list, err = s.rows.complete(ctx, tx, rows)
		return err
	})
	return list, next, err
}

func (q CampaignQuery) where() (w sqldb.Where) {
	if q.Sponsor != "" {
		w.And("sponsor = ?", q.Sponsor)
	}
	for _, word := range q.Words {
		// MySQL compares ids as bytes, which distinguishes upper and lower case.
		like := "%" + likely.Replace(word) + "%"
		w.And("(name LIKE ? ESCAPE '!' OR CAST(sponsor AS CHAR) LIKE ? ESCAPE '!' "+
			"OR CAST(id AS CHAR) LIKE ? ESCAPE '!')", like, like, like)
	}
	const falls = "EXISTS (SELECT 1 FROM rain r WHERE r.campaign_id = campaign.id AND r.starts_at <= ? AND " +
		"CASE WHEN r.stopped_at <> 0 THEN r.stopped_at ELSE r.starts_at + r.duration_ms + r.fall_ms END > ?)"
	switch q.State {
	case "":
	case rain.StateRaining, rain.StateReady:
		// Only few of all campaigns are not drained, and an index has them.
		not := map[bool]string{true: "", false: "NOT "}[q.State == rain.StateRaining]
		w.And("drained = 0 AND status = ? AND "+not+falls, string(rain.Open), q.Now, q.Now)
	case string(rain.Closed):
		w.And("status = ?", q.State)
	default:
		w.And("drained = 0 AND status = ?", q.State)
	}
	return w
}

var likely = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
