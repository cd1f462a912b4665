package posting

import (
	"cmp"
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/standing"
)

// A win of a player with the verdict hold or deny ends in the held account. The database transaction that pays it has
// a second ledger transaction, which takes the money from the player again. So every win is a payout with the same
// proofs, and the money never shows in the player's account.

// verdictOf returns the newest verdict about a player.
type verdictOf func(user string) (v standing.Verdict, found bool)

// heldWin is a win of the batch that is held.
type heldWin struct {
	*postedWin

	because standing.Verdict
	key     string // of the transaction that holds it
}

// HoldWins makes Post hold wins of players with a verdict. Call it before the first Post.
func (p *Poster) HoldWins() { p.verdicts = standing.NewVerdicts() }

// verdictsNow reads the verdicts. It returns nil if HoldWins was not called.
func (p *Poster) verdictsNow(ctx context.Context) (verdictOf, error) {
	if p.verdicts == nil {
		return nil, nil
	}
	_, err := p.verdicts.Refresh(ctx, p.db)
	return p.verdicts.Of, err
}

// hold adds the transactions that hold wins. The wins are in the order of their keys.
func (b *batch) hold(now int64) {
	if b.verdictOf == nil {
		return
	}
	for i := range b.wins {
		w := &b.wins[i]
		if v, found := b.verdictOf(w.win.User); found && v.Held() {
			b.held = append(b.held, heldWin{postedWin: w, because: v, key: "hold:" + w.key})
		}
	}
	slices.SortFunc(b.held, func(x, y heldWin) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.claim, y.claim))
	})
	for first := 0; first < len(b.held); {
		end := first
		for end < len(b.held) && b.held[end].key == b.held[first].key {
			end++
		}
		b.txns = append(b.txns, holding(b.held[first:end], now))
		first = end
	}
	kept := make(map[string]bool, len(b.held))
	for _, h := range b.held {
		kept[h.claim] = true
	}
	b.dropHeld(kept)
}

// holding makes the transaction that holds some wins of one payment.
func holding(wins []heldWin, now int64) booking.Txn {
	t := booking.Txn{Kind: booking.KindHold, Key: wins[0].key}
	lines := map[string]int{} // player → the line that takes from them; the next one adds to their held account
	var c chain.Content
	for _, h := range wins {
		c.Add(h.claim, h.ref.Campaign, h.win.Packet, h.win.User, h.win.Amount, h.ms, h.win.Drop, h.because.Act,
			h.because.Score, h.because.Reasons, now)
		n, known := lines[h.win.User]
		if !known {
			n = len(t.Lines)
			lines[h.win.User] = n
			t.Lines = append(t.Lines, booking.Line{Account: booking.UserAccount(h.win.User)},
				booking.Line{Account: booking.HeldAccount(h.win.User)})
		}
		t.Lines[n].Amount -= h.win.Amount
		t.Lines[n+1].Amount += h.win.Amount
	}
	t.Papers = c.Sum()
	return t
}

// writeHeld writes the rows of the held wins, after their transactions have ids.
func (b *batch) writeHeld(ctx context.Context, tx *sqldb.Tx, ids map[string]int64, now int64) error {
	if len(b.held) == 0 {
		return nil
	}
	slices.SortFunc(b.held, func(x, y heldWin) int { return cmp.Compare(x.claim, y.claim) })
	rows := make([][]any, len(b.held))
	for i, h := range b.held {
		rows[i] = []any{h.claim, h.ref.Campaign, h.win.Packet, h.win.User, int64(h.win.Amount), h.ms, h.win.Drop,
			string(h.because.Act), h.because.Score, h.because.Reasons, now, ids[h.key]}
	}
	return tx.Insert(ctx, "held", []string{"claim", "campaign_id", "packet", "user_id", "amount", "won_at", "drop_id",
		"verdict", "score", "reasons", "held_at", "hold_id"}, rows, sqldb.Merge{})
}

// leaveOutHeld removes held wins of earlier copies from the settled ones.
func (b *batch) leaveOutHeld(ctx context.Context, q sqldb.Querier) error {
	var before []string
	for i := range b.settled {
		if !b.settled[i].New {
			before = append(before, b.settled[i].Claim)
		}
	}
	held, err := sqldb.PairsIn[string, bool](ctx, q, "SELECT claim, 1 FROM held WHERE state <> 'released' AND claim IN",
		before)
	b.dropHeld(held)
	return err
}

// dropHeld removes held claims from the settled ones.
func (b *batch) dropHeld(held map[string]bool) {
	if len(held) > 0 {
		b.settled = slices.DeleteFunc(b.settled, func(s Settlement) bool { return held[s.Claim] })
	}
}
