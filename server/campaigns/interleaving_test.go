package campaigns

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestAnyInterleaving plays taps, settlements, moves, losses, rollbacks of Redis, rebuilds and restarts in any order.
// Any step may cut them off.
//
//   - At each moment a packet has one location or one owner, and a player keeps each reported win.
//   - In the end each packet is paid once or returned once.
//
// A run that fails is shortened, and its output has the command that repeats it.
func TestAnyInterleaving(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	property.Check(t, 5, func(rt *rapid.T) {
		i := &interleaving{lossy: l, rt: rt, told: map[string]int{}, saved: map[int]savedShard{}}
		i.c = l.raining(servertest.EvenSpec(10*interleavedPackets, interleavedPackets, interleavedShards))
		i.drop = i.c.Current().FirstWave
		for shard := range interleavedShards {
			for n := range 3 {
				i.users = append(i.users, paytest.Home(fmt.Sprint("u", n), shard, interleavedShards))
			}
			i.batches = append(i.batches, store.NewBatch(l.grabber.Store, i.c.ID, shard))
		}
		i.restart()
		rt.Repeat(i.actions())
		i.end()
	})
}

const (
	interleavedPackets = 18
	interleavedShards  = 3
	interleavedDrops   = 6
)

// interleaving is one run.
type interleaving struct {
	*lossy
	rt      *rapid.T
	c       *rain.Campaign
	drop    int64 // the first wave of the rain
	users   []string
	batches []*store.Batch // of a node that may have seen each entry and move
	mover   *Mover
	pace    *pace

	told  map[string]int     // packet of each reported win, by user and drop
	inAir []rain.Entry       // entries that a process has read, and may post or publish at any time
	loans []loan             // moves that a node has in hand, which may have hung
	saved map[int]savedShard // what shards were once
}

type loan struct {
	from int
	lent rain.Lent
}

func (i *interleaving) must(err error) {
	i.Helper()
	testenv.Must(i.rt, err)
}

func (i *interleaving) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(i.rt, what) }

func (i *interleaving) shard() int { return i.pick("shard", interleavedShards) }

// restart is a mover of another node.
func (i *interleaving) restart() {
	i.mover = i.lossy.mover(nil)
	i.pace = &pace{}
}

func (i *interleaving) actions() map[string]func(*rapid.T) {
	with := func(do func()) func(*rapid.T) {
		return func(rt *rapid.T) { i.rt = rt; i.tick(); do() }
	}
	return map[string]func(*rapid.T){
		"tap":       with(i.tap),
		"tap again": with(i.tap),
		"another node taps": with(func() {
			s := i.shard()
			i.batches[s] = store.NewBatch(i.grabber.Store, i.c.ID,
				s)
			i.tap()
		}),
		"read an outbox":       with(func() { i.read(i.shard()) }),
		"publish":              with(i.publishOne),
		"settle":               with(i.settleOne),
		"settle what is there": with(func() { i.settle(i.shard()) }),
		"move, cut off":        with(i.move),
		"a loan that hung":     with(i.endLoan),
		"look":                 with(i.look),
		"another mover":        with(i.restart),
		"lose":                 with(func() { i.loseShard(i.c, i.shard()) }),
		"lose two": with(func() {
			s := i.shard()
			i.loseShard(i.c, s)
			i.loseShard(i.c,
				(s+1)%interleavedShards)
		}),
		"save":             with(func() { s := i.shard(); i.saved[s] = i.save(s) }),
		"go back":          with(i.goBack),
		"rebuild":          with(func() { i.tryRebuild(i.rebuilder) }),
		"rebuild, cut off": with(i.cutRebuild),
		"":                 with(i.check),
	}
}

// tap has a player tap. A win is reported when the stream has it and Redis still has it, as with --confirm stream. Or
// the node dies before that.
func (i *interleaving) tap() {
	user := rapid.SampledFrom(i.users).Draw(i.rt, "user")
	drop := rain.DropID{N: i.drop, K: i.pick("drop", interleavedDrops)}
	shard := rain.HomeShard(user, interleavedShards)
	batch := i.batches[shard]
	batch.Add(&user, drop.Ticket())
	amounts, err := i.amounts.Of(i.c)
	i.must(err)
	answer, err := batch.Decide(i.Context(), i.c.Current(), amounts, i.now)
	if errors.Is(err, store.ErrNoState) || errors.Is(err, store.ErrBehind) {
		return
	}
	i.must(err)
	key, r := user+" "+drop.String(), answer.Results[0]
	packet, before := i.told[key]
	if before && (r.Outcome != outcome.Won || r.Packet != packet) {
		i.rt.Fatalf("%s received packet %d, and now %+v", key, packet, r)
	}
	if r.Outcome != outcome.Won {
		return
	}
	switch rapid.IntRange(0, 3).Draw(i.rt, "then") {
	case 0:
		return // the node dies without a report
	case 1:
		i.read(shard) // its entry is in flight for a long time
		return
	}
	found, err := i.grabber.Lookup(i.Context(), i.c.ID, shard, []string{answer.EntryIDs[0]})
	i.must(err)
	if found[0].Entry != nil {
		i.must(i.publisher.Publish(i.Context(), *found[0].Entry))
	}
	batch.Confirmed()
	i.told[key] = r.Packet
}

// read has a process read an outbox.
func (i *interleaving) read(shard int) {
	entries, _, err := i.grabber.Page(i.Context(), i.c.ID, shard, "", 100)
	i.must(err)
	i.inAir = append(i.inAir, entries...)
}

func (i *interleaving) anyInAir() []rain.Entry {
	if len(i.inAir) == 0 {
		return nil
	}
	return []rain.Entry{i.inAir[i.pick("entry", len(i.inAir))]}
}

func (i *interleaving) publishOne() {
	for _, e := range i.anyInAir() {
		i.must(i.publisher.Publish(i.Context(), e))
	}
}

// settleOne posts an entry that was read, perhaps long ago. The settler dies after the commit.
func (i *interleaving) settleOne() { i.posts(i.anyInAir()) }

// posts brings entries into the ledger. There is nothing in them that waits for a person.
func (i *interleaving) posts(entries []rain.Entry) {
	if len(entries) == 0 {
		return
	}
	posted, err := i.ledger.Poster.Post(i.Context(), paytest.Copies(entries))
	i.must(err)
	if len(posted.Dead)+len(posted.Cut) > 0 {
		i.rt.Fatalf("%+v", posted)
	}
}

// settle brings all of an outbox into the ledger, and removes it.
func (i *interleaving) settle(shard int) {
	entries, _, err := i.grabber.Page(i.Context(), i.c.ID, shard, "", 100)
	i.must(err)
	i.posts(entries)
	var refs []rain.EntryRef
	for _, e := range entries {
		refs = append(refs, e.Ref)
	}
	if len(refs) > 0 {
		i.must(i.grabber.Remove(i.Context(), refs))
	}
}

// move makes a move that is cut off before or after one of its steps, or not at all.
func (i *interleaving) move() {
	from, to := i.shard(), i.shard()
	if from == to {
		return
	}
	steps := &cutSteps{stock: i.grabber.Moves, rows: i.ledger.Moves, after: rapid.Bool().Draw(i.rt, "after"),
		at: rapid.SampledFrom([]string{"", "lend", "row", "borrow", "done", "forget"}).Draw(i.rt, "cut")}
	m := i.lossy.mover(func(o *MoverOptions) { o.Stock, o.Ledger = steps, cutRows{steps} })
	i.carried(m.carry(i.Context(), i.c, []transfer{{from, to, rapid.IntRange(1, 7).Draw(i.rt, "count")}},
		&i.pace.refusals))
	for _, l := range i.levels()[from].Lent {
		i.loans = append(i.loans, loan{from, l})
	}
}

// carried is the end of moves, which may have been cut off, and may have met a lost shard.
func (i *interleaving) carried(err error) {
	if err != nil && !errors.Is(err, errCut) && !errors.Is(err, store.ErrNoState) &&
		!errors.Is(err, posting.ErrCutOff) {
		i.rt.Fatal(err)
	}
}

// endLoan lets a node go on that had hung with a move in hand.
func (i *interleaving) endLoan() {
	if len(i.loans) == 0 {
		return
	}
	one := i.loans[i.pick("loan", len(i.loans))]
	i.carried(i.mover.end(i.Context(), i.c.ID, one.from, one.lent))
}

// look is a round of the mover, with taps that wait somewhere.
func (i *interleaving) look() {
	i.now += int64(rapid.SampledFrom([]int{0, 200, finishEveryMS}).Draw(i.rt, "passed"))
	needs := map[int]need{i.shard(): {waiting: rapid.IntRange(1, 9).Draw(i.rt, "taps")}}
	levels := i.levels()
	i.pace.note(levels, i.now)
	i.carried(errors.Join(i.mover.finish(i.Context(), i.c, levels, i.pace),
		i.mover.carry(i.Context(), i.c, plan(levels, i.pace.rates, needs, nil), &i.pace.refusals)))
	if len(i.pace.refusals.lenders(i.now)) > 0 {
		i.rt.Fatalf("an honest move was refused: %+v", i.pace.refusals.moves)
	}
}

func (i *interleaving) levels() []store.Level {
	levels, err := i.grabber.Shards(i.Context(), i.c)
	i.must(err)
	return levels
}
