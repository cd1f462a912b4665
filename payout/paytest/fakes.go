package paytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// FakeRedis is what grab and Redis are to this package: a stock for each shard, from which packets are won, and an
// outbox.
type FakeRedis struct {
	clock rain.Clock

	mu     sync.Mutex
	Shards map[FakeKey]*FakeShard
	live   []*rain.Campaign
	fails  error // what every call of Outbox returns
}

// FakeShard is the state of one shard.
type FakeShard struct {
	Snapshot rain.ShardSnapshot // but for Entries
	Stock    rain.Numbers
	Entries  []*FakeEntry
	Wins     []FakeWin
	campaign *rain.Campaign
	amounts  *rain.Amounts
	closed   bool
}

// FakeEntry is an entry in an outbox, with who has read it.
type FakeEntry struct {
	rain.Entry
	reader string // "" = not read yet
	since  time.Time
}

// NewFakeRedis makes a Redis without campaigns. The clock gives the ids of entries.
func NewFakeRedis(clock rain.Clock) *FakeRedis {
	return &FakeRedis{clock: clock, Shards: map[FakeKey]*FakeShard{}}
}

// Open stocks a campaign.
func (f *FakeRedis) Open(c *rain.Campaign) {
	amounts, err := rain.NewAmounts(c)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = append(f.live, c)
	for s := range c.Shards {
		first, n := rain.ShardRange(c.Packets, c.Shards, s)
		sh := &FakeShard{Stock: Packets(first, first+n-1), campaign: c, amounts: amounts}
		sh.Snapshot.Shard, sh.Snapshot.Found, sh.Snapshot.LastEntry = s, true, "0-0"
		f.Shards[FakeKey{c.ID, s}] = sh
	}
}

// Win gives the next packets of a shard to users, in one entry. Those who are not at home there get another name, see
// Home. It tells how many packets there were.
func (f *FakeRedis) Win(campaign string, shard int, users ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{campaign, shard}]
	users = users[:min(len(users), sh.Stock.Count())]
	if len(users) == 0 || sh.closed {
		return 0
	}
	e := rain.Entry{}
	for _, u := range users {
		packet, _ := sh.Stock.Take()
		e.Wins = append(e.Wins, Win(Home(u, shard, sh.campaign.Shards), packet, sh.amounts.Of(packet)))
	}
	sh.Snapshot.Won += len(users)
	e = f.add(campaign, shard, sh, e)
	for _, w := range e.Wins {
		sh.Wins = append(sh.Wins, FakeWin{w, shard, sh.Snapshot.LastEntry})
	}
	return len(users)
}

// Close shuts a shard and leaves what it still had in the outbox.
func (f *FakeRedis) Close(campaign string, shard int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{campaign, shard}]
	if sh.closed {
		return
	}
	sh.closed = true
	if left := sh.Stock; len(left) > 0 {
		sh.Stock = nil
		f.add(campaign, shard, sh, rain.Entry{Reclaim: &rain.Reclaim{Numbers: left}})
	}
}

func (f *FakeRedis) add(campaign string, shard int, sh *FakeShard, e rain.Entry) rain.Entry {
	sh.Snapshot.LastEntry = fmt.Sprintf("%d-0", f.clock())
	e.Ref = rain.EntryRef{Campaign: campaign, Shard: shard, ID: sh.Snapshot.LastEntry}
	e = Seal(e)
	sh.Entries = append(sh.Entries, &FakeEntry{Entry: e})
	return e
}

// Snapshots is what grab's would be: each shard at one moment, the shards one after the other.
func (f *FakeRedis) Snapshots(c *rain.Campaign) []rain.ShardSnapshot {
	var all []rain.ShardSnapshot
	for s := range c.Shards {
		f.mu.Lock()
		sh := f.Shards[FakeKey{c.ID, s}]
		snap := sh.Snapshot
		snap.Stock = slices.Clone(sh.Stock)
		for _, e := range sh.Entries {
			snap.Entries = append(snap.Entries, e.Entry)
		}
		f.mu.Unlock()
		all = append(all, snap)
	}
	return all
}

// Snapshot implements Hot.
func (f *FakeRedis) Snapshot(_ context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	f.mu.Lock()
	fails := f.fails
	f.mu.Unlock()
	if fails != nil {
		return nil, fails
	}
	return f.Snapshots(c), nil
}

// EachWin implements Hot. It gives the wins one by one, as they are at that moment, and some twice, as Redis may.
func (f *FakeRedis) EachWin(_ context.Context, c *rain.Campaign, shard int,
	fn func(string, rain.Win, string) error) error {
	for i := 0; ; i++ {
		f.mu.Lock()
		wins := f.Shards[FakeKey{c.ID, shard}].Wins
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

// Live lists the campaigns that were opened.
func (f *FakeRedis) Live() []*rain.Campaign {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live)
}

// Fail makes every call of Outbox and Hot return an error from now on; nil ends that.
func (f *FakeRedis) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = err
}

// Read implements Outbox.
func (f *FakeRedis) Read(_ context.Context, campaign string, shard int, consumer string,
	limit int) ([]rain.Entry, error) {
	return f.take(campaign, shard, consumer, limit, func(e *FakeEntry) bool { return e.reader == "" })
}

// Claim implements Outbox.
func (f *FakeRedis) Claim(_ context.Context, campaign string, shard int, consumer string, minIdle time.Duration,
	limit int) ([]rain.Entry, error) {
	return f.take(campaign, shard, consumer, limit, func(e *FakeEntry) bool {
		return e.reader != "" && time.Since(e.since) >= minIdle
	})
}

func (f *FakeRedis) take(campaign string, shard int, consumer string, limit int,
	which func(*FakeEntry) bool) ([]rain.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, f.fails
	}
	var taken []rain.Entry
	for _, e := range f.Shards[FakeKey{campaign, shard}].Entries {
		if len(taken) < limit && which(e) {
			e.reader, e.since = consumer, time.Now()
			taken = append(taken, e.Entry)
		}
	}
	return taken, nil
}

// Remove implements Outbox.
func (f *FakeRedis) Remove(_ context.Context, refs []rain.EntryRef) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return f.fails
	}
	for _, ref := range refs {
		sh := f.Shards[FakeKey{ref.Campaign, ref.Shard}]
		if sh == nil {
			continue
		}
		sh.Entries = slices.DeleteFunc(sh.Entries, func(e *FakeEntry) bool { return e.Ref == ref })
	}
	return nil
}

// Pending implements Outbox.
func (f *FakeRedis) Pending(_ context.Context, c *rain.Campaign) (n int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range c.Shards {
		n += int64(len(f.Shards[FakeKey{c.ID, s}].Entries))
	}
	return n, f.fails
}

// Waiting is how many entries are in all the outboxes.
func (f *FakeRedis) Waiting() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sh := range f.Shards {
		n += len(sh.Entries)
	}
	return n
}

// Told is a Notifier that counts how often each claim was settled.
type Told struct {
	mu     sync.Mutex
	claims map[string]int
}

// Settled implements Notifier.
func (n *Told) Settled(_ context.Context, settled []posting.Settlement) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.claims == nil {
		n.claims = map[string]int{}
	}
	for _, s := range settled {
		n.claims[s.Claim]++
	}
}

// Distinct is how many claims were settled.
func (n *Told) Distinct() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.claims)
}

// FakeKey names a shard.
type FakeKey struct {
	Campaign string
	Shard    int
}

// FakeWin is a win as Redis has recorded it.
type FakeWin struct {
	rain.Win
	shard int
	entry string
}
