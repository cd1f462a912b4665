package campaigns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/servertest"
)

// wentBack brings a shard back to how it was when the last call began, as a Redis that comes back with an older
// file does.
func (l *lossy) wentBack(c *rain.Campaign, shard int, meanwhile func()) {
	l.Helper()
	k := l.grabber.Keys(c.ID, shard)
	keys := []string{k.State, k.Stock, k.Wins, k.Taps, k.Outbox, k.Lent, k.Borrowed}
	dumps := make([]string, len(keys))
	for i, key := range keys {
		dumps[i], _ = l.rdb.Dump(l.Context(), key).Result() // nothing of a key that is not there
	}
	meanwhile()
	for i, key := range keys {
		testenv.Must(l, l.rdb.Del(l.Context(), key).Err())
		if dumps[i] == "" {
			continue
		}
		testenv.Must(l, l.rdb.Restore(l.Context(), key, 0, dumps[i]).Err())
	}
}

// watch returns a round of the watch over a campaign.
func (l *lossy) watch(c *rain.Campaign) (look func()) {
	l.Helper()
	w := NewWatch(WatchOptions{Node: l.node, Seen: l.ledger.Moves, Loser: l.grabber.Moves, Sums: l.grabber.Sums,
		Holder: l.grabber.Confirmer})
	return func() {
		l.Helper()
		if _, err := w.look(l.Context(), c); err != nil {
			l.Error(err)
		}
	}
}

// wantNoTaps fails the test if the first shard of two takes a tap.
func (l *lossy) wantNoTaps(c *rain.Campaign) {
	l.Helper()
	drop := rain.DropID{N: c.Current().FirstWave, K: 2}.String()
	r := grabtest.TapOn(l.grabber.Gate(c), paytest.Home("w", 0, 2), drop)
	testenv.Equal(l, r.Outcome, outcome.Unavailable, "a tap: %+v", r)
}

// wonStill fails the test unless a tap on a drop that was won is answered with the same packet.
func (l *lossy) wonStill(c *rain.Campaign, won rain.Win) {
	l.Helper()
	if r := grabtest.TapOn(l.grabber.Gate(c), won.User, won.Drop); r.Outcome != outcome.Won || r.Packet != won.Packet {
		l.Errorf("who had won before has now %+v", r)
	}
}

// TestARedisThatWentBack: a shard with fewer wins or moves than the ledger takes no taps, and raises one alarm. Its
// rebuild restores all of the ledger and of the outbox, and each packet is in one place. A complete shard does not
// change. The reconcile loop rebuilds by itself if it may.
func TestARedisThatWentBack(t *testing.T) {
	for name, meanwhile := range map[string]func(l *lossy, c *rain.Campaign){
		"a win": func(l *lossy, c *rain.Campaign) { l.post(l.win(c, 0, paytest.Home("u", 0, 2))) },
		"what it lent": func(l *lossy, c *rain.Campaign) {
			testenv.Must(l, l.mover(nil).carry(l.Context(), c, []transfer{{0, 1, 4}}, &refusals{}))
		},
		"what it borrowed": func(l *lossy, c *rain.Campaign) {
			testenv.Must(l, l.mover(nil).carry(l.Context(), c, []transfer{{1, 0, 4}}, &refusals{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLossy(t, forgetful["real"](t))
			c := l.raining(servertest.EvenSpec(200, 20, 2))
			look, old := l.watch(c), paytest.Home("v", 0, 2)
			left := l.win(c, 1, old) // waits in the outbox all the while
			if len(left) != 1 {
				t.Fatalf("%+v", left)
			}
			look()
			l.quiet()
			l.wentBack(c, 0, func() { meanwhile(l, c) })
			look()
			l.alarm("redis_went_back", c.ID)
			look()
			l.quiet()
			l.wantNoTaps(c)
			l.loop.Rebuild = l.rebuilder.Rebuild // as with --confirm stream
			testenv.Must(t, l.loop.keep(t.Context(), c))
			l.alarm("state_lost", c.ID)
			l.wantLost(c, 0)
			look()
			l.quiet()
			l.stock(c, "rebuilt")
			l.wonStill(c, left[0].Wins[0])
			l.balanced(c, "rebuilt")
		})
	}
}

// TestARedisFromBeforeARebuild: after a shard was lost and rebuilt, Redis comes back with an older copy of it. The
// shard would offer its packets a second time, so it takes no taps until it is rebuilt again.
func TestARedisFromBeforeARebuild(t *testing.T) {
	for name, tc := range map[string]struct {
		cut    string // the step at which the rebuild ends
		played bool   // a player has won in the old epoch since
	}{"rebuilt": {}, "cut off": {cut: "fenced"}, "played on": {played: true}} {
		t.Run(name, func(t *testing.T) {
			l := newLossy(t, forgetful["real"](t))
			c := l.raining(servertest.EvenSpec(200, 20, 2))
			look, old := l.watch(c), paytest.Home("v", 0, 2)
			first := l.win(c, 1, old)
			l.post(first)
			l.wentBack(c, 0, func() {
				l.tick()
				l.loseShard(c, 0)
				r := l.another()
				l.at(r, tc.cut, cut)
				if _, err := r.Rebuild(t.Context(), c.ID); err != nil && !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				look()
				l.quiet()
			})
			if tc.played {
				later := fmt.Sprintf("%d-0", time.Now().UnixMilli()+60_000)
				testenv.Must(t, l.rdb.HSet(t.Context(), l.grabber.Keys(c.ID, 0).State, "last", later).Err())
			}
			look()
			l.alarm("redis_went_back", c.ID)
			look()
			l.quiet()
			l.wantNoTaps(c)
			l.rebuild(c.ID)
			look()
			l.quiet()
			l.stock(c, "rebuilt")
			l.wonStill(c, first[0].Wins[0])
			l.balanced(c, "rebuilt")
		})
	}
}

// halfRead has a first shard that cannot be read, and a second one that has gone back.
type halfRead struct{ all bool }

func (h halfRead) Shards(context.Context, *rain.Campaign) ([]store.Level, error) {
	if h.all {
		return nil, errAway
	}
	return []store.Level{{Err: errAway}, {Known: true, Entry: "5-0"}, {}}, nil
}

func (halfRead) Known(context.Context, *rain.Campaign) ([]posting.Known, error) {
	return []posting.Known{{Entry: "9-0"}, {Entry: "9-0"}, {Entry: "9-0"}}, nil
}

func (halfRead) Lose(_ context.Context, _ string, shard int, _ string, _ int64) (bool, error) {
	return false, fmt.Errorf("shard %d is lost", shard)
}

func (halfRead) Holds(context.Context, string, int) error { return nil }

var errAway = errors.New("a master is away")

// TestAShardThatCannotBeReadHidesNoOther: the watch looks at all that can be read, and says how many cannot.
func TestAShardThatCannotBeReadHidesNoOther(t *testing.T) {
	c := &rain.Campaign{ID: "c", Spec: rain.Spec{Shards: 3}}
	w := NewWatch(WatchOptions{Seen: halfRead{}, Loser: halfRead{}, Sums: halfRead{}, Holder: halfRead{}})
	unknown, err := w.look(t.Context(), c)
	if unknown != 2 || !errors.Is(err, errAway) || !strings.Contains(err.Error(), "shard 1 is lost") ||
		strings.Contains(err.Error(), "shard 0 is lost") {
		t.Errorf("%d unknown, %v", unknown, err)
	}
	w.o.Sums = halfRead{all: true}
	if unknown, err := w.look(t.Context(), c); unknown != 3 || !errors.Is(err, errAway) {
		t.Errorf("%d unknown, %v", unknown, err)
	}
}
