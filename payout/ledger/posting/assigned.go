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

// Rebuilds reads and writes the ledger for the rebuild of a shard that Redis has lost. See epoch.go.
type Rebuilds struct {
	db      *sqldb.DB
	clock   rain.Clock
	amounts *rain.AmountsCache
}

// NewRebuilds makes Rebuilds for a migrated database. clock gives the times that are written to it.
func NewRebuilds(db *sqldb.DB, clock rain.Clock, amounts *rain.AmountsCache) *Rebuilds {
	return &Rebuilds{db: db, clock: clock, amounts: amounts}
}

// Assigned is a packet with an owner: it is paid, or its win is a dead letter that a retry can pay.
type Assigned struct {
	Win   rain.Win
	Entry rain.EntryRef // the outbox entry that brought it
}

// viewLimit bounds one view. It suffices to read millions of rows.
const viewLimit = 30 * time.Second

// assignedPage is the number of packets that EachAssigned reads in one step.
const assignedPage = 10_000

// EachAssigned calls yield for every assigned packet of the given ones, once each and in the order of their ranges.
// It stops at yield's first error. It reads page by page, so a slow reader holds no connection. If several players
// have a claim to one packet, the owner is the paid one, else the oldest dead letter. Dead letters that no retry can
// pay do not count, see payable.
//
// Once the shard is fenced, the result is complete for its earlier epochs.
func (r *Rebuilds) EachAssigned(ctx context.Context, c *rain.Campaign, of rain.Numbers,
	yield func(Assigned) error) error {
	for _, part := range of {
		for from := part.First; from <= part.Last; from += assignedPage {
			page, err := r.assignedBetween(ctx, c, from, min(from+assignedPage, part.Last+1))
			if err != nil {
				return fmt.Errorf("read the assigned packets of campaign %s: %w", c.ID, err)
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

// assignedBetween has an element for each packet from … to-1. Unassigned packets have an empty user. It reads the
// dead letters first, because a retry turns one into a payout.
func (r *Rebuilds) assignedBetween(ctx context.Context, c *rain.Campaign, from, to int) ([]Assigned, error) {
	page := make([]Assigned, to-from)
	waiting, err := payable(ctx, r.db, c, from, to)
	if err != nil {
		return nil, err
	}
	paid, err := sqldb.List(ctx, r.db, scanAssigned, selectAssigned+"AND packet >= ? AND packet < ?", c.ID, from, to)
	for _, t := range slices.Concat(waiting, paid) {
		page[t.Win.Packet-from] = t
	}
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

// Reclaimed returns the packets that a shard's reclaims named, posted or dead-lettered. Some of them may be assigned:
// a reclaim gets only packets that are not taken.
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
				return nil //nolint:nilerr // no retry can post it
			}
			return add(e.Reclaim.Numbers, nil)
		}, LetterTable.Select("WHERE campaign_id = ? AND shard = ? AND resolved_at = 0 AND kind = ?"), c.ID, shard,
			LetterReclaim)
	})
	return numbers, sqldb.Wrap(err, "read the reclaims of shard %d of campaign %s", shard, c.ID)
}

// EachWin calls yield for every win of a shard's players that is paid or that a retry can pay, in the order won. It
// stops at yield's first error. It names the same packets as EachAssigned, each once over all shards. Once the shard
// is fenced, the result is complete.
func (r *Rebuilds) EachWin(ctx context.Context, c *rain.Campaign, shard int, yield func(Assigned) error) error {
	// First: a retry turns a dead letter into a payout, possibly on a page that was read before.
	var waiting []Assigned
	err := r.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		waiting, err = payable(ctx, tx, c, 0, c.Packets)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the payable dead letters of campaign %s: %w", c.ID, err)
	}
	open := make(map[int]bool, len(waiting)) // packets of dead letters that are not paid meanwhile
	for _, t := range waiting {
		open[t.Win.Packet] = t.Entry.Shard == shard
	}
	for page := []Assigned{{Win: rain.Win{Packet: -1}, Entry: rain.EntryRef{ID: "0-0"}}}; len(page) > 0; {
		last := page[len(page)-1]
		ms, seq, _ := last.Entry.Position() // scanAssigned has written it
		page, err = sqldb.List(ctx, r.db, scanAssigned, selectAssigned+"AND shard = ? AND "+
			"(won_at, entry_seq, packet) > (?, ?, ?) ORDER BY won_at, entry_seq, packet LIMIT ?", c.ID, shard, ms, seq,
			last.Win.Packet, sqldb.Chunk)
		if err != nil {
			return fmt.Errorf("read the wins of shard %d of campaign %s: %w", shard, c.ID, err)
		}
		for i := range page {
			if err := yield(page[i]); err != nil {
				return err
			}
			delete(open, page[i].Win.Packet)
		}
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

// Total is the sum of a player's wins in a campaign.
type Total struct {
	User   string
	Amount rain.Money
}

// Top returns the shard's players with the highest totals, the highest first.
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
			limit*max(c.Shards, 1)*4) // enough rows to find each shard's first ones among them
	})
	return top, sqldb.Wrap(err, "read the top players of campaign %s", c.ID)
}

// Most dead letters of wins cannot be paid any more. If Redis had gone back in time, the packet is paid to another
// player. If a sealed line was written twice, the player has won with that drop already. Such a dead letter stays
// open, but its packet belongs to its other owner.

// payable returns a campaign's payable dead letters about packets from … to-1, one for each packet. Of several it
// returns the oldest, because a retry can pay only one of them.
func payable(ctx context.Context, q sqldb.Querier, c *rain.Campaign, from, to int) ([]Assigned, error) {
	var all []Assigned
	lines := rain.Entry{Ref: rain.EntryRef{Campaign: c.ID}}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		d, err := LetterTable.Scan(scan)
		if err != nil {
			return err
		}
		if t, ok := payableWin(c, d); ok {
			all = append(all, t)
			lines.Wins = append(lines.Wins, t.Win)
		}
		return nil
	}, LetterTable.Select("WHERE campaign_id = ? AND resolved_at = 0 AND packet >= ? AND packet < ? AND kind = ? "+
		"AND NOT EXISTS (SELECT 1 FROM payout p WHERE p.campaign_id = dead_letter.campaign_id "+
		"AND p.packet = dead_letter.packet) ORDER BY id"), c.ID, from, to, LetterPay)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	won, err := readPlayers(ctx, q, []rain.Entry{lines})
	if err != nil {
		return nil, err
	}
	taken := map[int]bool{}
	return slices.DeleteFunc(all, func(t Assigned) bool {
		if taken[t.Win.Packet] || won.hasWon(c, t.Win) {
			return true
		}
		taken[t.Win.Packet] = true
		return false
	}), nil
}

// hasWon reports whether a player has won with a drop before, or has all the wins allowed.
func (p *players) hasWon(c *rain.Campaign, w rain.Win) bool {
	return p.drops[dropKey{c.ID, w.User, w.Drop}] || p.wins[playerKey{c.ID, w.User}] >= int64(c.WinsPerUser)
}

// payableWin reads the win in a dead letter. ok is false if the dead letter alone shows that no retry can ever pay it.
func payableWin(c *rain.Campaign, d DeadLetter) (t Assigned, ok bool) {
	e, err := payout.DecodeEntry(d.Payload)
	if err != nil || len(e.Wins) != 1 || e.Wins[0].Packet != d.Packet || e.Ref.Campaign != c.ID {
		return t, false
	}
	w := e.Wins[0]
	_, _, err = e.Ref.Position()
	if err != nil || rain.CheckUser(w.User) != nil || c.Layout().Home(w.User) != e.Ref.Shard ||
		!c.Layout().MayHave(w.User, w.Packet) ||
		c.CheckTicket(w.User, w.Drop, e.SealedAt) != nil {
		return t, false
	}
	w.Amount = d.Amount
	return Assigned{Win: w, Entry: e.Ref}, true
}
