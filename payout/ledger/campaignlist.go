package ledger

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

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

// inOrder has the indexed column of each order, and its value for a campaign.
var inOrder = map[CampaignOrder]struct {
	column string
	key    func(c *rain.Campaign) any
}{
	ByCreation: {"created_at", func(c *rain.Campaign) any { return c.CreatedAt }},
	ByExpiry:   {"expires_at", func(c *rain.Campaign) any { return c.ExpiresAt }},
	ByName:     {"name", func(c *rain.Campaign) any { return base64.RawURLEncoding.EncodeToString([]byte(c.Name)) }},
	ByBudget:   {"budget", func(c *rain.Campaign) any { return int64(c.Budget) }},
}

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
	q.Order = cmp.Or(q.Order, ByCreation)
	where, args := q.where()
	column, beyond, direction := inOrder[q.Order].column, "<", "DESC"
	if q.Upwards {
		beyond, direction = ">", "ASC"
	}
	if q.After != "" {
		key, id, ok := q.cutCursor()
		if !ok {
			return nil, "", ErrBadCursor
		}
		where = append(where, "("+column+" "+beyond+" ? OR ("+column+" = ? AND id "+beyond+" ?))")
		args = append(args, key, key, id)
	}
	text := ""
	if len(where) > 0 {
		text = "WHERE " + strings.Join(where, " AND ") + " "
	}
	list, err = s.campaigns(ctx, text+"ORDER BY "+column+" "+direction+", id "+direction+" LIMIT ?",
		append(args, q.Limit+1)...)
	list, next = page(list, q.Limit, q.cursor)
	return list, next, err
}

// where returns the conditions of a query, without its cursor.
func (q CampaignQuery) where() (where []string, args []any) {
	if q.Sponsor != "" {
		where, args = append(where, "sponsor = ?"), append(args, q.Sponsor)
	}
	for _, word := range q.Words {
		// MySQL compares ids as bytes, which distinguishes upper and lower case.
		where = append(where, "(name LIKE ? ESCAPE '!' OR CAST(sponsor AS CHAR) LIKE ? ESCAPE '!' OR "+
			"CAST(id AS CHAR) LIKE ? ESCAPE '!')")
		like := "%" + likely.Replace(word) + "%"
		args = append(args, like, like, like)
	}
	const falls = "EXISTS (SELECT 1 FROM rain r WHERE r.campaign_id = campaign.id AND r.starts_at <= ? AND " +
		"CASE WHEN r.stopped_at <> 0 THEN r.stopped_at ELSE r.starts_at + r.duration_ms + r.fall_ms END > ?)"
	switch q.State {
	case "":
	case rain.StateRaining, rain.StateReady:
		// Only few of all campaigns are not drained, and an index has them.
		not := map[bool]string{true: "", false: "NOT "}[q.State == rain.StateRaining]
		where = append(where, "drained = 0", "status = ?", not+falls)
		args = append(args, string(rain.Open), q.Now, q.Now)
	case string(rain.Closed):
		where, args = append(where, "status = ?"), append(args, q.State)
	default:
		where, args = append(where, "drained = 0", "status = ?"), append(args, q.State)
	}
	return where, args
}

// likely escapes the wildcards of LIKE.
var likely = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// A cursor of campaigns by their creation has the format of all lists by time. The others contain their order, so
// that a cursor of one order is invalid for another.

func (q CampaignQuery) cursor(last *rain.Campaign) string {
	if q.Order == ByCreation {
		return joinCursor(last.CreatedAt, last.ID)
	}
	return fmt.Sprintf("%s.%v.%s", q.Order, inOrder[q.Order].key(last), last.ID)
}

// cutCursor is the inverse of cursor.
func (q CampaignQuery) cutCursor() (key any, id string, ok bool) {
	if q.Order == ByCreation {
		at, id, ok := cutCursor(q.After)
		return at, id, ok
	}
	parts := strings.SplitN(q.After, ".", 3)
	if len(parts) != 3 || parts[0] != string(q.Order) || parts[2] == "" {
		return nil, "", false
	}
	if q.Order == ByName {
		name, err := base64.RawURLEncoding.DecodeString(parts[1])
		return string(name), parts[2], err == nil
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	return n, parts[2], err == nil
}
