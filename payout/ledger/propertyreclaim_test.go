package ledger_test

import (
	"pgregory.net/rapid"

	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// followReclaims gives back what each reclaim of a batch may have: what is its shard's, and nobody's.
func (m *model) followReclaims(rt *rapid.T, b *paytest.Books, batch []rain.Entry) {
	for _, e := range batch {
		id := e.Ref.Campaign
		if e.Reclaim == nil || m.reclaims[e.Ref] {
			continue
		}
		var packets int
		var amount rain.Money
		var sponsor string
		found, err := b.DB.First(rt.Context(), []any{&packets, (*int64)(&amount), &sponsor},
			"SELECT r.packets, r.amount, c.sponsor FROM reclaim r JOIN campaign c ON c.id = r.campaign_id "+
				"WHERE r.campaign_id = ? AND r.shard = ? AND r.closed_at = ?", id, e.Ref.Shard, seqOf(rt, e.Ref))
		paytest.Must(rt, err)
		last := e.Reclaim.Numbers[0].Last
		first, n := rain.ShardRange(10, 2, e.Ref.Shard) // nothing has moved, so a shard has its part of the split
		own := func(packet int) bool { return packet >= first && packet < first+n }
		good := paytest.Ring.CheckClosing(e.Reclaim.Seal, id, e.Ref.Shard, e.SealedAt) && m.closed[id] && last < 10 &&
			(own(e.Reclaim.Numbers[0].First) || own(last))
		dead := b.Count(rt, "SELECT COUNT(*) FROM dead_letter WHERE claim = ? AND kind <> 'pay'", e.Ref.String())
		if found == (dead > 0) || found && !good {
			rt.Fatalf("reclaim %+v: given back %v, dead letters %d, good %v", e, found, dead, good)
		}
		if !found {
			continue
		}
		m.reclaims[e.Ref] = true
		var wantPackets int
		var want rain.Money
		for packet := range e.Reclaim.Numbers.Each() {
			key := modelPacket{id, packet}
			_, won := m.packets[key]
			if !own(packet) || won || m.given[key] || b.Count(rt,
				"SELECT COUNT(*) FROM dead_letter WHERE kind = 'pay' AND campaign_id = ? "+
					"AND packet = ?", id, packet) > 0 {
				continue
			}
			m.given[key] = true
			wantPackets++
			want += m.amounts[id].Of(packet)
		}
		if packets != wantPackets || amount != want {
			rt.Fatalf("reclaim %+v gave %d packets and %d, want %d and %d", e, packets, amount, wantPackets, want)
		}
		m.move(booking.EscrowAccount(id), booking.SponsorAccount(sponsor), amount)
	}
}

func seqOf(rt *rapid.T, ref rain.EntryRef) int64 {
	ms, _, err := ref.Position()
	paytest.Must(rt, err)
	return ms
}
