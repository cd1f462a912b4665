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
	"the drop before", "a player's count", "a player's newest", "a player forgotten", "two wins for each other",
	"an entry's player", "an entry's drop", "an entry's order", "a move that has come, with another number",
	"a move that has come, forgotten", "a move that has come, made up", "an entry added, as the state says too",
}

// hotEdits are edits of Redis. They return false if there is nothing to edit.
var hotEdits = map[string]func(d *hotEdit) bool{
	"a packet out of the stock": func(d *hotEdit) bool {
		if d.Stock.Count() == 0 {
			return false
		}
		d.Stock = remove(d.Stock, nth(d.Stock, d.pick(d.Stock.Count())))
		return true
	},
	"a packet into the stock": func(d *hotEdit) bool {
		packet := d.pick(packetsOfWorld)
		d.Stock = append(d.Stock, rain.Range{First: packet, Last: packet})
		return true
	},
	"a packet from one stock to another": func(d *hotEdit) bool {
		other := d.frozen.Shards[paytest.FakeKey{Campaign: d.c.ID, Shard: (d.FakeShard.Snapshot.Shard +
			1) % d.c.Shards}]
		if d.Stock.Count() == 0 || other == d.FakeShard {
			return false
		}
		packet := nth(d.Stock, d.pick(d.Stock.Count()))
		d.Stock = remove(d.Stock, packet)
		other.Stock = append(other.Stock, rain.Range{First: packet, Last: packet})
		return true
	},
	"a stock for another one's": func(d *hotEdit) bool {
		other := d.frozen.Shards[paytest.FakeKey{Campaign: d.c.ID, Shard: (d.FakeShard.Snapshot.Shard +
			1) % d.c.Shards}]
		if d.Stock.String() == other.Stock.String() {
			return false
		}
		d.Stock, other.Stock = other.Stock, d.Stock
		return true
	},
	"what is lent, forgotten": func(d *hotEdit) bool {
		for i, l := range d.FakeShard.Snapshot.Lent {
			if d.b.Count(d.t, "SELECT COUNT(*) FROM move WHERE id = ? AND done_at > 0", l.Move) == 0 {
				d.FakeShard.Snapshot.Lent = slices.Delete(d.FakeShard.Snapshot.Lent, i, i+1)
				return true
			}
		}
		return false
	},
	"what is lent, less of it": func(d *hotEdit) bool {
		return d.lent(func(l *rain.Lent) { l.Numbers = remove(l.Numbers, l.Numbers[0].First) })
	},
	"what is lent, with another number": func(d *hotEdit) bool { return d.lent(func(l *rain.Lent) { l.Number++ }) },
	"what was never lent": func(d *hotEdit) bool {
		d.FakeShard.Snapshot.Lent = append(d.FakeShard.Snapshot.Lent, rain.Lent{Move: "new", To: 0, Number: 1,
			Epoch: d.FakeShard.Snapshot.Epoch, Numbers: paytest.Packets(7, 7)})
		return true
	},
	"a move that has come, forgotten": func(d *hotEdit) bool {
		for id := range d.Borrowed {
			delete(d.Borrowed, id)
			return true
		}
		return false
	},
	"a move that has come, made up": func(d *hotEdit) bool {
		if d.Borrowed == nil {
			d.Borrowed = map[string]int64{}
		}
		d.Borrowed["made up"] = d.FakeShard.Snapshot.Moves
		return true
	},
	"a move that has come, with another number": func(d *hotEdit) bool {
		for id, number := range d.Borrowed {
			if number > 0 {
				d.Borrowed[id] = number + 1
				return true
			}
		}
		return false
	},
	"a win forgotten": func(d *hotEdit) bool {
		if d.win() == nil {
			return false
		}
		i := d.pick(len(d.Wins))
		d.Wins = slices.Delete(d.Wins, i, i+1)
		return true
	},
	"a win forgotten, and all counts": func(d *hotEdit) bool {
		w := d.win()
		if w == nil || d.Players[w.User].Newest != w.Drop {
			return false
		}
		is := *w
		d.Wins = slices.DeleteFunc(d.Wins, func(w rain.WinRecord) bool { return w == is })
		d.FakeShard.Snapshot.Won--
		if is.Before == "" {
			delete(d.Players, is.User)
		} else {
			d.Players[is.User] = rain.PlayerRecord{User: is.User, Wins: d.Players[is.User].Wins - 1, Newest: is.Before}
		}
		return true
	},
	"a win made up, and all counts": func(d *hotEdit) bool {
		packet := d.pick(packetsOfWorld)
		user := paytest.Home("thief", d.FakeShard.Snapshot.Shard, d.c.Shards)
		d.Wins = append(d.Wins, rain.WinRecord{Win: rain.Win{User: user, Packet: packet, Drop: "998.1"},
			Entry: d.FakeShard.Snapshot.LastEntry})
		d.Players[user] = rain.PlayerRecord{User: user, Wins: 1, Newest: "998.1"}
		d.FakeShard.Snapshot.Won++
		return true
	},
	"a win made up, of later": func(d *hotEdit) bool {
		user := paytest.Home("thief", d.FakeShard.Snapshot.Shard, d.c.Shards)
		d.Wins = append(d.Wins, rain.WinRecord{Win: rain.Win{User: user, Packet: d.pick(packetsOfWorld), Drop: "998.1"},
			Entry: "9999999999999-0"})
		d.Players[user] = rain.PlayerRecord{User: user, Wins: 1, Newest: "998.1"}
		return true
	},
	"a win's packet": func(d *hotEdit) bool {
		return d.change(func(w *rain.WinRecord) { w.Packet = (w.Packet + 1) % packetsOfWorld })
	},
	"a win's entry": func(d *hotEdit) bool { return d.change(func(w *rain.WinRecord) { w.Entry = "1-0" }) },
	"a win's player": func(d *hotEdit) bool {
		return d.change(func(w *rain.WinRecord) { w.User += "?" })
	},
	"a win's drop":      func(d *hotEdit) bool { return d.change(func(w *rain.WinRecord) { w.Drop = "997.1" }) },
	"the drop before":   func(d *hotEdit) bool { return d.change(func(w *rain.WinRecord) { w.Before = "997.1" }) },
	"a player's count":  func(d *hotEdit) bool { return d.player(func(p *rain.PlayerRecord) { p.Wins-- }) },
	"a player's newest": func(d *hotEdit) bool { return d.player(func(p *rain.PlayerRecord) { p.Newest = "997.1" }) },
	"a player forgotten": func(d *hotEdit) bool {
		w := d.win()
		if w == nil {
			return false
		}
		delete(d.Players, w.User)
		return true
	},
	"two wins for each other": func(d *hotEdit) bool {
		if len(d.Wins) < 2 {
			return false
		}
		a, b := &d.Wins[0], &d.Wins[len(d.Wins)-1]
		a.Packet, b.Packet = b.Packet, a.Packet
		return true
	},
	"an entry removed": func(d *hotEdit) bool {
		e := d.entry()
		if e == nil {
			return false
		}
		gone := e.Ref
		d.Entries = slices.DeleteFunc(d.Entries, func(one rain.Entry) bool { return one.Ref == gone })
		return true
	},
	"an entry's packet": func(d *hotEdit) bool {
		return d.wins(func(e *rain.Entry) { e.Wins[0].Packet = (e.Wins[0].Packet + 1) % packetsOfWorld })
	},
	"an entry's player": func(d *hotEdit) bool {
		return d.wins(func(e *rain.Entry) { e.Wins[0].User = "thief" })
	},
	"an entry's drop": func(d *hotEdit) bool {
		return d.wins(func(e *rain.Entry) { e.Wins[0].Drop = "997.1" })
	},
	"an entry's order": func(d *hotEdit) bool {
		e := d.entry()
		if e == nil || len(e.Wins) < 2 {
			return false
		}
		e.Wins[0].Packet, e.Wins[1].Packet = e.Wins[1].Packet, e.Wins[0].Packet
		return true
	},
	"a reclaim's packets": func(d *hotEdit) bool {
		e := d.entry()
		if e == nil || e.Reclaim == nil {
			return false
		}
		e.Reclaim = &rain.Reclaim{Numbers: remove(e.Reclaim.Numbers, e.Reclaim.Numbers[0].First), Seal: e.Reclaim.Seal}
		return true
	},
	"an entry added": func(d *hotEdit) bool {
		return d.again(func(s *rain.ShardSnapshot, id string) { s.NewestEntry = id })
	},
	"an entry added, as the state says too": func(d *hotEdit) bool {
		return d.again(func(s *rain.ShardSnapshot, id string) { s.LastEntry = id })
	},
	"an entry made up, as the state says too": func(d *hotEdit) bool {
		id := fmt.Sprintf("%d-0", d.b.Clock.Now())
		d.FakeShard.Snapshot.LastEntry = id
		d.Entries = append(d.Entries, rain.Entry{
			Ref:  rain.EntryRef{Campaign: d.c.ID, Shard: d.FakeShard.Snapshot.Shard, ID: id},
			Wins: []rain.Win{{User: "thief", Packet: d.pick(packetsOfWorld), Drop: "997.1"}}})
		return true
	},
	"a setting": func(d *hotEdit) bool {
		d.FakeShard.Snapshot.Altered = []string{"the state's status"}
		return true
	},
	"a revision to come": func(d *hotEdit) bool { d.FakeShard.Snapshot.Revision = d.c.Revision + 10; return true },
	"a shard that closed": func(d *hotEdit) bool {
		if d.closed {
			return false
		}
		d.FakeShard.Snapshot.Closed = true
		return true
	},
	"the state's won":   func(d *hotEdit) bool { d.FakeShard.Snapshot.Won++; return true },
	"the state's left":  func(d *hotEdit) bool { d.FakeShard.Snapshot.Left++; return true },
	"the state's moves": func(d *hotEdit) bool { d.FakeShard.Snapshot.Moves++; return true },
	"a move not counted": func(d *hotEdit) bool {
		s := &d.FakeShard.Snapshot
		if s.Moves <= s.Epoch {
			return false
		}
		s.Moves--
		return true
	},
	"the state's epoch": func(d *hotEdit) bool { d.FakeShard.Snapshot.Epoch++; return true },
	"the state's last entry": func(d *hotEdit) bool {
		d.FakeShard.Snapshot.NewestEntry = d.FakeShard.Snapshot.LastEntry
		d.FakeShard.Snapshot.LastEntry = fmt.Sprintf("%d-0", d.b.Clock.Now())
		return true
	},
	"an outbox begun anew": func(d *hotEdit) bool { d.FakeShard.Snapshot.NewestEntry = "0-1"; return true },
	"what was given back, less of it": func(d *hotEdit) bool {
		s := &d.FakeShard.Snapshot
		if len(s.Returned) == 0 || s.Epoch > 0 {
			return false
		}
		s.Returned = remove(s.Returned, s.Returned[0].First)
		return true
	},
	"what was not given back": func(d *hotEdit) bool {
		if len(d.Wins) == 0 {
			return false
		}
		packet := d.Wins[0].Packet
		d.FakeShard.Snapshot.Returned = append(d.FakeShard.Snapshot.Returned, rain.Range{First: packet, Last: packet})
		return true
	},
}
