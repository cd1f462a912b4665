package posting

import (
	"context"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// terms are a campaign's rules for posting.
type terms struct {
	*rain.Campaign
	amounts *rain.Amounts
	letters bool // the campaign has dead letters, open or resolved
	removed bool // its payouts were removed after an export
}

// CampaignReader reads a campaign, or fails with ErrUnknownCampaign. ledger.campaignRows implements it.
type CampaignReader interface {
	Read(ctx context.Context, q sqldb.Querier, id string) (*rain.Campaign, error)
}

// termsKept is the number of cached campaigns.
const termsKept = 256

// termsReader reads and caches campaigns. It reads a campaign again when its revision has changed.
type termsReader struct {
	campaigns CampaignReader
	amounts   *rain.AmountsCache
	kept      *lru.Cache[string, *rain.Campaign]
}

func newTermsReader(campaigns CampaignReader, amounts *rain.AmountsCache) *termsReader {
	kept, err := lru.New[string, *rain.Campaign](termsKept)
	if err != nil {
		panic(err) // only if the size is below 1
	}
	return &termsReader{campaigns: campaigns, amounts: amounts, kept: kept}
}

// read returns the terms of campaigns. An unknown campaign is in neither result. An invalid campaign is in
// unreadable.
func (t *termsReader) read(ctx context.Context, tx *sqldb.Tx, campaigns []string) (all map[string]terms,
	unreadable map[string]bool, err error) {
	type row struct {
		revision         int64
		letters, removed bool
	}
	rows := make(map[string]row, len(campaigns))
	err = sqldb.EachIn(ctx, tx, func(scan sqldb.Scan) error {
		var id string
		var r row
		err := scan(&id, &r.revision, &r.letters, &r.removed)
		rows[id] = r
		return err
	}, "SELECT id, revision, EXISTS (SELECT 1 FROM dead_letter d WHERE d.campaign_id = campaign.id), "+
		"EXISTS (SELECT 1 FROM archive a WHERE a.campaign_id = campaign.id) FROM campaign WHERE id IN", campaigns)
	if err != nil {
		return nil, nil, fmt.Errorf("read campaigns: %w", err)
	}
	all, unreadable = make(map[string]terms, len(campaigns)), map[string]bool{}
	for id, r := range rows {
		var amounts *rain.Amounts
		c, err := t.of(ctx, tx, id, r.revision)
		if err == nil {
			amounts, err = t.amounts.Of(c)
		}
		switch _, invalid := errors.AsType[rain.Invalid](err); {
		case invalid, errors.Is(err, ErrUnreadableCampaign):
			unreadable[id] = true // its entries become dead letters
		case err != nil:
			return nil, nil, err
		default:
			all[id] = terms{Campaign: c, amounts: amounts, letters: r.letters, removed: r.removed && c.Drained}
		}
	}
	return all, unreadable, nil
}

// of returns a campaign at the given revision.
func (t *termsReader) of(ctx context.Context, tx *sqldb.Tx, id string, revision int64) (*rain.Campaign, error) {
	if known, ok := t.kept.Get(id); ok && known.Revision == revision {
		return known, nil
	}
	c, err := t.campaigns.Read(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	t.kept.Add(id, c)
	return c, nil
}

type packetKey struct {
	campaign string
	packet   int
}

type shardKey struct {
	campaign string
	shard    int
}

// entryAt is an entry's position in its outbox, and the key of its transaction.
type entryAt struct {
	ref     rain.EntryRef
	ms, seq int64
	key     string
}
