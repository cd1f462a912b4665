package posting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout"
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

// EachAssigned calls yield for every packet of some that is somebody's, once each and in rising order of their ranges,
// and ends with its error. It reads page by page, so that a slow reader holds no connection. Where several were
// promised one packet, it is whose it is paid to, else whose promise came first. A dead letter that can never be paid
// takes nothing, see promises.
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
		paid, err := sqldb.List(ctx, tx, scanAssigned, selectAssigned+"AND packet >= ? AND packet < ?", c.ID, from, to)
		if err != nil {
			return err
		}
		waiting, err := promises(ctx, tx, c, from, to)
		for _, t := range slices.Concat(paid, waiting) {
			page[t.Win.Packet-from] = t
		}
		return err
	})
	return page, err
}

const selectAssigned = "SELECT campaign_id, packet, user_id, amount, drop_id, shard, won_at, entry_seq FROM payout " +
	"WHERE campaign_id = ? "

func scanAssigned(scan sqldb.Scan) (t Assigned, err error) {
	var ms, seq int64
	err = scan(&t.Entry.Campaign, &t.Win.Packet, &t.Win.User, &t.Win.Amount, &t.Win.Drop, &t.Entry.Shard, &ms, &seq)
	t.Entry.ID = fmt.Sprintf("%d-%d", ms, seq)
	return t, err
}

// Reclaimed is what went back to the sponsor from a shard, or is a dead letter on its way there. Some of it may be
// somebody's all the same: a reclaim gets what is nobody's.
func (r *Rebuilds) Reclaimed(ctx context.Context, c *rain.Campaign, shard int) (numbers rain.Numbers, err error) {
	add := func(part rain.Numbers, err error) error {
		numbers = append(numbers, part...)
		return err
	}
	err = r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Each(ctx, func(scan sqldb.Scan) error {
			var text string
			if err := scan(&text); err != nil {
				return err
			}
			return add(rain.ParseNumbers(text, rain.MaxPackets))
		}, "SELECT numbers FROM reclaim WHERE campaign_id = ? AND shard IN (?, ?)", c.ID, shard, WholeCampaign)
		if err != nil {
			return err
		}
		return tx.Each(ctx, func(scan sqldb.Scan) error {
			d, err := LetterTable.Scan(scan)
			if err != nil {
				return err
			}
			e, err := payout.DecodeEntry(d.Payload)
			if err != nil || e.Reclaim == nil {
				return nil //nolint:nilerr // which no retry can ever give back
			}
			return add(e.Reclaim.Numbers, nil)
		}, LetterTable.Select("WHERE campaign_id = ? AND shard = ? AND resolved_at = 0 AND kind = ?"), c.ID, shard,
			LetterReclaim)
	})
	return numbers, sqldb.Wrap(err, "what shard %d of campaign %s gave back", shard, c.ID)
}

// EachWin calls yield for every win of a shard's players that is paid, or was promised and may still be paid, in the
// order won, and ends with its error. It names no packet twice, also over all shards: they are the packets that
// EachAssigned names. As that it is the whole truth once the shard is fenced.
func (r *Rebuilds) EachWin(ctx context.Context, c *rain.Campaign, shard int, yield func(Assigned) error) error {
	// First: a retry turns a promise into a payout, which may stand where the pages have passed by then.
	waiting, err := r.promisesTo(ctx, c, shard)
	if err != nil {
		return err
	}
	open := make(map[int]bool, len(waiting)) // packets of promises that have not come as paid
	for _, t := range waiting {
		open[t.Win.Packet] = true
	}
	after := Assigned{Win: rain.Win{Packet: -1}, Entry: rain.EntryRef{ID: "0-0"}}
	for {
		page, err := r.winsAfter(ctx, c, shard, after)
		if err != nil {
			return fmt.Errorf("the wins of shard %d of campaign %s: %w", shard, c.ID, err)
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			if err := yield(page[i]); err != nil {
				return err
			}
			delete(open, page[i].Win.Packet)
		}
		after = page[len(page)-1]
	}
	for _, t := range waiting {
		if !open[t.Win.Packet] {
			continue
		}
		if err := yield(t); err != nil {
			return err
		}
	}
	return nil
}

// promisesTo are the promises to a shard's players.
func (r *Rebuilds) promisesTo(ctx context.Context, c *rain.Campaign, shard int) (of []Assigned, err error) {
	err = r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		of, err = promises(ctx, tx, c, 0, c.Packets)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the promises of campaign %s: %w", c.ID, err)
	}
	return slices.DeleteFunc(of, func(t Assigned) bool { return t.Entry.Shard != shard }), nil
}

// winsAfter is the next page of what is paid to a shard's players.
func (r *Rebuilds) winsAfter(ctx context.Context, c *rain.Campaign, shard int, after Assigned) (page []Assigned,
	err error) {
	ms, seq, err := after.Entry.Position()
	if err != nil {
		return nil, err
	}
	err = r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		page, err = sqldb.List(ctx, tx, scanAssigned, selectAssigned+"AND shard = ? AND "+
			"(won_at, entry_seq, packet) > (?, ?, ?) ORDER BY won_at, entry_seq, packet LIMIT ?",
			c.ID, shard, ms, seq, after.Win.Packet, sqldb.Chunk)
		return err
	})
	return page, err
}

// Total is all that a player has won of a campaign.
type Total struct {
	User   string
	Amount rain.Money
}

// Top are those of a shard's players who have won most, the first the one with most.
func (r *Rebuilds) Top(ctx context.Context, c *rain.Campaign, shard, limit int) ([]Total, error) {
	var top []Total
	err := r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Each(ctx, func(scan sqldb.Scan) error {
			var t Total
			if err := scan(&t.User, &t.Amount); err != nil {
				return err
			}
			if c.Layout().Home(t.User) == shard && len(top) < limit {
				top = append(top, t)
			}
			return nil
		}, "SELECT user_id, amount FROM winner WHERE campaign_id = ? ORDER BY amount DESC LIMIT ?", c.ID,
			limit*max(c.Shards, 1)*4) // of so many, those of each shard are among the first
	})
	return top, sqldb.Wrap(err, "who has won most in campaign %s", c.ID)
}
