package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout"
	"redrain/rain"
)

// Most dead letters of wins cannot be paid any more. If Redis had gone back in time, the packet is paid to another
// player. If a sealed line was written twice, the player has won with that drop already. Such a dead letter stays
// open, but its packet belongs to its other owner.

// payable returns a campaign's payable dead letters about packets from … to-1, one for each packet. Of several it
// returns the oldest, because a retry can pay only one of them.
func payable(ctx context.Context, tx *sqldb.Tx, c *rain.Campaign, from, to int) ([]Assigned, error) {
	var all []Assigned
	lines := rain.Entry{Ref: rain.EntryRef{Campaign: c.ID}}
	err := tx.Each(ctx, func(scan sqldb.Scan) error {
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
	won, err := readPlayers(ctx, tx, []rain.Entry{lines})
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
