package reconcile_test

import (
	"fmt"
	"slices"

	"redrain/payout/paytest"
	"redrain/rain"
)

// ofPlayers are the edits that leave the packets in their places, so that the sums do not show them.
var ofPlayers = []string{
	"a win forgotten", "a win made up, of later", "a win's packet", "a win's entry", "a win's player", "a win's drop",
	"a waiting win, for another player too", "two wins for each other", "an entry's player", "an entry's drop",
	"an entry's order", "an entry added, as the state says too",
}

// hotEdits change Redis's state. They do nothing if there is nothing to change.
var hotEdits = map[string]func(d *hotEdit){
	"a packet out of the stock": func(d *hotEdit) {
		if n := d.Stock.Count(); n > 0 {
			d.Stock = remove(d.Stock, nth(d.Stock, d.pick(n)))
		}
	},
	"a packet into the stock": func(d *hotEdit) {
		packet := d.pick(packetsOfWorld)
		d.Stock = append(d.Stock, rain.Range{First: packet, Last: packet})
	},
	"a packet from one stock to another": func(d *hotEdit) {
		other := d.other()
		if d.Stock.Count() == 0 || other == d.FakeShard {
			return
		}
		packet := nth(d.Stock, d.pick(d.Stock.Count()))
		d.Stock = remove(d.Stock, packet)
		other.Stock = append(other.Stock, rain.Range{First: packet, Last: packet})
	},
	"a stock for another one's": func(d *hotEdit) {
		if other := d.other(); d.Stock.String() != other.Stock.String() {
			d.Stock, other.Stock = other.Stock, d.Stock
		}
	},
	"what is lent, forgotten": func(d *hotEdit) {
		for i, l := range d.Snapshot.Lent {
			if d.b.Count(d.t, "SELECT COUNT(*) FROM move WHERE id = ? AND done_at > 0", l.Move) == 0 {
				d.Snapshot.Lent = slices.Delete(d.Snapshot.Lent, i, i+1)
				return
			}
		}
	},
	"what is lent, less of it": func(d *hotEdit) {
		if d.Snapshot.Lent = slices.Clone(d.Snapshot.Lent); len(d.Snapshot.Lent) > 0 {
			l := &d.Snapshot.Lent[d.pick(len(d.Snapshot.Lent))]
			l.Numbers = remove(l.Numbers, l.Numbers[0].First)
		}
	},
	"what was never lent": func(d *hotEdit) {
		d.Snapshot.Lent = append(d.Snapshot.Lent, rain.Lent{Move: "new", To: 0, Number: 1,
			Epoch: d.Snapshot.Epoch, Numbers: paytest.Packets(7, 7)})
	},
	"a win forgotten": func(d *hotEdit) {
		if len(d.Wins) > 0 {
			i := d.pick(len(d.Wins))
			d.Wins = slices.Delete(d.Wins, i, i+1)
		}
	},
	"a win forgotten, and all counts": func(d *hotEdit) {
		if len(d.Wins) > 0 {
			i := d.pick(len(d.Wins))
			d.Wins = slices.Delete(d.Wins, i, i+1)
			d.Snapshot.Won--
		}
	},
	"a win made up, and all counts": func(d *hotEdit) {
		packet := d.pick(packetsOfWorld)
		user := paytest.Home("thief", d.Snapshot.Shard, d.c.Shards)
		d.Wins = append(d.Wins, rain.WinRecord{Win: rain.Win{User: user, Packet: packet, Drop: "998.1"},
			Entry: d.Snapshot.LastEntry})
		d.Snapshot.Won++
	},
	"a win made up, of later": func(d *hotEdit) {
		user := paytest.Home("thief", d.Snapshot.Shard, d.c.Shards)
		d.Wins = append(d.Wins, rain.WinRecord{Win: rain.Win{User: user, Packet: d.pick(packetsOfWorld), Drop: "998.1"},
			Entry: "9999999999999-0"})
	},
	"a win's packet": func(d *hotEdit) {
		d.change(func(w *rain.WinRecord) { w.Packet = (w.Packet + 1) % packetsOfWorld })
	},
	"a win's entry": func(d *hotEdit) { d.change(func(w *rain.WinRecord) { w.Entry = "1-0" }) },
	"a win's player": func(d *hotEdit) {
		d.change(func(w *rain.WinRecord) { w.User += "?" })
	},
	"a win's drop": func(d *hotEdit) { d.change(func(w *rain.WinRecord) { w.Drop = "997.1" }) },
	"a waiting win, for another player too": func(d *hotEdit) {
		d.wins(func(e *rain.Entry) {
			w := e.Wins[0]
			w.User, w.Drop = paytest.Home("thief", d.Snapshot.Shard, d.c.Shards), "998.1"
			d.Wins = append(d.Wins, rain.WinRecord{Win: w, Entry: e.Ref.ID})
		})
	},
	"two wins for each other": func(d *hotEdit) {
		if last := len(d.Wins) - 1; last > 0 {
			d.Wins[0].Packet, d.Wins[last].Packet = d.Wins[last].Packet, d.Wins[0].Packet
		}
	},
	"an entry removed": func(d *hotEdit) {
		if e := d.entry(); e != nil {
			gone := e.Ref
			d.Entries = slices.DeleteFunc(d.Entries, func(one rain.Entry) bool { return one.Ref == gone })
		}
	},
	"an entry's packet": func(d *hotEdit) {
		d.wins(func(e *rain.Entry) { e.Wins[0].Packet = (e.Wins[0].Packet + 1) % packetsOfWorld })
	},
	"an entry's player": func(d *hotEdit) {
		d.wins(func(e *rain.Entry) { e.Wins[0].User = "thief" })
	},
	"an entry's drop": func(d *hotEdit) {
		d.wins(func(e *rain.Entry) { e.Wins[0].Drop = "997.1" })
	},
	"an entry's order": func(d *hotEdit) {
		if e := d.entry(); e != nil && len(e.Wins) > 1 {
			e.Wins[0].Packet, e.Wins[1].Packet = e.Wins[1].Packet, e.Wins[0].Packet
		}
	},
	"a reclaim's packets": func(d *hotEdit) {
		if e := d.entry(); e != nil && e.Reclaim != nil {
			r := *e.Reclaim
			r.Numbers = remove(r.Numbers, r.Numbers[0].First)
			e.Reclaim = &r
		}
	},
	"an entry added": func(d *hotEdit) {
		d.again(func(s *rain.ShardSnapshot, id string) { s.NewestEntry = id })
	},
	"an entry added, as the state says too": func(d *hotEdit) {
		d.again(func(s *rain.ShardSnapshot, id string) { s.LastEntry = id })
	},
	"an entry made up, as the state says too": func(d *hotEdit) {
		id := fmt.Sprintf("%d-0", d.b.Clock.Now())
		d.Snapshot.LastEntry = id
		d.Entries = append(d.Entries, rain.Entry{
			Ref:  rain.EntryRef{Campaign: d.c.ID, Shard: d.Snapshot.Shard, ID: id},
			Wins: []rain.Win{{User: "thief", Packet: d.pick(packetsOfWorld), Drop: "997.1"}}})
	},
	"a setting": func(d *hotEdit) {
		d.Snapshot.Altered = []string{"the state's status"}
	},
	"a revision to come": func(d *hotEdit) { d.Snapshot.Revision = d.c.Revision + 10 },
	"a shard that closed": func(d *hotEdit) {
		d.Snapshot.Closed = d.Snapshot.Closed || !d.world.closed
	},
	"the state's won":   func(d *hotEdit) { d.Snapshot.Won++ },
	"the state's left":  func(d *hotEdit) { d.Snapshot.Left++ },
	"the state's epoch": func(d *hotEdit) { d.Snapshot.Epoch++ },
	"the state's last entry": func(d *hotEdit) {
		d.Snapshot.NewestEntry = d.Snapshot.LastEntry
		d.Snapshot.LastEntry = fmt.Sprintf("%d-0", d.b.Clock.Now())
	},
	"an outbox begun anew": func(d *hotEdit) { d.Snapshot.NewestEntry = "0-1" },
}
