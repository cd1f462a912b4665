package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// world is a campaign that is played, settled, moved, lost and rebuilt. Each step acts like the scripts and rows, and
// may be interrupted.
type world struct {
	t       testing.TB
	b       *paytest.Books
	f       *paytest.FakeRedis
	c       *rain.Campaign
	moves   []*moving
	named   int          // players and moves so far
	lost    map[int]bool // shards
	losses  int
	allowed int // losses and rebuilds
	closed  bool
}

// moving is a move in flight, and its next step.
type moving struct {
	from   int
	lent   rain.Lent
	step   int
	number int64
}

const (
	packetsOfWorld = 60
	winsOfWorld    = 4
)

func newWorld(t testing.TB, b *paytest.Books, id string, shards int, guests rain.Share) *world {
	t.Helper()
	w := &world{t: t, b: b, f: paytest.NewFakeRedis(b.Clock.Now), lost: map[int]bool{}, allowed: 3}
	w.c = b.OpenCampaign(t, id, rain.Spec{Budget: 5000, Packets: packetsOfWorld, Shards: shards,
		WinsPerUser: winsOfWorld, GuestsShare: guests,
		Split: rain.DoubleMean})
	w.f.Open(w.c)
	return w
}

func (w *world) shard(rt *rapid.T) int { return rapid.IntRange(0, w.c.Shards-1).Draw(rt, "shard") }

// act does one random step.
func (w *world) act(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"win", "win", "win", "settle", "settle", "half", "lend", "lend", "step", "step",
		"step",
		"give up", "retry", "lose", "rebuild", "rebuild", "close"}).Draw(rt, "what") {
	case "win":
		w.win(rt, w.shard(rt))
	case "settle":
		w.settle(rt, true)
	case "half":
		w.settle(rt, false)
	case "lend":
		w.lend(rt)
	case "step":
		if len(w.moves) > 0 {
			w.step(rapid.SampledFrom(w.moves).Draw(rt, "move"))
		}
	case "give up":
		w.giveUp(w.shard(rt))
	case "retry":
		_, err := w.b.RetryAll(context.Background(), w.c.ID, func([]posting.Settlement) {})
		w.must(err)
	case "lose":
		w.lose(w.shard(rt))
	case "rebuild":
		w.rebuild(w.shard(rt))
	case "close":
		w.close(rt)
	}
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

func (w *world) win(rt *rapid.T, shard int) {
	if w.lost[shard] {
		return
	}
	var users []string
	for range rapid.IntRange(1, 4).Draw(rt, "wins") {
		user := fmt.Sprintf("%s-%d", w.c.ID, rapid.IntRange(0, 20).Draw(rt, "user"))
		users = append(users, user)
	}
	w.f.WinAtMost(w.c.ID, shard, winsOfWorld, users...)
}

// settle posts entries of a shard, and removes them unless remove is false.
func (w *world) settle(rt *rapid.T, remove bool) {
	key := paytest.FakeKey{Campaign: w.c.ID, Shard: w.shard(rt)}
	entries := w.f.Entries(key)
	for _, e := range entries[:rapid.IntRange(0, len(entries)).Draw(rt, "entries")] {
		w.b.MustPost(w.t, e)
		if remove {
			w.must(w.f.Remove(context.Background(), []rain.EntryRef{e.Ref}))
		}
	}
}

func (w *world) lend(rt *rapid.T) {
	from, to := w.shard(rt), w.shard(rt)
	if layout := w.c.Layout(); from == to || layout.LaneOfShard(from) != layout.LaneOfShard(to) {
		return
	}
	w.named++
	lent := w.f.Lend(w.c.ID, from, to, fmt.Sprintf("%s-move-%d", w.c.ID, w.named), rapid.IntRange(1, 12).Draw(rt,
		"count"))
	if lent != nil {
		w.moves = append(w.moves, &moving{from: from, lent: *lent})
	}
}

// step does a move's next step. Each step may be repeated.
func (w *world) step(m *moving) {
	ctx := context.Background()
	switch m.step {
	case 0:
		err := w.b.Moves.Write(ctx, w.c.ID, m.from, m.lent)
		if errors.Is(err, posting.ErrCutOff) {
			m.step = -1 // its loan is in stock again
			return
		}
		w.must(err)
	case 1:
		if m.number = w.f.Borrow(w.c.ID, m.lent); m.number < 0 {
			return // lost
		}
	case 2:
		w.must(w.b.Moves.Done(ctx, m.lent.Move, m.number))
	case 3:
		w.f.Done(w.c.ID, m.from, m.lent.Move)
	default:
		return
	}
	m.step++
}

// giveUp makes dead letters of the oldest entry of a shard.
func (w *world) giveUp(shard int) {
	ctx := context.Background()
	entries := w.f.Entries(paytest.FakeKey{Campaign: w.c.ID, Shard: shard})
	if len(entries) == 0 {
		return
	}
	_, err := w.b.Attempt(ctx, entries[0], errors.New("refused"), 1)
	w.must(err)
	if w.named%2 == 0 {
		w.must(w.f.Remove(ctx, []rain.EntryRef{entries[0].Ref}))
	}
}

func (w *world) lose(shard int) {
	if w.allowed > 0 && !w.lost[shard] {
		w.f.Lose(w.c.ID, shard)
		w.lost[shard] = true
		w.losses++
		w.allowed--
	}
}

// rebuild restores a shard from the ledger, as package server does. It does nothing if the shard is not lost.
func (w *world) rebuild(shard int) {
	if !w.lost[shard] {
		return
	}
	ctx := context.Background()
	attempt, err := w.b.BeginRebuild(ctx, w.c.ID, shard)
	w.must(err)
	var what paytest.Restored
	what.Barrier, err = w.b.Fence(ctx, w.c.ID, shard, attempt)
	w.must(err)
	w.b.Clock.Add(2000) // past the barrier
	holding, err := w.b.Holding(ctx, w.c, shard)
	w.must(err)
	what.Borrowed, what.Moves = holding.Borrowed, holding.Moves
	var taken rain.Numbers
	w.must(w.b.EachAssigned(ctx, w.c, holding.Numbers, func(k posting.Assigned) error {
		taken = taken.Add(k.Win.Packet)
		return nil
	}))
	w.must(w.b.Rebuilds.EachWin(ctx, w.c, shard, func(k posting.Assigned) error {
		what.Wins = append(what.Wins, k)
		return nil
	}))
	back, err := w.b.Reclaimed(ctx, w.c, shard)
	w.must(err)
	rest := rain.Remaining(holding.Numbers, taken)
	if what.Stock = rain.Remaining(rest, back); len(back) > 0 && len(what.Stock) == 0 {
		what.Closed, what.Returned = true, rest
	}
	w.f.Restore(w.c.ID, shard, what)
	w.lost[shard] = false
	w.losses++
}

// close closes the campaign, or one more of its shards.
func (w *world) close(rt *rapid.T) {
	if !w.closed && rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
		return
	}
	w.c = w.b.CloseCampaign(w.t, w.c.ID)
	w.closed = true
	if shard := w.shard(rt); !w.lost[shard] {
		w.f.Close(w.c.ID, shard)
	}
}

// end completes all steps in flight.
func (w *world) end() {
	for shard := range w.c.Shards {
		w.rebuild(shard)
	}
	for _, m := range w.moves {
		for range 4 {
			w.step(m)
		}
	}
}

// restless is a Redis of a world that changes between any two reads of it.
type restless struct {
	*paytest.FakeRedis
	live func()
}

func (r restless) Snapshot(ctx context.Context, c *rain.Campaign) (all []rain.ShardSnapshot, err error) {
	for shard := range c.Shards {
		r.live()
		now, err := r.FakeRedis.Snapshot(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, now[shard])
	}
	return all, nil
}

func (r restless) EachEntry(ctx context.Context, c *rain.Campaign, shard int, upTo string,
	fn func(rain.Entry, error) error) error {
	r.live()
	return r.FakeRedis.EachEntry(ctx, c, shard, upTo, func(e rain.Entry, err error) error {
		defer r.live()
		return fn(e, err)
	})
}

func (r restless) EachRecord(ctx context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error {
	return r.FakeRedis.EachRecord(ctx, c, shard, func(page rain.Records) error {
		defer r.live()
		return fn(page)
	})
}

func (r restless) WinsOf(ctx context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error) {
	r.live()
	return r.FakeRedis.WinsOf(ctx, c, shard, of)
}

func (r restless) EachBorrowed(ctx context.Context, c *rain.Campaign, shard int, fn func(string, int64)) error {
	r.live()
	return r.FakeRedis.EachBorrowed(ctx, c, shard, fn)
}

var _ reconcile.LiveState = restless{}
