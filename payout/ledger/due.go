package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// DueCampaign is a campaign that somebody has to end: it has expired and is not closed, or it is closed and not
// drained.
type DueCampaign struct {
	ID        string
	Status    rain.Status
	ExpiresAt int64
}

// dueOrder is the order in which Due looks: what has expired and goes on handing out money comes first.
var dueOrder = []rain.Status{rain.Open, rain.Paused, rain.Loading, rain.Closed}

// Due lists campaigns that are due at now, page by page, so that any number of them takes bounded memory. An empty
// cursor begins; next is empty on the last page. A campaign that is closed meanwhile may be listed again.
func (s *Campaigns) Due(ctx context.Context, now int64, after string,
	limit int) (list []DueCampaign, next string, err error) {
	status, at, id, err := cutDue(after)
	if err != nil {
		return nil, "", err
	}
	for ; status < len(dueOrder) && len(list) < limit; status, at, id = status+1, -1, "" {
		until := now
		if dueOrder[status] == rain.Closed {
			until = 1<<63 - 1 // whenever it would have expired
		}
		// In the order of the index campaign_due: nothing is sorted, and nothing is read that is not due.
		err := s.db.Each(ctx, func(scan sqldb.Scan) error {
			c := DueCampaign{Status: dueOrder[status]}
			err := scan(&c.ID, &c.ExpiresAt)
			list = append(list, c)
			next = strconv.Itoa(status) + "-" + joinCursor(c.ExpiresAt, c.ID)
			return err
		}, "SELECT id, expires_at FROM campaign WHERE drained = 0 AND status = ? AND expires_at <= ? "+
			"AND expires_at >= ? AND (expires_at > ? OR id > ?) "+
			"ORDER BY expires_at, id LIMIT ?", string(dueOrder[status]), until, at, at, id, limit-len(list))
		if err != nil {
			return nil, "", fmt.Errorf("campaigns that are due: %w", err)
		}
	}
	if len(list) < limit {
		next = ""
	}
	return list, next, nil
}

// cutDue reads a cursor of Due: the place in dueOrder, and in it the campaign that was given last.
func cutDue(cursor string) (status int, at int64, id string, err error) {
	if cursor == "" {
		return 0, -1, "", nil
	}
	head, rest, _ := strings.Cut(cursor, "-")
	status, err = strconv.Atoi(head)
	at, id, ok := cutCursor(rest)
	if err != nil || !ok || status < 0 || status >= len(dueOrder) {
		return 0, 0, "", ErrBadCursor
	}
	return status, at, id, nil
}
