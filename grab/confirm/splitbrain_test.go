package confirm_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"redrain/grab/confirm"
	"redrain/grab/confirm/streamtest"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/rain"
)

// TestTwoMastersNeverShareAPacket plays taps, confirmations, relays, promotions, restarts with old data, rebuilds and
// settlements on two masters with one node each, in any order. Between two steps of a confirmation, a relay or a
// rebuild, anything else may happen; each may also end there. No packet is confirmed for two players, and the ledger
// pays each confirmed win, in whatever order it gets the entries that count.
func TestTwoMastersNeverShareAPacket(t *testing.T) {
	var clients [2]redis.UniversalClient
	for i := range clients {
		clients[i] = grabtest.InProcess(t)
	}
	confirmed := 0
	defer func() { t.Logf("%d wins were confirmed", confirmed) }()
	property.CheckFew(t, 100, 10, func(rt *rapid.T) {
		for range 5 {
			b := newBrain(t, rt, clients)
			rt.Repeat(b.actions())
			b.end()
			confirmed += len(b.told)
		}
	})
}

func (b *brain) actions() map[string]func(*rapid.T) {
	with := func(do func()) func(*rapid.T) {
		return func(rt *rapid.T) { b.rt = rt; do() }
	}
	return map[string]func(*rapid.T){
		"tap":       with(b.tap),
		"tap, too":  with(b.tap),
		"tap again": with(b.tapAgain),
		"step":      with(func() { b.steps(1) }),
		"steps":     with(func() { b.steps(rapid.IntRange(1, 20).Draw(b.rt, "steps")) }),
		"end one":   with(func() { b.steps(100) }),
		"end last": with(func() {
			if n := len(b.tasks); n > 0 {
				b.run(b.tasks[n-1], 100)
			}
		}),
		"die": with(b.die),
		"promote": with(func() {
			from := b.master()
			b.put(1-from, b.save(from))
		}),
		"save":    with(func() { m := b.master(); b.saved[m] = b.save(m) }),
		"restart": with(b.restart),
		"relay":   with(b.relay),
		"rebuild": with(b.rebuild),
		"settle":  with(b.settle),
	}
}

// brain is two masters of Redis under one stream and one ledger, and a node on each.
type brain struct {
	rt      *rapid.T
	t       *testing.T
	c       *rain.Campaign
	drop    string
	stream  *streamtest.Stream
	games   [2]*grabtest.Game
	hooks   [2]*brainHook
	saved   [2]map[string]any
	history int
	users   []string
	tasks   []*task

	told    map[int]string // the notified player of each packet
	owner   map[int]rain.Win
	entries map[int]rain.EntryRef // of owner
	posted  map[string]bool
	barrier int64
	failure string // of a task
}

func newBrain(t *testing.T, rt *rapid.T, clients [2]redis.UniversalClient) *brain {
	t.Helper()
	b := &brain{rt: rt, t: t, stream: &streamtest.Stream{}, told: map[int]string{}, owner: map[int]rain.Win{},
		entries: map[int]rain.EntryRef{}, posted: map[string]bool{}}
	for i, rdb := range clients {
		testenv.Must(rt, rdb.FlushAll(t.Context()).Err())
		b.hooks[i] = &brainHook{}
		own := redis.NewClient(rdb.(*redis.Client).Options()) // an in-process Redis
		own.AddHook(b.hooks[i])
		t.Cleanup(func() { _ = own.Close() })
		setup := grabtest.Setup{Packets: 4, NotOpen: i > 0, Options: func(o *grabtest.Options) {
			o.Confirm, o.Publisher = confirm.Stream, gatedStream{b.stream}
		}}
		b.games[i] = grabtest.New(t, own, setup)
	}
	b.c, b.drop = b.games[0].C, b.games[0].Drop(0)
	b.games[1].C = b.c
	b.put(0, b.save(0))
	b.put(1, b.save(0))
	return b
}

func (b *brain) master() int { return rapid.IntRange(0, 1).Draw(b.rt, "master") }

// save copies all that a master has. Its clock cannot go back, so the copy has its wins' ids.
func (b *brain) save(m int) map[string]any {
	ctx, rdb, all := b.t.Context(), b.games[m].RDB, map[string]any{}
	k := b.games[m].G.Keys(b.c.ID, 0)
	for _, key := range []string{k.State, k.Wins, k.Taps, k.Lent, k.Borrowed} {
		all[key] = testenv.Got(rdb.HGetAll(ctx, key).Result()).Must(b.rt)
	}
	all[k.Stock] = testenv.Got(rdb.LRange(ctx, k.Stock, 0, -1).Result()).Must(b.rt)
	all[k.Outbox] = testenv.Got(rdb.XRange(ctx, k.Outbox, "-", "+").Result()).Must(b.rt)
	return all
}

// put gives a master the data of a copy, and a new history.
func (b *brain) put(m int, all map[string]any) {
	ctx, rdb := b.t.Context(), b.games[m].RDB
	b.history++
	b.hooks[m].history = fmt.Sprint("history", b.history)
	for key := range all {
		testenv.Must(b.rt, rdb.Del(ctx, key).Err())
	}
	for key, value := range all {
		switch value := value.(type) {
		case map[string]string:
			if len(value) > 0 {
				testenv.Must(b.rt, rdb.HSet(ctx, key, value).Err())
			}
		case []string:
			if len(value) > 0 {
				testenv.Must(b.rt, rdb.RPush(ctx, key, value).Err())
			}
		case []redis.XMessage:
			for _, one := range value {
				testenv.Must(b.rt, rdb.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: one.ID, Values: one.Values}).Err())
			}
		}
	}
	// A replica has the outbox's last id, too, when its entry is not there any more.
	k := b.games[m].G.Keys(b.c.ID, 0)
	state, _ := all[k.State].(map[string]string)
	entries, _ := all[k.Outbox].([]redis.XMessage)
	if last := state["last"]; last != "" && (len(entries) == 0 || entries[len(entries)-1].ID != last) {
		testenv.Must(b.rt, rdb.XAdd(ctx, &redis.XAddArgs{Stream: k.Outbox, ID: last, Values: []string{"-", ""}}).Err())
		testenv.Must(b.rt, rdb.XDel(ctx, k.Outbox, last).Err())
	}
}

func (b *brain) restart() {
	if m := b.master(); b.saved[m] != nil {
		b.put(m, b.saved[m])
	}
}

func (b *brain) tap() {
	user := fmt.Sprint("u", len(b.users))
	b.users = append(b.users, user)
	b.tapAs(user)
}

func (b *brain) tapAgain() {
	if len(b.users) > 0 {
		b.tapAs(rapid.SampledFrom(b.users).Draw(b.rt, "user"))
	}
}

// tapAs has a node decide a tap, and begins to confirm its win.
func (b *brain) tapAs(user string) {
	gm := b.games[b.master()]
	script := gm.Script()
	if script.Call(b.t.Context(), []*grabtest.Tap{grabtest.TapOf(b.t, user, b.drop)}) != nil {
		return // the shard is lost
	}
	r, id := script.Answer.Results[0], script.Answer.EntryIDs[0]
	if r.Outcome != outcome.Won {
		return
	}
	win := rain.Win{User: user, Packet: r.Packet, Amount: r.Amount, Drop: b.drop}
	var p confirm.Pending
	if id == script.Answer.EntryID {
		written := script.Answer.Entry
		p.Add(id, written.Wins[0], &written)
	} else {
		p.Add(id, win, nil)
	}
	b.begin(func(ctx context.Context) {
		_ = gm.G.Confirm(ctx, b.c.ID, 0, &p)
		if !p.Confirmed(id) {
			return
		}
		if other := b.told[win.Packet]; other != "" && other != user {
			b.failure = fmt.Sprintf("packet %d is confirmed for %s and for %s", win.Packet, other, user)
		}
		b.told[win.Packet] = user
	})
}

// relay begins to publish what is in an outbox.
func (b *brain) relay() {
	gm := b.games[b.master()]
	b.begin(func(ctx context.Context) {
		entries, _, err := gm.G.Page(ctx, b.c.ID, 0, "", 100)
		if err != nil || len(entries) == 0 || gm.G.MayLeave(ctx, entries) != nil {
			return
		}
		for _, e := range entries {
			_ = gatedStream{b.stream}.Publish(ctx, e)
		}
	})
}

// rebuild begins to rebuild a lost shard, as server/campaigns does.
func (b *brain) rebuild() {
	gm := b.games[b.master()]
	b.begin(func(ctx context.Context) {
		lost, err := gm.G.Lost(ctx, b.c)
		if err != nil || len(lost) == 0 {
			return
		}
		epoch, err := gm.G.BeginRebuild(ctx, b.c.ID, 0)
		if err != nil {
			return
		}
		for _, e := range b.stream.Counting(b.c.ID, 0) {
			b.post(e.Entry)
		}
		left, _, err := gm.G.Page(ctx, b.c.ID, 0, "", 100)
		if err != nil {
			return
		}
		for _, e := range left {
			if !slices.ContainsFunc(e.Wins, func(w rain.Win) bool { return b.isRival(w) }) {
				b.post(e)
			}
		}
		if gm.G.Remove(ctx, grabtest.Refs(left)) != nil {
			return
		}
		restored := gm.G.RestoreAs(ctx, b.c, 0, func(ctx context.Context) (what store.Restoration, err error) {
			held, err := gm.G.IsHeld(ctx, b.c.ID, 0, epoch)
			if err == nil && !held {
				err = rain.ErrEpochClaimed
			}
			if err != nil {
				return what, err
			}
			b.barrier = max(b.barrier+1, gm.Options.Clock()+1_000)
			var known []grabtest.Known
			for packet, w := range b.owner {
				known = append(known, grabtest.Known{Win: w, Entry: b.entries[packet]})
			}
			what = gm.Restoration(0, known)
			what.Barrier, what.Claim = fmt.Sprintf("%d-0", b.barrier), epoch.Claim
			return what, nil
		})
		if restored == nil {
			_ = gm.G.Apply(ctx, b.c)
		}
	})
}

func (b *brain) isRival(w rain.Win) bool {
	other, is := b.owner[w.Packet]
	return is && other.User != w.User
}

// settle posts one of the entries that count.
func (b *brain) settle() {
	if all := b.stream.Counting(b.c.ID, 0); len(all) > 0 {
		b.post(rapid.SampledFrom(all).Draw(b.rt, "entry").Entry)
	}
}

// post is that of the ledger: entries up to the barrier are void.
func (b *brain) post(e rain.Entry) {
	ms, seq, err := e.Ref.Position()
	testenv.Must(b.rt, err)
	if b.posted[e.Ref.ID] || ms < b.barrier || ms == b.barrier && seq == 0 {
		return
	}
	b.posted[e.Ref.ID] = true
	for _, w := range e.Wins {
		if _, is := b.owner[w.Packet]; !is {
			w.Amount = b.games[0].Amounts.Of(w.Packet)
			b.owner[w.Packet], b.entries[w.Packet] = w, e.Ref
		}
	}
}

// end ends all tasks, settles all, and compares.
func (b *brain) end() {
	for len(b.tasks) > 0 {
		b.steps(1)
	}
	for _, e := range b.stream.Counting(b.c.ID, 0) {
		b.post(e.Entry)
	}
	for packet, user := range b.told {
		if got := b.owner[packet].User; got != user {
			b.rt.Fatalf("packet %d is confirmed for %s, and paid to %q", packet, user, got)
		}
	}
}

func (b *brain) prune() {
	b.tasks = slices.DeleteFunc(b.tasks, func(one *task) bool { return one.ended })
	if b.failure != "" {
		b.rt.Fatal(b.failure)
	}
}
