package paytest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// FakeRedis replaces package grab and Redis: each shard has a stock with packets to win, and an outbox.
type FakeRedis struct {
	RecordsAtOnce int // records in one call of EachRecord's fn; 0: few

	clock rain.Clock

	mu     sync.Mutex
	Shards map[FakeKey]*FakeShard
	live   []*rain.Campaign
	fails  error      // the error of every call of Outbox
	goesOn *FakeRedis // the one that these are snapshots of
}

// FakeShard is the state of one shard.
type FakeShard struct {
	Snapshot rain.ShardSnapshot // except Stock, Left and NewestEntry
	Stock    rain.Numbers
	Entries  []rain.Entry
	Wins     []rain.WinRecord
	Players  map[string]rain.PlayerRecord
	Borrowed map[string]int64 // moves that have come, with their numbers
	campaign *rain.Campaign
	amounts  *rain.Amounts
	closed   bool
}

// NewFakeRedis makes a Redis that has the stock of campaigns. The clock gives the ids of entries.
func NewFakeRedis(clock rain.Clock, campaigns ...*rain.Campaign) *FakeRedis {
	f := &FakeRedis{clock: clock, Shards: map[FakeKey]*FakeShard{}}
	for _, c := range campaigns {
		f.Open(c)
	}
	return f
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
		sh := &FakeShard{Stock: c.Layout().Stock(s), campaign: c, amounts: amounts,
			Players: map[string]rain.PlayerRecord{}, Borrowed: map[string]int64{}}
		sh.Snapshot.Shard, sh.Snapshot.Found, sh.Snapshot.LastEntry = s, true, "0-0"
		f.Shards[FakeKey{c.ID, s}] = sh
	}
}

// Win gives the next packets of a shard to users, in one entry. Users of other shards get another name, see Home. It
// returns the number of packets.
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
		e.Wins = append(e.Wins, Win(HomeOf(u, shard, sh.campaign.Layout()), packet, sh.amounts.Of(packet)))
	}
	sh.record(f.add(campaign, shard, sh, e))
	return len(users)
}

// WinAtMost is Win for those of the users who may still win, each once.
func (f *FakeRedis) WinAtMost(campaign string, shard, most int, users ...string) int {
	f.mu.Lock()
	sh := f.Shards[FakeKey{campaign, shard}]
	var may []string
	for _, u := range users {
		home := HomeOf(u, shard, sh.campaign.Layout())
		if sh.Players[home].Wins < most && !slices.Contains(may, home) {
			may = append(may, home)
		}
	}
	f.mu.Unlock()
	return f.Win(campaign, shard, may...)
}

// Entries returns the entries in an outbox.
func (f *FakeRedis) Entries(of FakeKey) []rain.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	if sh := f.Shards[of]; sh != nil {
		return Copies(sh.Entries)
	}
	return nil
}

// record records an entry's wins for their players.
func (sh *FakeShard) record(e rain.Entry) {
	for _, w := range e.Wins {
		p := sh.Players[w.User]
		sh.Wins = append(sh.Wins, rain.WinRecord{Win: w, Entry: e.Ref.ID, Before: p.Newest})
		sh.Players[w.User] = rain.PlayerRecord{User: w.User, Wins: p.Wins + 1, Newest: w.Drop}
		sh.Snapshot.Won++
	}
}

// Settled adds a won or returned entry that is settled: it is in no outbox.
func (f *FakeRedis) Settled(e rain.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{e.Ref.Campaign, e.Ref.Shard}]
	gone := e.Packets()
	if e.Reclaim != nil {
		gone = e.Reclaim.Numbers
	}
	sh.Stock = rain.Remaining(sh.Stock, gone)
	sh.Snapshot.LastEntry = e.Ref.ID
	sh.record(e)
}

// Close closes a shard and puts its stock into the outbox.
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
		sh.giveBack(f, left)
	}
}

func (sh *FakeShard) giveBack(f *FakeRedis, numbers rain.Numbers) {
	f.add(sh.campaign.ID, sh.Snapshot.Shard, sh, rain.Entry{Reclaim: &rain.Reclaim{Numbers: numbers}})
}

// Lend takes the last packets out of a shard's stock, as the script does. It returns nil if there are none.
func (f *FakeRedis) Lend(campaign string, from, to int, move string, count int) *rain.Lent {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{campaign, from}]
	count = min(count, sh.Stock.Count())
	if count == 0 || sh.closed || !sh.Snapshot.Found {
		return nil
	}
	var stay, leave rain.Numbers
	left := sh.Stock.Count() - count
	for packet := range sh.Stock.Each() {
		if left > 0 {
			stay = stay.Add(packet)
			left--
		} else {
			leave = leave.Add(packet)
		}
	}
	sh.Stock = stay
	sh.Snapshot.Moves++
	lent := rain.Lent{Move: move, To: to, Number: sh.Snapshot.Moves, Epoch: sh.Snapshot.Epoch, Numbers: leave}
	sh.Snapshot.Lent = append(slices.Clone(sh.Snapshot.Lent), lent)
	return &lent
}

// Borrow adds lent packets to their shard, once, and returns the move's number there, or -1 if Redis does not have
// the shard.
func (f *FakeRedis) Borrow(campaign string, lent rain.Lent) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{campaign, lent.To}]
	if !sh.Snapshot.Found {
		return -1
	}
	if number, before := sh.Borrowed[lent.Move]; before {
		return number
	}
	sh.Snapshot.Moves++
	sh.Borrowed[lent.Move] = sh.Snapshot.Moves
	if sh.closed {
		sh.giveBack(f, lent.Numbers)
	} else {
		sh.Stock = slices.Concat(sh.Stock, lent.Numbers)
	}
	return sh.Snapshot.Moves
}

// Done makes a shard forget a move.
func (f *FakeRedis) Done(campaign string, from int, move string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{campaign, from}]
	sh.Snapshot.Lent = slices.DeleteFunc(slices.Clone(sh.Snapshot.Lent),
		func(l rain.Lent) bool { return l.Move == move })
}

// Lose makes Redis forget a shard.
func (f *FakeRedis) Lose(campaign string, shard int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.Shards[FakeKey{campaign, shard}]
	sh := &FakeShard{campaign: was.campaign, amounts: was.amounts,
		Players: map[string]rain.PlayerRecord{}, Borrowed: map[string]int64{}}
	sh.Snapshot.Shard = shard
	f.Shards[FakeKey{campaign, shard}] = sh
}

// Restored is the state of a shard for Restore.
type Restored struct {
	Stock, Returned rain.Numbers
	Borrowed        []string // moves that have come
	Moves           int64
	Barrier         posting.Barrier
	Wins            []posting.Assigned // in the order won
	Closed          bool
}

// Restore gives Redis a shard again, as a rebuild does.
func (f *FakeRedis) Restore(campaign string, shard int, what Restored) {
	f.Lose(campaign, shard)
	f.mu.Lock()
	defer f.mu.Unlock()
	sh := f.Shards[FakeKey{campaign, shard}]
	sh.Stock, sh.closed = what.Stock, what.Closed
	for _, move := range what.Borrowed {
		sh.Borrowed[move] = 0
	}
	for _, w := range what.Wins {
		sh.record(rain.Entry{Ref: w.Entry, Wins: []rain.Win{w.Win}})
	}
	s := &sh.Snapshot
	s.Found, s.LastEntry, s.Epoch = true, what.Barrier.Entry, what.Barrier.Epoch
	s.Moves = max(what.Moves, s.Epoch)
}

func (f *FakeRedis) add(campaign string, shard int, sh *FakeShard, e rain.Entry) rain.Entry {
	sh.Snapshot.LastEntry = fmt.Sprintf("%d-0", f.clock())
	e.Ref = rain.EntryRef{Campaign: campaign, Shard: shard, ID: sh.Snapshot.LastEntry}
	e = Seal(e)
	sh.Entries = append(sh.Entries, e)
	return e
}

// Live lists the campaigns that were opened.
func (f *FakeRedis) Live() []*rain.Campaign {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live)
}

// Fail makes every call of Outbox and LiveState return an error; nil ends that.
func (f *FakeRedis) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = err
}

// Page implements Outbox.
func (f *FakeRedis) Page(_ context.Context, campaign string, shard int, after string, limit int) (
	entries []rain.Entry, next string, err error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return nil, "", f.fails
	}
	past := rain.EntryRef{ID: after}
	for _, e := range Copies(f.Shards[FakeKey{campaign, shard}].Entries) {
		if after != "" && !later(e.Ref, past) {
			continue
		}
		if len(entries) == limit {
			return entries, entries[limit-1].Ref.ID, nil
		}
		entries = append(entries, e)
	}
	return entries, "", nil
}

// later reports whether an entry was written after another one of its outbox.
func later(a, b rain.EntryRef) bool {
	ams, aseq, _ := a.Position() // the fake's own ids are well formed
	bms, bseq, _ := b.Position()
	return ams > bms || ams == bms && aseq > bseq
}

// Oldest returns up to limit entries of an outbox, the oldest first.
func (f *FakeRedis) Oldest(campaign string, shard, limit int) ([]rain.Entry, error) {
	entries, _, err := f.Page(context.Background(), campaign, shard, "", limit)
	return entries, err
}

// MayLeave implements Outbox.
func (*FakeRedis) MayLeave(context.Context, []rain.Entry) error { return nil }

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
		sh.Entries = slices.DeleteFunc(sh.Entries, func(e rain.Entry) bool { return e.Ref == ref })
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

// Waiting counts the entries in all outboxes.
func (f *FakeRedis) Waiting() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sh := range f.Shards {
		n += len(sh.Entries)
	}
	return n
}

// FakeKey names a shard.
type FakeKey struct {
	Campaign string
	Shard    int
}
