// Package grabtest has campaigns for the tests of package grab and its rooms. They are stocked in Redis. A rain is
// falling, and nodes take its taps.
package grabtest

import (
	"cmp"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/rain"
)

// Setup describes the game of a test. The zero value is 10 packets of 1.00 each, one win for a player, and one shard.
// Its rain has been falling for ten seconds and goes on for minutes.
type Setup struct {
	Packets, Wins, Taps, Shards int
	GuestsShare                 rain.Share
	Budget                      rain.Money
	Split                       rain.SplitKind
	TapRate                     int
	Rain                        func(*rain.Rain)
	NoRain, NotOpen             bool
	Options                     func(*Options)
}

// Options are how a game's nodes are made.
type Options struct {
	grab.Options

	Namespace string
	Confirm   confirm.Mode
	Publisher confirm.Publisher // nil for none
}

// Game is a campaign in Redis and a node that takes its taps.
type Game struct {
	T       testing.TB
	RDB     redis.UniversalClient
	G       *Node
	Gate    *Gate
	C       *rain.Campaign
	Amounts *rain.Amounts
	Options Options
	Gone    int // wins that are in no outbox any more
}

// Node is all that a node does with Redis.
type Node struct {
	*store.Store
	*store.Stock
	*store.Sums
	*store.Restorer
	*store.Moves
	*store.Ranking
	*store.Nodes
	*store.Limits
	*store.Wins
	*confirm.Outbox
	*confirm.Confirmer
	*grab.Gates[Done]
}

// Ring seals on all nodes of tests.
var Ring = seal.NewRing(Secret)

// Secret is that of the ring.
var Secret = seal.Secret{1, 2, 3}

// Done takes a tap's result.
type Done func(outcome.Result)

// Gate is a gate whose taps carry the receiver of their results.
type Gate = grab.Gate[Done]

// New makes a game. Its campaign is stocked, opened and raining, unless s says otherwise.
func New(t testing.TB, rdb redis.UniversalClient, s Setup) *Game {
	t.Helper()
	clock := store.NewClock(rdb, nil)
	testenv.Must(t, clock.Sync(t.Context()))
	packets := cmp.Or(s.Packets, 10)
	gm := &Game{T: t, RDB: rdb, Options: Options{Options: grab.Options{TapRate: s.TapRate, Clock: clock.Now}}}
	if s.Options != nil {
		s.Options(&gm.Options)
	}
	gm.C = &rain.Campaign{
		ID: testenv.Namespace(t), Status: rain.Open, Revision: 1, SplitSeed: rain.Seed{1},
		Spec: rain.Spec{
			Name: "Gala", Sponsor: "acme", Budget: cmp.Or(s.Budget, rain.Money(packets)*100), Packets: packets, Min: 1,
			Split: cmp.Or(s.Split, rain.Even), WinsPerUser: cmp.Or(s.Wins, 1), TapsPerUser: s.Taps,
			Shards:      cmp.Or(s.Shards, 1),
			GuestsShare: s.GuestsShare,
			ExpiresInMS: rain.DefaultSpec().ExpiresInMS,
		},
	}
	gm.Amounts = testenv.Got(rain.NewAmounts(gm.C)).Must(t)
	gm.G = gm.Node()
	if s.NotOpen {
		return gm
	}
	testenv.Must(t, gm.G.Open(t.Context(), gm.C, gm.Options.Clock()+60_000))
	if !s.NoRain {
		gm.LetItRain(s.Rain)
	}
	gm.Gate = gm.G.Gate(gm.C)
	return gm
}

// Node is another node on the same Redis.
func (gm *Game) Node() *Node {
	n := NewNode(gm.RDB, gm.Options)
	gm.T.Cleanup(n.Close)
	return n
}

// NewNode makes a node. Close it.
func NewNode(rdb redis.UniversalClient, o Options) *Node {
	s := store.New(rdb, store.Options{Namespace: o.Namespace, Clock: o.Clock, Log: o.Log, Ring: Ring})
	c := confirm.New(s, o.Confirm, o.Publisher, o.Log)
	return &Node{
		Store: s, Stock: store.NewStock(s), Sums: store.NewSums(s), Restorer: store.NewRestorer(s),
		Moves:   store.NewMoves(s),
		Ranking: store.NewRanking(s), Nodes: store.NewNodes(s), Limits: store.NewLimits(s),
		Wins: store.NewWins(s), Outbox: confirm.NewOutbox(c), Confirmer: c,
		Gates: grab.NewGates(s, c, answer, o.Options),
	}
}

func answer(taps []*grab.Tap[Done]) {
	for _, t := range taps {
		t.Caller(t.Result())
	}
}

// LetItRain adds a rain, which has been falling for ten seconds unless change says otherwise, and applies it.
func (gm *Game) LetItRain(change func(*rain.Rain)) {
	gm.T.Helper()
	r := rain.Rain{ID: testenv.Namespace(gm.T), Campaign: gm.C.ID, StartsAt: gm.Options.Clock() - 10_000,
		Settings: rain.DefaultRain().Settings, Seed: rain.Seed{2}}
	r.DurationMS, r.DropsPerSecond, r.FallMS = 600_000, 40, 20_000
	if last := gm.C.Current(); last != nil {
		r.FirstWave = last.FirstWave + last.Waves()
	}
	if change != nil {
		change(&r)
	}
	gm.C = gm.C.Clone()
	gm.C.Rains = append(gm.C.Rains, r)
	gm.Apply()
}

// Apply raises the campaign's revision and applies it.
func (gm *Game) Apply() {
	gm.T.Helper()
	gm.C.Revision++
	testenv.Must(gm.T, gm.G.Apply(gm.T.Context(), gm.C))
}

// Drop is the i-th drop of the rain that is in the air, stays there for a second more, and is a packet.
func (gm *Game) Drop(i int) string {
	gm.T.Helper()
	r, now := gm.C.Current(), gm.Options.Clock()
	sky := rain.NewSky(r)
	landed := max(0, (now-r.StartsAt-r.FallMS-rain.GraceMS)/rain.WaveMS)
	for n := r.FirstWave + landed; n < r.FirstWave+r.Waves(); n++ {
		for _, d := range r.Wave(n).Drops {
			id := rain.DropID{N: n, K: d.K}
			if sky.Classify(id, now, false) != rain.InAir || sky.Classify(id, now+1_000, false) != rain.InAir {
				continue
			}
			if i == 0 {
				return id.String()
			}
			i--
		}
	}
	gm.T.Fatal("not that many drops in the air")
	return ""
}

// Tap taps and waits for the result.
func (gm *Game) Tap(user, drop string) outcome.Result { return TapOn(gm.Gate, user, drop) }

// TapOn taps on a gate and waits for the result.
func TapOn(gate *Gate, user, drop string) outcome.Result {
	got := make(chan outcome.Result, 1)
	Ask(gate, user, drop, func(r outcome.Result) { got <- r })
	return <-got
}

// Ask taps and hands the result to done, from the gate or from the script.
func Ask(gate *Gate, user, drop string, done Done) {
	id, ok := rain.ParseDrop(drop)
	if !ok {
		done(outcome.Result{Outcome: outcome.UnknownDrop}) // as the server does
		return
	}
	if r, known := gate.Tap(&grab.Tap[Done]{User: user, Drop: id, Caller: done}); known {
		done(r)
	}
}

// Want taps and compares the outcome.
func (gm *Game) Want(user, drop string, want outcome.Outcome) outcome.Result {
	gm.T.Helper()
	return gm.WantOn(gm.Gate, user, drop, want)
}

// WantOn is Want on the gate of another node.
func (gm *Game) WantOn(gate *Gate, user, drop string, want outcome.Outcome) outcome.Result {
	gm.T.Helper()
	r := TapOn(gate, user, drop)
	testenv.Equal(gm.T, r.Outcome, want, "%s on %s", user, drop)
	return r
}

// Levels reads the levels.
func (gm *Game) Levels() store.Levels {
	gm.T.Helper()
	return testenv.Got(gm.G.Levels(gm.T.Context(), gm.C)).Must(gm.T)
}

// WantLevels compares the levels.
func (gm *Game) WantLevels(want store.Levels) {
	gm.T.Helper()
	testenv.Equal(gm.T, gm.Levels(), want, "levels")
}

// Wins is every win that is in the campaign's outboxes, by packet, without its seal. A packet that is there twice
// fails the test, and so does a wrong seal.
func (gm *Game) Wins() map[int]rain.Win {
	gm.T.Helper()
	shards := testenv.Got(gm.G.Snapshot(gm.T.Context(), gm.C)).Must(gm.T)
	all := map[int]rain.Win{}
	for _, s := range shards {
		for _, e := range s.Entries {
			for _, w := range e.Wins {
				if other, twice := all[w.Packet]; twice {
					gm.T.Errorf("packet %d has been won by %v and by %v", w.Packet, other, w)
				}
				if !Ring.CheckTap(w.Seal, gm.C.ID, w.User, w.Drop, e.SealedAt) {
					gm.T.Errorf("packet %d is of %v, without its seal", w.Packet, w)
				}
				w.Seal = ""
				all[w.Packet] = w
			}
		}
	}
	return all
}

// Balance checks that each packet is in one place: the stock of a shard, in flight, won or returned. It also checks
// that every win has the amount of its packet in the split.
func (gm *Game) Balance() {
	gm.T.Helper()
	shards := testenv.Got(gm.G.Snapshot(gm.T.Context(), gm.C)).Must(gm.T)
	var places rain.Numbers
	won, inOutbox := 0, 0
	for _, s := range shards {
		won += s.Won
		places = append(places, s.Stock...)
		for _, lent := range s.Lent {
			if !gm.hasCome(lent) {
				places = append(places, lent.Numbers...)
			}
		}
		for _, e := range s.Entries {
			if e.Reclaim != nil {
				places = append(places, e.Reclaim.Numbers...)
			}
			for _, w := range e.Wins {
				inOutbox++
				places = append(places, rain.Range{First: w.Packet, Last: w.Packet})
				if want := gm.Amounts.Of(w.Packet); w.Amount != want {
					gm.T.Errorf("packet %d: won %d, it holds %d", w.Packet, w.Amount, want)
				}
			}
		}
	}
	if inOutbox+gm.Gone != won {
		gm.T.Errorf("%d wins in the outbox and %d before, %d in the state", inOutbox, gm.Gone, won)
	}
	slices.SortFunc(places, func(a, b rain.Range) int { return a.First - b.First })
	end := -1
	for _, r := range places {
		if r.First <= end {
			gm.T.Errorf("packets %d-%d are in two places", r.First, min(end, r.Last))
		}
		end = max(end, r.Last)
	}
	if places.Count()+gm.Gone != gm.C.Packets || end >= gm.C.Packets {
		gm.T.Errorf("%d packets up to %d are somewhere and %d are gone, want %d", places.Count(), end, gm.Gone,
			gm.C.Packets)
	}
}

// hasCome reports whether the target shard of a move has its packets.
func (gm *Game) hasCome(lent rain.Lent) bool {
	gm.T.Helper()
	return testenv.Got(gm.RDB.HExists(gm.T.Context(), gm.G.Keys(gm.C.ID, lent.To).Borrowed, lent.Move).Result()).
		Must(gm.T)
}
