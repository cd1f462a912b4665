package campaigns

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// laneBus notifies the gate at once, and remembers the lanes that the mover reports as sold out.
type laneBus struct {
	Bus
	gate *grabtest.Gate
	told [rain.LaneCount]bool
}

func (b *laneBus) SoldOut(_ string, lane rain.Lane) {
	b.told[lane] = true
	b.gate.SoldOut(lane)
}

// laned is a campaign with lanes that is played at random.
type laned struct {
	*lossy
	rt     *rapid.T
	c      *rain.Campaign
	layout rain.Layout
	bus    *laneBus
	mover  *Mover
	pace   *pace
	at     int64 // the mover's time
	won    [rain.LaneCount]int
	wins   map[string]int
	taps   map[string]int
}

func (l *laned) part(lane rain.Lane) int {
	_, packets := l.layout.Part(lane)
	return packets.Count()
}

// tap has a player tap a drop of their own, after the mover has looked at what their shard lacks.
func (l *laned) tap(user string) {
	lane, home := l.layout.Lane(user), l.layout.Home(user)
	l.at += 200
	if l.wins[user] < l.c.WinsPerUser { // else the tap never gets to the shard
		l.mover.Dry(l.c.ID, cluster.DryShard{Shard: home, Node: "n", Taps: 1})
	}
	testenv.Must(l.rt, l.mover.look(l.Context(), l.c, l.pace))
	drop := rain.DropID{N: l.c.Current().FirstWave, K: l.taps[user]}
	l.taps[user]++
	r := grabtest.TapOn(l.grabber.Gate(l.c), user, drop.String())
	if r.Outcome == outcome.Late {
		l.rt.Skip("the drops have landed: a busy machine took 20 s to get here")
	}
	want := outcome.Won
	switch {
	case l.wins[user] >= l.c.WinsPerUser:
		want = outcome.Already
	case l.won[lane] == l.part(lane):
		want = outcome.SoldOut
	}
	if r.Outcome != want {
		l.rt.Fatalf("%s, of lane %d, which has won %d of %d: %s, want %s; the shards have %v", user, lane, l.won[lane],
			l.part(lane), r.Outcome, want, l.lossy.stock(l.c, "after a tap"))
	}
	if want == outcome.Won {
		if !l.layout.MayHave(user, r.Packet) {
			l.rt.Fatalf("%s has won packet %d, of another lane: %+v", user, r.Packet, l.layout)
		}
		l.won[lane]++
		l.wins[user]++
	}
	for lane, told := range l.bus.told {
		if told && l.won[lane] < l.part(rain.Lane(lane)) {
			l.rt.Fatalf("lane %d is sold out with %d of %d won", lane, l.won[lane], l.part(rain.Lane(lane)))
		}
	}
}

// settle posts all that is in the outboxes.
func (l *laned) settle() {
	if dead := l.lossy.settle(l.c); len(dead) > 0 {
		l.rt.Fatalf("dead letters: %+v", dead)
	}
}

// rebuildOne rebuilds a shard that Redis has lost.
func (l *laned) rebuildOne(shard int) {
	l.settle()
	l.tick()
	l.loseShard(l.c, shard)
	l.rebuild(l.c.ID)
	l.bus.gate.Restored()
	l.bus.told = [rain.LaneCount]bool{}
}

// TestLanesAreNeverCrossed plays at random, with guests and players on shards of their own. Stock moves, and shards are
// lost and rebuilt. Players win in their lane only, as long as it has stock. A lane's sold-out notice comes at its end,
// and not before. In the end each packet is paid or returned, and the books balance.
func TestLanesAreNeverCrossed(t *testing.T) {
	for name, redis := range forgetful {
		t.Run(name, func(t *testing.T) {
			l := newLossy(t, redis(t))
			property.CheckFew(t, 6, 1, func(rt *rapid.T) { playLanes(l, rt) })
		})
	}
}

func playLanes(of *lossy, rt *rapid.T) {
	packets := rapid.IntRange(4, 60).Draw(rt, "packets")
	spec := servertest.EvenSpec(rain.Money(packets)*7, packets, rapid.IntRange(1, 6).Draw(rt, "shards"))
	spec.Split, spec.WinsPerUser = rain.DoubleMean, rapid.IntRange(1, 4).Draw(rt, "wins")
	spec.GuestsShare = rain.Share(rapid.IntRange(50_000, 950_000).Draw(rt, "share"))
	spec.Complete()
	if spec.Validate() != nil {
		rt.Skip("refused")
	}
	of.tick()
	l := &laned{lossy: of, rt: rt, c: of.raining(spec), layout: spec.Layout(), pace: &pace{}, at: of.now,
		wins: map[string]int{}, taps: map[string]int{}}
	l.bus = &laneBus{Bus: of.bus, gate: of.grabber.Gate(l.c)}
	l.mover = of.mover(func(o *MoverOptions) { o.Bus, o.Clock = l.bus, func() int64 { return l.at } })
	guests := rapid.IntRange(0, 10).Draw(rt, "guests of ten")
	losses := rapid.SliceOfN(rapid.IntRange(0, 3*packets-1), 0, 3).Draw(rt, "losses") // each takes most of a second
	for n := range 3 * packets {
		user := fmt.Sprintf("%s-%d", l.c.ID, n/2)
		if n%10 < guests {
			user = fmt.Sprintf("%s%020x", rain.GuestPrefix, n/2)
		}
		l.tap(user)
		if slices.Contains(losses, n) {
			l.rebuildOne(rapid.IntRange(0, spec.Shards-1).Draw(rt, "shard"))
		}
	}
	l.end()
}

// end closes the campaign and proves it.
func (l *laned) end() {
	l.settle()
	testenv.Must(l.rt, testenv.Err(l.service.Close(l.Context(), l.c.ID)))
	l.settle()
	got := l.books(l.campaign(l.c.ID))
	if !got.Balanced || got.Paid+got.Reclaimed != l.c.Budget || got.Stock != 0 || len(got.Findings) > 0 {
		l.rt.Fatalf("the books: %+v", got)
	}
	var paid [rain.LaneCount]int
	all := rain.Numbers{{First: 0, Last: l.c.Packets - 1}}
	err := l.ledger.Rebuilds.EachAssigned(l.Context(), l.c, all, func(k posting.Assigned) error {
		if !l.layout.MayHave(k.Win.User, k.Win.Packet) {
			l.rt.Errorf("%s is paid packet %d", k.Win.User, k.Win.Packet)
		}
		paid[l.layout.Lane(k.Win.User)]++
		return nil
	})
	if err != nil || !slices.Equal(paid[:], l.won[:]) {
		l.rt.Fatalf("paid by lane %v, won %v: %v", paid, l.won, err)
	}
}
