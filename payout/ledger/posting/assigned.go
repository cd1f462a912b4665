package posting

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/entrytext"
	"redrain/rain"
)

// Rebuilds is what the rebuild of a shard that Redis has lost needs of the ledger: see epochs.
type Rebuilds struct {
	db      *sqldb.DB
	clock   rain.Clock
	amounts *rain.AmountsCache
}

// NewRebuilds makes them of a migrated database. clock gives the times that are written to it.
func NewRebuilds(db *sqldb.DB, clock rain.Clock, amounts *rain.AmountsCache) *Rebuilds {
	return &Rebuilds{db: db, clock: clock, amounts: amounts}
}

// Assigned is a packet that is somebody's: it is paid, or was promised and waits as a dead letter.
type Assigned struct {
	Win   rain.Win
	Entry rain.EntryRef // the outbox entry that brought it
}

// viewLimit is how long one view may take, also one that looks through millions of rows.
const viewLimit = 30 * time.Second

// assignedPage is how many packets EachAssigned looks at in one step.
const assignedPage = 10_000

// EachAssigned calls yield for every packet of some that is somebody's, once each and in rising order of their ranges, and
// ends with its error. It reads page by page, so that a slow reader holds no connection. Where several were
// promised one packet, it is whose it is paid to, else whose promise came first. A dead letter that can never be
// paid takes nothing.
//
// It is the whole truth about a shard's earlier epochs once the shard is fenced: from then on nothing of them is added.
func (r *Rebuilds) EachAssigned(ctx context.Context, c *rain.Campaign, of rain.Numbers,
	yield func(Assigned) error) error {
	for _, part := range of {
		for from := part.First; from <= part.Last; from += assignedPage {
			page, err := r.assignedBetween(ctx, c, from, min(from+assignedPage, part.Last+1))
			if err != nil {
				return fmt.Errorf("the packets of campaign %s that are taken: %w", c.ID, err)
			}
			for i := range page {
				if page[i].Win.User == "" {
					continue
				}
				if err := yield(page[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// assignedBetween has an element for each packet from … to-1; those that are nobody's have no user. Payouts and dead
// letters are read as of one moment: a retry makes the one of the other.
func (r *Rebuilds) assignedBetween(ctx context.Context, c *rain.Campaign, from, to int) ([]Assigned, error) {
	page := make([]Assigned, to-from)
	err := r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Each(ctx, func(scan sqldb.Scan) error {
			var t Assigned
			var ms, seq int64
			if err := scan(&t.Win.Packet, &t.Win.User, &t.Win.Amount, &t.Win.Drop, &t.Entry.Shard, &ms,
				&seq); err != nil {
				return err
			}
			t.Entry.Campaign, t.Entry.ID = c.ID, fmt.Sprintf("%d-%d", ms, seq)
			page[t.Win.Packet-from] = t
			return nil
		}, "SELECT packet, user_id, amount, drop_id, shard, won_at, entry_seq FROM payout WHERE campaign_id = ? "+
			"AND packet >= ? AND packet < ?", c.ID, from, to)
		if err != nil {
			return err
		}
		return tx.Each(ctx, func(scan sqldb.Scan) error {
			d, err := ScanLetter(scan)
			if err != nil {
				return err
			}
			if t, ok := promised(c, d); ok && page[d.Packet-from].Win.User == "" {
				page[d.Packet-from] = t
			}
			return nil
		}, LetterSelect+"WHERE campaign_id = ? AND resolved_at = 0 AND packet >= ? AND packet < ? "+
			"AND kind = ? ORDER BY id", c.ID, from, to, LetterPay)
	})
	return page, err
}

// promised reads the promise in a dead letter; ok is false where it is one that no retry can ever pay.
func promised(c *rain.Campaign, d DeadLetter) (t Assigned, ok bool) {
	e, err := entrytext.Decode(d.Payload)
	if err != nil || len(e.Wins) != 1 || e.Wins[0].Packet != d.Packet || e.Ref.Campaign != c.ID {
		return t, false
	}
	w := e.Wins[0]
	_, _, err = e.Ref.Position()
	if err != nil || e.Ref.Shard < 0 || e.Ref.Shard >= max(c.Shards, 1) || rain.CheckUser(w.User) != nil ||
		c.CheckDrop(w.Drop, e.SealedAt) != nil {
		return t, false
	}
	w.Amount = d.Amount
	return Assigned{Win: w, Entry: e.Ref}, true
}

// Reclaimed tells whether what was left in a shard has gone back to the sponsor, or is a dead letter on its way there.
func (r *Rebuilds) Reclaimed(ctx context.Context, campaign string, shard int) (bool, error) {
	var n int
	_, err := r.db.First(ctx, []any{&n}, "SELECT (SELECT COUNT(*) FROM reclaim "+
		"WHERE campaign_id = ? AND shard IN (?, ?)) + "+
		"(SELECT COUNT(*) FROM dead_letter WHERE campaign_id = ? AND shard = ? AND resolved_at = 0 AND kind = ?)",
		campaign, shard, WholeCampaign, campaign, shard, LetterReclaim)
	if err != nil {
		return false, fmt.Errorf("what shard %d of campaign %s gave back: %w", shard, campaign, err)
	}
	return n > 0, nil
}
