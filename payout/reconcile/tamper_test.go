package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestEveryChangeByHandIsFound plays as TestNoFalseFinding does, stops, changes one thing in Redis or in the ledger
// that the numbers hang on, and wants that found.
func TestEveryChangeByHandIsFound(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	for _, table := range tampered {
		change(t, b, "CREATE TABLE kept_"+table+" AS "+allOf(table))
	}
	run := 0
	tried := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		run++
		w := newWorld(t, b, fmt.Sprintf("t%d", run), rapid.IntRange(1, 3).Draw(rt, "shards"))
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			w.act(rt)
		}
		for shard := range w.c.Shards {
			w.rebuild(shard)
		}
		prove := func(what string, hot reconcile.Hot, depth reconcile.Depth) bool {
			r, err := b.Proof.ReconcileWith(t.Context(), w.c.ID, hot, depth)
			if err != nil {
				rt.Fatalf("%s: %v", what, err)
			}
			if r.Balanced {
				return true
			}
			if what == "untouched" {
				rt.Fatalf("%s: %+v", what, r)
			}
			return false
		}
		prove("untouched", w.f, reconcile.Rows)
		names := slices.Sorted(maps.Keys(hotDeeds))
		for range deedsOfARun {
			name := rapid.SampledFrom(names).Draw(rt, "deed")
			frozen := w.f.Snapshots(w.c)
			sh := frozen.Shards[paytest.FakeKey{Campaign: w.c.ID, Shard: w.shard(rt)}]
			if !hotDeeds[name](&hotDeed{world: w, rt: rt, frozen: frozen, FakeShard: sh}) {
				continue
			}
			tried[name]++
			if prove(name, frozen, reconcile.Rows) || !slices.Contains(ofPlayers, name) && prove(name, frozen, reconcile.Sums) {
				rt.Fatalf("%s: not found; shard %d is now %+v", name, sh.Snapshot.Shard, sh)
			}
		}
		w.removeGivenUp() // else what is not in a dead letter waits in the outbox
		for range deedsOfARun {
			statement := rapid.SampledFrom(bookDeeds).Draw(rt, "statement")
			kept := w.keep()
			n, err := b.DB.Exec(t.Context(), statement, w.c.ID)
			if err != nil {
				rt.Fatalf("%s: %v", statement, err)
			}
			if n == 0 {
				continue
			}
			tried[statement]++
			if prove(statement, w.f, reconcile.Rows) {
				rt.Fatalf("%s: not found", statement)
			}
			kept()
		}
	})
	t.Logf("%d changes were tried, of %d of Redis and %d of the ledger", len(tried), len(hotDeeds), len(bookDeeds))
	b.CheckBooks(t)
}

// deedsOfARun is how many changes of each kind a run tries, one after the other.
const deedsOfARun = 10

// removeGivenUp removes entries from the outboxes that are dead letters.
func (w *world) removeGivenUp() {
	for shard := range w.c.Shards {
		for _, e := range w.f.Entries(paytest.FakeKey{Campaign: w.c.ID, Shard: shard}) {
			if w.b.Count(w.t, "SELECT COUNT(*) FROM dead_letter WHERE source = ?", e.Ref.String()) > 0 {
				w.must(w.f.Remove(context.Background(), []rain.EntryRef{e.Ref}))
			}
		}
	}
}

// tampered are the tables that are changed.
var tampered = []string{"payout", "move", "reclaim", "dead_letter"}

// keep remembers what the tables have of the campaign, and returns what brings it back.
func (w *world) keep() (restore func()) {
	exec := func(statement string, args ...any) {
		_, err := w.b.DB.Exec(context.Background(), statement, args...)
		w.must(err)
	}
	for _, table := range tampered {
		exec("DELETE FROM kept_" + table)
		exec("INSERT INTO kept_"+table+" "+allOf(table)+" WHERE campaign_id = ?", w.c.ID)
	}
	return func() {
		for _, table := range tampered {
			exec("DELETE FROM "+table+" WHERE campaign_id = ?", w.c.ID)
			exec("INSERT INTO " + table + " " + allOf("kept_"+table))
		}
	}
}

// bookDeeds are changes of one row of the ledger.
var bookDeeds = makeBookDeeds()

func makeBookDeeds() (all []string) {
	add := func(table, key, where string, deeds ...string) {
		for _, deed := range deeds {
			all = append(all, deed+" WHERE "+key+" = (SELECT "+key+" FROM "+table+" WHERE campaign_id = ? "+where+" ORDER "+
				"BY "+key+
				" LIMIT 1)")
		}
	}
	add("payout", "claim", "", "DELETE FROM payout", "UPDATE payout SET user_id = 'x'", "UPDATE payout SET drop_id = "+
		"'999.9'",
		"UPDATE payout SET shard = shard + 1", "UPDATE payout SET won_at = won_at - 1",
		"UPDATE payout SET entry_seq = entry_seq + 1", "UPDATE payout SET packet = packet + 1000",
		"UPDATE payout SET amount = amount + 1")
	add("move", "id", "", "UPDATE move SET numbers = '0-0', packets = 1", "UPDATE move SET packets = packets + 1",
		"UPDATE move SET from_shard = to_shard, to_shard = from_shard", "UPDATE move SET to_shard = 99",
		"UPDATE move SET from_number = 0", "UPDATE move SET from_number = from_number + 1000000000000000")
	// Without its row a move that has only been lent is one whose row has not been written yet.
	add("move", "id", "AND done_at > 0", "DELETE FROM move")
	add("move", "id", "AND done_at > 0 AND to_number > 0 AND NOT EXISTS (SELECT 1 FROM shard_epoch e WHERE "+
		"e.campaign_id = move.campaign_id AND e.shard = move.to_shard AND e.barrier_ms > 0)", "UPDATE move SET to_number "+
		"= to_number + 1000000000000000",
		"UPDATE move SET to_number = to_number - 1", "UPDATE move SET done_at = 0")
	add("reclaim", "entry_seq || closed_at || shard || campaign_id", "", "DELETE FROM reclaim",
		"UPDATE reclaim SET packets = packets + 1", "UPDATE reclaim SET amount = amount + 1", "UPDATE reclaim SET numbers "+
			"= '0-0'",
		"UPDATE reclaim SET shard = shard + 1", "UPDATE reclaim SET numbers = 'x'")
	add("dead_letter", "id", "AND resolved_at = 0", "DELETE FROM dead_letter", "UPDATE dead_letter SET resolved_at = 1",
		"UPDATE dead_letter SET shard = 99")
	add("dead_letter", "id", "AND resolved_at = 0 AND kind = 'pay' AND NOT EXISTS (SELECT 1 FROM payout p WHERE "+
		"p.campaign_id = dead_letter.campaign_id AND p.packet = dead_letter.packet)",
		"UPDATE dead_letter SET packet = (packet + 1) % 60", "UPDATE dead_letter SET user_id = 'x'",
		"UPDATE dead_letter SET amount = amount + 1", "UPDATE dead_letter SET kind = 'forged'")
	return all
}

// hotDeed is a shard that something is done to by hand, in a Redis that stands still.
type hotDeed struct {
	*world
	*paytest.FakeShard
	rt     *rapid.T
	frozen *paytest.FakeRedis
}

func (d *hotDeed) pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.rt, "which") }

func remove(numbers rain.Numbers, packet int) rain.Numbers {
	return rain.Remaining(numbers, rain.Numbers{{First: packet, Last: packet}})
}

// nth is the n-th packet of numbers.
func nth(numbers rain.Numbers, n int) int {
	for packet := range numbers.Each() {
		if n == 0 {
			return packet
		}
		n--
	}
	panic("there is none")
}

// win is a record to be changed; nil where there is none.
func (d *hotDeed) win() *rain.WinRecord {
	if len(d.Wins) == 0 {
		return nil
	}
	return &d.Wins[d.pick(len(d.Wins))]
}

// entry is a copy of an entry of the outbox that the ledger does not have, in its place; nil where there is none.
func (d *hotDeed) entry() *paytest.FakeEntry {
	for i, e := range d.Entries {
		if d.posted(e.Entry) {
			continue
		}
		is := *e
		is.Wins = slices.Clone(e.Wins)
		d.Entries[i] = &is
		return &is
	}
	return nil
}

func (d *hotDeed) posted(e rain.Entry) bool {
	ms, seq, err := e.Ref.Position()
	d.must(err)
	count := d.b.Count(d.t, "SELECT (SELECT COUNT(*) FROM payout WHERE campaign_id = ? AND shard = ? AND won_at = ? "+
		"AND entry_seq = ?) + "+
		"(SELECT COUNT(*) FROM dead_letter WHERE campaign_id = ? AND shard = ? AND won_at = ? AND entry_seq = ?) + "+
		"(SELECT COUNT(*) FROM reclaim WHERE campaign_id = ? AND shard = ? AND closed_at = ? AND entry_seq = ?)",
		d.c.ID, e.Ref.Shard, ms, seq, d.c.ID, e.Ref.Shard, ms, seq, d.c.ID, e.Ref.Shard, ms, seq)
	return count > 0
}

// player takes a record of a player, changes it, and puts it back.
func (d *hotDeed) player(edit func(p *rain.PlayerRecord)) bool {
	w := d.win()
	if w == nil {
		return false
	}
	p := d.Players[w.User]
	edit(&p)
	d.Players[w.User] = p
	return true
}

// ofPlayers are the changes that leave the numbers in their places, so that the sums do not show them.
var ofPlayers = []string{
	"a win forgotten", "a win made up, of later", "a win's packet", "a win's entry", "a win's player", "a win's drop",
	"the drop before", "a player's count", "a player's newest", "a player forgotten", "two wins for each other",
	"an entry's player", "an entry's drop", "an entry's order", "a move that has come, with another number",
	"a move that has come, forgotten", "an entry added, as the state says too",
}

// hotDeeds are changes of what Redis has. They return false where there is nothing to change.
var hotDeeds = map[string]func(d *hotDeed) bool{
	"a packet out of the stock": func(d *hotDeed) bool {
		if d.Stock.Count() == 0 {
			return false
		}
		d.Stock = remove(d.Stock, nth(d.Stock, d.pick(d.Stock.Count())))
		return true
	},
	"a packet into the stock": func(d *hotDeed) bool {
		packet := d.pick(packetsOfWorld)
		d.Stock = append(d.Stock, rain.Range{First: packet, Last: packet})
		return true
	},
	"a packet from one stock to another": func(d *hotDeed) bool {
		other := d.frozen.Shards[paytest.FakeKey{Campaign: d.c.ID, Shard: (d.FakeShard.Snapshot.Shard + 1) % d.c.Shards}]
		if d.Stock.Count() == 0 || other == d.FakeShard {
			return false
		}
		packet := nth(d.Stock, d.pick(d.Stock.Count()))
		d.Stock = remove(d.Stock, packet)
		other.Stock = append(other.Stock, rain.Range{First: packet, Last: packet})
		return true
	},
	"a stock for another one's": func(d *hotDeed) bool {
		other := d.frozen.Shards[paytest.FakeKey{Campaign: d.c.ID, Shard: (d.FakeShard.Snapshot.Shard + 1) % d.c.Shards}]
		if d.Stock.String() == other.Stock.String() {
			return false
		}
		d.Stock, other.Stock = other.Stock, d.Stock
		return true
	},
	"what is lent, forgotten": func(d *hotDeed) bool {
		for i, l := range d.FakeShard.Snapshot.Lent {
			if d.b.Count(d.t, "SELECT COUNT(*) FROM move WHERE id = ? AND done_at > 0", l.Move) == 0 {
				d.FakeShard.Snapshot.Lent = slices.Delete(d.FakeShard.Snapshot.Lent, i, i+1)
				return true
			}
		}
		return false
	},
	"what is lent, less of it": func(d *hotDeed) bool {
		return d.lent(func(l *rain.Lent) { l.Numbers = remove(l.Numbers, l.Numbers[0].First) })
	},
	"what is lent, with another number": func(d *hotDeed) bool { return d.lent(func(l *rain.Lent) { l.Number++ }) },
	"what was never lent": func(d *hotDeed) bool {
		d.FakeShard.Snapshot.Lent = append(d.FakeShard.Snapshot.Lent, rain.Lent{Move: "new", To: 0, Number: 1,
			Epoch: d.FakeShard.Snapshot.Epoch, Numbers: paytest.Packets(7, 7)})
		return true
	},
	"a move that has come, forgotten": func(d *hotDeed) bool {
		for id := range d.Borrowed {
			delete(d.Borrowed, id)
			return true
		}
		return false
	},
	"a move that has come, with another number": func(d *hotDeed) bool {
		for id, number := range d.Borrowed {
			if number > 0 {
				d.Borrowed[id] = number + 1
				return true
			}
		}
		return false
	},
	"a win forgotten": func(d *hotDeed) bool {
		if d.win() == nil {
			return false
		}
		i := d.pick(len(d.Wins))
		d.Wins = slices.Delete(d.Wins, i, i+1)
		return true
	},
	"a win forgotten, and all counts": func(d *hotDeed) bool {
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
	"a win made up, and all counts": func(d *hotDeed) bool {
		packet := d.pick(packetsOfWorld)
		user := paytest.Home("thief", d.FakeShard.Snapshot.Shard, d.c.Shards)
		d.Wins = append(d.Wins, rain.WinRecord{Win: rain.Win{User: user, Packet: packet, Drop: "998.1"},
			Entry: d.FakeShard.Snapshot.LastEntry})
		d.Players[user] = rain.PlayerRecord{User: user, Wins: 1, Newest: "998.1"}
		d.FakeShard.Snapshot.Won++
		return true
	},
	"a win made up, of later": func(d *hotDeed) bool {
		user := paytest.Home("thief", d.FakeShard.Snapshot.Shard, d.c.Shards)
		d.Wins = append(d.Wins, rain.WinRecord{Win: rain.Win{User: user, Packet: d.pick(packetsOfWorld), Drop: "998.1"},
			Entry: "9999999999999-0"})
		d.Players[user] = rain.PlayerRecord{User: user, Wins: 1, Newest: "998.1"}
		return true
	},
	"a win's packet": func(d *hotDeed) bool {
		return d.change(func(w *rain.WinRecord) { w.Packet = (w.Packet + 1) % packetsOfWorld })
	},
	"a win's entry": func(d *hotDeed) bool { return d.change(func(w *rain.WinRecord) { w.Entry = "1-0" }) },
	"a win's player": func(d *hotDeed) bool {
		return d.change(func(w *rain.WinRecord) { w.User += "?" })
	},
	"a win's drop":      func(d *hotDeed) bool { return d.change(func(w *rain.WinRecord) { w.Drop = "997.1" }) },
	"the drop before":   func(d *hotDeed) bool { return d.change(func(w *rain.WinRecord) { w.Before = "997.1" }) },
	"a player's count":  func(d *hotDeed) bool { return d.player(func(p *rain.PlayerRecord) { p.Wins-- }) },
	"a player's newest": func(d *hotDeed) bool { return d.player(func(p *rain.PlayerRecord) { p.Newest = "997.1" }) },
	"a player forgotten": func(d *hotDeed) bool {
		w := d.win()
		if w == nil {
			return false
		}
		delete(d.Players, w.User)
		return true
	},
	"two wins for each other": func(d *hotDeed) bool {
		if len(d.Wins) < 2 {
			return false
		}
		a, b := &d.Wins[0], &d.Wins[len(d.Wins)-1]
		a.Packet, b.Packet = b.Packet, a.Packet
		return true
	},
	"an entry removed": func(d *hotDeed) bool {
		e := d.entry()
		d.Entries = slices.DeleteFunc(d.Entries, func(one *paytest.FakeEntry) bool { return one == e })
		return e != nil
	},
	"an entry's packet": func(d *hotDeed) bool {
		return d.wins(func(e *paytest.FakeEntry) { e.Wins[0].Packet = (e.Wins[0].Packet + 1) % packetsOfWorld })
	},
	"an entry's player": func(d *hotDeed) bool { return d.wins(func(e *paytest.FakeEntry) { e.Wins[0].User = "thief" }) },
	"an entry's drop":   func(d *hotDeed) bool { return d.wins(func(e *paytest.FakeEntry) { e.Wins[0].Drop = "997.1" }) },
	"an entry's order": func(d *hotDeed) bool {
		e := d.entry()
		if e == nil || len(e.Wins) < 2 {
			return false
		}
		e.Wins[0].Packet, e.Wins[1].Packet = e.Wins[1].Packet, e.Wins[0].Packet
		return true
	},
	"a reclaim's packets": func(d *hotDeed) bool {
		e := d.entry()
		if e == nil || e.Reclaim == nil {
			return false
		}
		e.Reclaim = &rain.Reclaim{Numbers: remove(e.Reclaim.Numbers, e.Reclaim.Numbers[0].First), Seal: e.Reclaim.Seal}
		return true
	},
	"an entry added": func(d *hotDeed) bool {
		return d.again(func(s *rain.ShardSnapshot, id string) { s.NewestEntry = id })
	},
	"an entry added, as the state says too": func(d *hotDeed) bool {
		return d.again(func(s *rain.ShardSnapshot, id string) { s.LastEntry = id })
	},
	"an entry made up, as the state says too": func(d *hotDeed) bool {
		id := fmt.Sprintf("%d-0", d.b.Clock.Now())
		d.FakeShard.Snapshot.LastEntry = id
		d.Entries = append(d.Entries, &paytest.FakeEntry{Entry: rain.Entry{
			Ref:  rain.EntryRef{Campaign: d.c.ID, Shard: d.FakeShard.Snapshot.Shard, ID: id},
			Wins: []rain.Win{{User: "thief", Packet: d.pick(packetsOfWorld), Drop: "997.1"}}}})
		return true
	},
	"the state's won":   func(d *hotDeed) bool { d.FakeShard.Snapshot.Won++; return true },
	"the state's left":  func(d *hotDeed) bool { d.FakeShard.Snapshot.Left++; return true },
	"the state's moves": func(d *hotDeed) bool { d.FakeShard.Snapshot.Moves++; return true },
	"a move not counted": func(d *hotDeed) bool {
		s := &d.FakeShard.Snapshot
		if s.Moves <= s.Epoch {
			return false
		}
		s.Moves--
		return true
	},
	"the state's epoch": func(d *hotDeed) bool { d.FakeShard.Snapshot.Epoch++; return true },
	"the state's last entry": func(d *hotDeed) bool {
		d.FakeShard.Snapshot.NewestEntry = d.FakeShard.Snapshot.LastEntry
		d.FakeShard.Snapshot.LastEntry = fmt.Sprintf("%d-0", d.b.Clock.Now())
		return true
	},
	"an outbox begun anew": func(d *hotDeed) bool { d.FakeShard.Snapshot.NewestEntry = "0-1"; return true },
	"what was given back, less of it": func(d *hotDeed) bool {
		s := &d.FakeShard.Snapshot
		if len(s.Returned) == 0 || s.Epoch > 0 {
			return false
		}
		s.Returned = remove(s.Returned, s.Returned[0].First)
		return true
	},
	"what was not given back": func(d *hotDeed) bool {
		if len(d.Wins) == 0 {
			return false
		}
		packet := d.Wins[0].Packet
		d.FakeShard.Snapshot.Returned = append(d.FakeShard.Snapshot.Returned, rain.Range{First: packet, Last: packet})
		return true
	},
}

func (d *hotDeed) lent(edit func(l *rain.Lent)) bool {
	s := &d.FakeShard.Snapshot
	if len(s.Lent) == 0 {
		return false
	}
	s.Lent = slices.Clone(s.Lent)
	edit(&s.Lent[d.pick(len(s.Lent))])
	return true
}

func (d *hotDeed) change(edit func(w *rain.WinRecord)) bool {
	w := d.win()
	if w == nil {
		return false
	}
	edit(w)
	return true
}

func (d *hotDeed) wins(edit func(e *paytest.FakeEntry)) bool {
	e := d.entry()
	if e == nil || len(e.Wins) == 0 {
		return false
	}
	edit(e)
	return true
}

// again puts a copy of an entry into the outbox, under an id of its own.
func (d *hotDeed) again(say func(s *rain.ShardSnapshot, id string)) bool {
	if len(d.Entries) == 0 {
		return false
	}
	again := *d.Entries[d.pick(len(d.Entries))]
	again.Ref.ID = fmt.Sprintf("%d-0", d.b.Clock.Now())
	d.Entries = append(d.Entries, &again)
	say(&d.FakeShard.Snapshot, again.Ref.ID)
	return true
}
