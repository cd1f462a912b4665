package paytest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"redrain/rain"
)

// Snapshots returns a copy of the present state, read shard by shard. It represents an earlier reading of f, so its
// newest entries are always those of f.
func (f *FakeRedis) Snapshots(c *rain.Campaign) *FakeRedis {
	frozen := NewFakeRedis(f.clock)
	frozen.goesOn = f
	for s := range c.Shards {
		f.mu.Lock()
		if sh := f.Shards[FakeKey{c.ID, s}]; sh != nil {
			frozen.Shards[FakeKey{c.ID, s}] = sh.clone()
		}
		f.mu.Unlock()
	}
	return frozen
}

func (sh *FakeShard) clone() *FakeShard {
	is := *sh
	is.Stock, is.Entries, is.Wins = slices.Clone(sh.Stock), Copies(sh.Entries), slices.Clone(sh.Wins)
	is.Players, is.Borrowed = maps.Clone(sh.Players), maps.Clone(sh.Borrowed)
	is.Snapshot.Lent = slices.Clone(sh.Snapshot.Lent)
	return &is
}

// Snapshot implements reconcile.LiveState.
func (f *FakeRedis) Snapshot(_ context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	var all []rain.ShardSnapshot
	for s := range c.Shards {
		f.mu.Lock()
		if f.fails != nil {
			f.mu.Unlock()
			return nil, f.fails
		}
		snapshot := rain.ShardSnapshot{Shard: s}
		if sh := f.Shards[FakeKey{c.ID, s}]; sh != nil {
			snapshot = sh.Snapshot
			snapshot.Lent = slices.Clone(snapshot.Lent)
			snapshot.Stock = slices.Clone(sh.Stock)
			snapshot.Left += sh.Stock.Count()
			snapshot.NewestEntry = cmp.Or(snapshot.NewestEntry, snapshot.LastEntry)
		}
		f.mu.Unlock()
		all = append(all, snapshot)
	}
	return all, nil
}

// EachEntry implements reconcile.LiveState.
func (f *FakeRedis) EachEntry(_ context.Context, c *rain.Campaign, shard int, upTo string,
	fn func(rain.Entry, error) error) error {
	for _, e := range f.Entries(FakeKey{c.ID, shard}) {
		last := rain.EntryRef{ID: upTo}
		if _, _, err := last.Position(); err == nil && later(e.Ref, last) {
			continue
		}
		if err := fn(e, nil); err != nil {
			return err
		}
	}
	return nil
}

// EachRecord implements reconcile.LiveState. It gives the records a few at a time, as they are at that moment, and
// some twice, as Redis may.
func (f *FakeRedis) EachRecord(_ context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error {
	atOnce := cmp.Or(f.RecordsAtOnce, 3)
	for i := 0; ; i += atOnce {
		f.mu.Lock()
		sh := f.Shards[FakeKey{c.ID, shard}]
		var page rain.Records
		if wins := sh.Wins; i < len(wins) {
			page.Wins = slices.Clone(wins[i:min(i+atOnce+i%2, len(wins))])
			for j := range page.Wins {
				page.Wins[j].Seal, page.Wins[j].Amount = "", 0
			}
		}
		f.mu.Unlock()
		if err := fn(page); err != nil || len(page.Wins) == 0 {
			return err
		}
	}
}

// WinsOf implements reconcile.LiveState.
func (f *FakeRedis) WinsOf(_ context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	type key struct{ user, drop string }
	known := map[key]rain.WinRecord{}
	for _, w := range f.Shards[FakeKey{c.ID, shard}].Wins {
		known[key{w.User, w.Drop}] = w
	}
	found := make([]rain.WinRecord, len(of))
	for i, w := range of {
		found[i] = known[key{w.User, w.Drop}]
		found[i].Seal, found[i].Amount = "", 0
	}
	return found, nil
}

// EachBorrowed implements reconcile.LiveState.
func (f *FakeRedis) EachBorrowed(_ context.Context, c *rain.Campaign, shard int, fn func(string, int64)) error {
	f.mu.Lock()
	borrowed := maps.Clone(f.Shards[FakeKey{c.ID, shard}].Borrowed)
	f.mu.Unlock()
	for move, number := range borrowed {
		fn(move, number)
	}
	return nil
}

// Newest implements reconcile.LiveState.
func (f *FakeRedis) Newest(ctx context.Context, c *rain.Campaign, shard int) (entry string, epoch int64, found bool,
	err error) {
	f.mu.Lock()
	s := f.Shards[FakeKey{c.ID, shard}].Snapshot
	f.mu.Unlock()
	if f.goesOn != nil {
		now, _, known, err := f.goesOn.Newest(ctx, c, shard)
		if err == nil && known && later(rain.EntryRef{ID: now}, rain.EntryRef{ID: s.LastEntry}) {
			s.LastEntry = now
		}
	}
	return s.LastEntry, s.Epoch, s.Found, nil
}
