package posting

import (
	"cmp"
	"slices"

	"redrain/payout/ledger/chain"
)

// sumPapers hashes the source documents of the batch's transactions, the payouts and reclaims, in their database
// form. It sorts the wins by their keys in the database.
func (b *batch) sumPapers(now int64) {
	slices.SortFunc(b.wins, func(x, y postedWin) int {
		return cmp.Or(cmp.Compare(x.ref.Campaign, y.ref.Campaign), cmp.Compare(x.win.Packet, y.win.Packet))
	})
	papers := make(map[string]chain.Hash, len(b.txns))
	var c chain.Content
	for i := range b.wins { // the wins of a campaign have one transaction
		b.wins[i].addTo(&c, now)
		if i+1 == len(b.wins) || b.wins[i+1].key != b.wins[i].key {
			papers[b.wins[i].key] = c.Sum()
		}
	}
	for _, r := range b.reclaims {
		if r.amount > 0 { // else it has no transaction
			b.addReclaim(&c, r, now)
			papers[r.key] = c.Sum()
		}
	}
	for i := range b.txns {
		b.txns[i].Papers = papers[b.txns[i].Key]
	}
}

// addTo adds a payout's row without its transaction's id.
func (w *postedWin) addTo(c *chain.Content, now int64) {
	c.Text(w.ref.Campaign)
	c.Int(int64(w.win.Packet))
	c.Text(w.claim)
	c.Text(w.win.User)
	c.Int(int64(w.win.Amount))
	c.Text(stateSettled)
	c.Text(w.win.Drop)
	c.Int(int64(w.ref.Shard))
	c.Int(w.ms)
	c.Int(w.seq)
	c.Int(now)
}

// addReclaim adds a reclaim's row, without its transaction's id and its cut.
func (b *batch) addReclaim(c *chain.Content, r postedReclaim, now int64) {
	c.Add(r.ref.Campaign, r.ref.Shard, r.asked.String(), r.packets, r.amount, r.ms, r.seq, now)
	for _, cut := range b.cuts {
		if cut.Ref == r.ref {
			c.Add(cut.Asked, cut.Given, cut.numbers.String(), cut.Reason, now)
			return
		}
	}
	c.Add(nil, nil, nil, nil, nil)
}
