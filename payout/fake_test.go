package payout

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"redrain/rain"
)

// fakeRedis is what grab and Redis are to this package: a stock for each shard, from which packets are won, and an
// outbox.
type fakeRedis struct {
	clock rain.Clock

	mu     sync.Mutex
	shards map[fakeKey]*fakeShard
	live   []*rain.Campaign
	fails  error // what every call of Outbox returns
}

type fakeShard struct {
	snapshot rain.ShardSnapshot // but for Entries
	stock    []rain.Money
	first    int
	entries  []*fakeEntry
	wins     []fakeWin
	closed   bool
}

type fakeEntry struct {
	rain.Entry
	reader string // "" = not read yet
	since  time.Time
}

func newFakeRedis(clock rain.Clock) *fakeRedis {
	return &fakeRedis{clock: clock, shards: map[fakeKey]*fakeShard{}}
}

// open stocks a campaign.
func (f *fakeRedis) open(c *rain.Campaign) {
	amounts, err := c.Cut(c.SplitSeed)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = append(f.live, c)
	for s := range c.Shards {
		first, n := rain.ShardRange(c.Packets, c.Shards, s)
		sh := &fakeShard{first: first, stock: slices.Clone(amounts[first : first+n])}
		sh.snapshot.Shard, sh.snapshot.Found = s, true
		f.shards[fakeKey{c.ID, s}] = sh
	}
}

// win gives the next packets of a shard to users, in one entry. It tells how many there were.
func (f *fakeRedis) win(campaign string, shard int, users ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.shards[fakeKey{campaign, shard}]
	users = users[:min(len(users), len(sh.stock))]
	if len(users) == 0 || sh.closed {
		return 0
	}
	e := rain.Entry{}
	for i, u := range users {
		e.Wins = append(e.Wins, rain.Win{User: u, Packet: sh.first + i, Amount: sh.stock[i], Drop: "1.2"})
		sh.snapshot.AmountWon += sh.stock[i]
	}
	sh.snapshot.Won += len(users)
	sh.first += len(users)
	sh.stock = sh.stock[len(users):]
	f.add(campaign, shard, sh, e)
	for _, w := range e.Wins {
		sh.wins = append(sh.wins, fakeWin{w, shard, sh.snapshot.LastEntry})
	}
	return len(users)
}

// close shuts a shard and leaves what it still had in the outbox.
func (f *fakeRedis) close(campaign string, shard int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.shards[fakeKey{campaign, shard}]
	if sh.closed {
		return
	}
	sh.closed = true
	left, _ := rain.Sum(sh.stock)
	if n := len(sh.stock); n > 0 {
		sh.stock = nil
		f.add(campaign, shard, sh, rain.Entry{Reclaim: &rain.Reclaim{Packets: n, Amount: left}})
	}
}

func (f *fakeRedis) add(campaign string, shard int, sh *fakeShard, e rain.Entry) {
	sh.snapshot.LastEntry = fmt.Sprintf("%d-0", f.clock())
	e.Ref = rain.EntryRef{Campaign: campaign, Shard: shard, ID: sh.snapshot.LastEntry}
	sh.entries = append(sh.entries, &fakeEntry{Entry: e})
}

// snapshot is grab's: each shard at one moment, the shards one after the other.
func (f *fakeRedis) snapshot(c *rain.Campaign) []rain.ShardSnapshot {
	var all []rain.ShardSnapshot
	for s := range c.Shards {
		f.mu.Lock()
		sh := f.shards[fakeKey{c.ID, s}]
		snap := sh.snapshot
		snap.Packets = len(sh.stock)
		snap.Left, _ = rain.Sum(sh.stock)
		for _, e := range sh.entries {
			snap.Entries = append(snap.Entries, e.Entry)
		}
		f.mu.Unlock()
		all = append(all, snap)
	}
	return all
}

// Snapshot implements Hot.
func (f *fakeRedis) Snapshot(_ context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	f.mu.Lock()
	fails := f.fails
	f.mu.Unlock()
	if fails != nil {
		return nil, fails
	}
	return f.snapshot(c), nil
}

// EachWin implements Hot. It gives the wins one by one, as they are at that moment, and some twice, as Redis may.
func (f *fakeRedis) EachWin(_ context.Context, c *rain.Campaign, shard int,
	fn func(string, rain.Win, string) error) error {
	for i := 0; ; i++ {
		f.mu.Lock()
		wins := f.shards[fakeKey{c.ID, shard}].wins
		if i >= len(wins) {
			f.mu.Unlock()
			return nil
		}
		w := wins[i]
		f.mu.Unlock()
		for range 1 + i%2 {
			if err := fn(w.User, w.Win, w.entry); err != nil {
				return err
			}
		}
	}
}

func (f *fakeRedis) Live() []*rain.Campaign {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live)
}

func (f *fakeRedis) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = err
}

func (f *fakeRedis) Read(_ context.Context, campaign string, shard int, consumer string, limit int) ([]rain.Entry,
	error) {
	return f.take(campaign, shard, consumer, limit, func(e *fakeEntry) bool { return e.reader == "" })
}

func (f *fakeRedis) Claim(_ context.Context, campaign string, shard int, consumer string, minIdle time.Duration,
	limit int) ([]rain.Entry, error) {
	return f.take(campaign, shard, consumer, limit, func(e *fakeEntry) bool {
		return e.reader != "" &&
			time.Since(e.since) >= minIdle
	})
}

func (f *fakeRedis) take(campaign string, shard int, consumer string, limit int,
	which func(*fakeEntry) bool) ([]rain.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, f.fails
	}
	var taken []rain.Entry
	for _, e := range f.shards[fakeKey{campaign, shard}].entries {
		if len(taken) < limit && which(e) {
			e.reader, e.since = consumer, time.Now()
			taken = append(taken, e.Entry)
		}
	}
	return taken, nil
}

func (f *fakeRedis) Remove(_ context.Context, refs []rain.EntryRef) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return f.fails
	}
	for _, ref := range refs {
		sh := f.shards[fakeKey{ref.Campaign, ref.Shard}]
		if sh == nil {
			continue
		}
		sh.entries = slices.DeleteFunc(sh.entries, func(e *fakeEntry) bool { return e.Ref == ref })
	}
	return nil
}

func (f *fakeRedis) Pending(_ context.Context, c *rain.Campaign) (n int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range c.Shards {
		n += int64(len(f.shards[fakeKey{c.ID, s}].entries))
	}
	return n, f.fails
}

// waiting is how many entries are in all the outboxes.
func (f *fakeRedis) waiting() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sh := range f.shards {
		n += len(sh.entries)
	}
	return n
}

// told is a Notifier that counts how often each claim was settled.
type told struct {
	mu     sync.Mutex
	claims map[string]int
}

func (n *told) Settled(_ context.Context, settled []Settlement) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.claims == nil {
		n.claims = map[string]int{}
	}
	for _, s := range settled {
		n.claims[s.Claim]++
	}
}

func (n *told) distinct() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.claims)
}

// fakeKey names a shard.
type fakeKey struct {
	campaign string
	shard    int
}

// fakeWin is a win as Redis has recorded it.
type fakeWin struct {
	rain.Win
	shard int
	entry string
}
