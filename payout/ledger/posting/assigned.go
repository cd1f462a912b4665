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

// EachAssigned calls yield for every packet of some that is somebody's, once each and in rising order of their ranges,
// and ends with its error. It reads page by page, so that a slow reader holds no connection. Where several were
// promised one packet, it is whose it is paid to, else whose promise came first. A dead letter that can never be paid
// takes nothing.
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
			d, err := ScanLetter(scan)
			if err != nil {
				return err
			}
			e, err := entrytext.Decode(d.Payload)
			if err != nil || e.Reclaim == nil {
				return nil //nolint:nilerr // which no retry can ever give back
			}
			return add(e.Reclaim.Numbers, nil)
		}, LetterSelect+"WHERE campaign_id = ? AND shard = ? AND resolved_at = 0 AND kind = ?", c.ID, shard,
			LetterReclaim)
	})
	if err != nil {
		return nil, fmt.Errorf("what shard %d of campaign %s gave back: %w", shard, c.ID, err)
	}
	return numbers, nil
}

// EachWin calls yield for every win of a shard's players that is paid, or was promised and waits as a dead letter, in
// the order won, and ends with its error. As EachAssigned it is the whole truth once the shard is fenced.
func (r *Rebuilds) EachWin(ctx context.Context, c *rain.Campaign, shard int, yield func(Assigned) error) error {
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
		}
		after = page[len(page)-1]
	}
	var letters []Assigned
	err := r.db.Each(ctx, func(scan sqldb.Scan) error {
		d, err := ScanLetter(scan)
		if err != nil {
			return err
		}
		if t, ok := promised(c, d); ok && t.Entry.Shard == shard {
			letters = append(letters, t)
		}
		return nil
	}, LetterSelect+"WHERE campaign_id = ? AND resolved_at = 0 AND kind = ? AND NOT "+PaidLetter+"ORDER BY id", c.ID,
		LetterPay)
	if err != nil {
		return fmt.Errorf("the promises of campaign %s: %w", c.ID, err)
	}
	for _, t := range letters {
		if err := yield(t); err != nil {
			return err
		}
	}
	return nil
}

// winsAfter is the next page of what is paid to a shard's players.
func (r *Rebuilds) winsAfter(ctx context.Context, c *rain.Campaign, shard int, after Assigned) (page []Assigned,
	err error) {
	ms, seq, err := after.Entry.Position()
	if err != nil {
		return nil, err
	}
	err = r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Each(ctx, func(scan sqldb.Scan) error {
			t := Assigned{Entry: rain.EntryRef{Campaign: c.ID, Shard: shard}}
			if err := scan(&t.Win.Packet, &t.Win.User, &t.Win.Amount, &t.Win.Drop, &ms, &seq); err != nil {
				return err
			}
			t.Entry.ID = fmt.Sprintf("%d-%d", ms, seq)
			page = append(page, t)
			return nil
		}, "SELECT packet, user_id, amount, drop_id, won_at, entry_seq FROM payout WHERE campaign_id = ? AND "+
			"shard = ? AND (won_at, entry_seq, packet) > (?, ?, ?) ORDER BY won_at, entry_seq, packet LIMIT ?",
			c.ID, shard, ms, seq, after.Win.Packet, sqldb.Chunk)
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
			if rain.HomeShard(t.User, c.Shards) == shard && len(top) < limit {
				top = append(top, t)
			}
			return nil
		}, "SELECT user_id, amount FROM winner WHERE campaign_id = ? ORDER BY amount DESC LIMIT ?", c.ID,
			limit*max(c.Shards, 1)*4) // of so many, those of each shard are among the first
	})
	if err != nil {
		return nil, fmt.Errorf("who has won most in campaign %s: %w", c.ID, err)
	}
	return top, nil
}
