package reconcile_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"redrain/payout/paytest"
	"redrain/rain"
)

// hotEdit is an edit of a shard in a Redis that stands still.
type hotEdit struct {
	*world
	*paytest.FakeShard
	rt     *rapid.T
	frozen *paytest.FakeRedis
}

func (d *hotEdit) pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.rt, "which") }

// other is the next shard.
func (d *hotEdit) other() *paytest.FakeShard {
	return d.frozen.Shards[paytest.FakeKey{Campaign: d.c.ID, Shard: (d.Snapshot.Shard + 1) % d.c.Shards}]
}

func remove(numbers rain.Numbers, packet int) rain.Numbers {
	return rain.Remaining(numbers, rain.Numbers{{First: packet, Last: packet}})
}

// nth returns the n-th packet of numbers.
func nth(numbers rain.Numbers, n int) int {
	for packet := range numbers.Each() {
		if n == 0 {
			return packet
		}
		n--
	}
	panic("there is none")
}

// win returns a record to be changed, or nil.
func (d *hotEdit) win() *rain.WinRecord {
	if len(d.Wins) == 0 {
		return nil
	}
	return &d.Wins[d.pick(len(d.Wins))]
}

// entry replaces an outbox entry that the ledger does not have by a copy, and returns the copy, or nil.
func (d *hotEdit) entry() *rain.Entry {
	for i, e := range d.Entries {
		if d.posted(e) {
			continue
		}
		d.Entries[i].Wins = slices.Clone(e.Wins)
		return &d.Entries[i]
	}
	return nil
}

func (d *hotEdit) posted(e rain.Entry) bool {
	ms, seq, err := e.Ref.Position()
	d.must(err)
	count := d.b.Count(d.t, "SELECT (SELECT COUNT(*) FROM payout WHERE campaign_id = ? AND shard = ? AND won_at = ? "+
		"AND entry_seq = ?) + "+
		"(SELECT COUNT(*) FROM dead_letter WHERE campaign_id = ? AND shard = ? AND won_at = ? AND entry_seq = ?) + "+
		"(SELECT COUNT(*) FROM reclaim WHERE campaign_id = ? AND shard = ? AND closed_at = ? AND entry_seq = ?)",
		d.c.ID, e.Ref.Shard, ms, seq, d.c.ID, e.Ref.Shard, ms, seq, d.c.ID, e.Ref.Shard, ms, seq)
	return count > 0
}

func (d *hotEdit) change(edit func(w *rain.WinRecord)) {
	if w := d.win(); w != nil {
		edit(w)
	}
}

func (d *hotEdit) wins(edit func(e *rain.Entry)) {
	if e := d.entry(); e != nil && len(e.Wins) > 0 {
		edit(e)
	}
}

// again puts a copy of an entry into the outbox, under an id of its own.
func (d *hotEdit) again(say func(s *rain.ShardSnapshot, id string)) {
	if len(d.Entries) == 0 {
		return
	}
	again := d.Entries[d.pick(len(d.Entries))]
	again.Ref.ID = fmt.Sprintf("%d-0", d.b.Clock.Now())
	d.Entries = append(d.Entries, again)
	say(&d.Snapshot, again.Ref.ID)
}
