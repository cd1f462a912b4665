package posting

import (
	"context"
	"errors"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// terms is what a campaign allows.
type terms struct {
	*rain.Campaign
	amounts *rain.Amounts
	stale   error // somebody has changed its row by hand: this is what was known before, and may be old
	letters bool  // there are dead letters of the campaign, resolved or not
	dropped bool  // its payouts have left the books: what was paid is not known here any more
}

// CampaignReader reads a campaign in a transaction; ErrUnknownCampaign where there is none.
type CampaignReader interface {
	Read(ctx context.Context, q sqldb.Querier, id string) (*rain.Campaign, error)
}

// termsKept is how many campaigns are remembered.
const termsKept = 256

// termsReader reads what campaigns allow. A campaign is read as a whole when it has changed, and remembered. A row that
// somebody has changed by hand says nothing: what was known before stays right for wins, whose players were told
// amounts by it.
type termsReader struct {
	campaigns CampaignReader
	amounts   *rain.AmountsCache
	kept      *lru.Cache[string, *rain.Campaign]
}

func newTermsReader(campaigns CampaignReader, amounts *rain.AmountsCache) *termsReader {
	kept, err := lru.New[string, *rain.Campaign](termsKept)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &termsReader{campaigns: campaigns, amounts: amounts, kept: kept}
}

// read reads what campaigns allow. One that does not exist, or cannot be split, is missing in the answer, and so is one
// that is tampered: somebody has changed it by hand, and it was not known before.
func (t *termsReader) read(ctx context.Context, tx *sqldb.Tx, campaigns []string) (all map[string]terms,
	tampered map[string]error, err error) {
	type row struct {
		revision         int64
		letters, dropped bool
	}
	rows := make(map[string]row, len(campaigns))
	err = sqldb.EachIn(ctx, tx, func(scan sqldb.Scan) error {
		var id string
		var r row
		err := scan(&id, &r.revision, &r.letters, &r.dropped)
		rows[id] = r
		return err
	}, "SELECT id, revision, EXISTS (SELECT 1 FROM dead_letter d WHERE d.campaign_id = campaign.id), "+
		"EXISTS (SELECT 1 FROM archive a WHERE a.id = campaign.id) FROM campaign WHERE id IN", campaigns)
	if err != nil {
		return nil, nil, fmt.Errorf("reading campaigns: %w", err)
	}
	all, tampered = make(map[string]terms, len(campaigns)), map[string]error{}
	for _, id := range slices.Sorted(slices.Values(campaigns)) { // their rows may be locked
		r, exists := rows[id]
		if !exists && !t.kept.Contains(id) {
			continue
		}
		c, stale, err := t.of(ctx, tx, id, exists, r.revision)
		if errors.Is(err, history.ErrTampered) {
			tampered[id] = err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		amounts, err := t.amounts.Of(c)
		if faults := (rain.Invalid)(nil); errors.As(err, &faults) {
			continue // what cannot be split was never stocked
		}
		if err != nil {
			return nil, nil, err
		}
		all[id] = terms{Campaign: c, amounts: amounts, stale: stale, letters: r.letters || !exists,
			dropped: r.dropped && c.Drained}
	}
	return all, tampered, nil
}

// of is a campaign at its present revision. One that somebody has changed by hand is what was known of it before, and
// stale; where that is nothing, of fails with history.ErrTampered.
func (t *termsReader) of(ctx context.Context, tx *sqldb.Tx, id string, exists bool, revision int64) (c *rain.Campaign,
	stale, err error) {
	known, ok := t.kept.Get(id)
	switch {
	case ok && !exists: // no campaign is ever removed
		return known, fmt.Errorf("%s %s is gone: %w", history.Campaign, id, history.ErrTampered), nil
	case ok && known.Revision == revision:
		return known, nil, nil
	}
	err = LockCampaign(ctx, tx, id) // so that what is read is what was checked
	if ok && errors.Is(err, history.ErrTampered) {
		return known, err, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if c, err = t.campaigns.Read(ctx, tx, id); err != nil {
		return nil, nil, err
	}
	t.kept.Add(id, c)
	return c, nil, nil
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
