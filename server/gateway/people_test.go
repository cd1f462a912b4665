package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
)

// A banned player is disconnected and not admitted again. A disconnected player may come back, and then stays. Others
// notice nothing.
func TestPlayersAreSentAway(t *testing.T) {
	var banned atomic.Bool
	d := openDoor(t, &neighbours{}, func(o *Options) {
		o.Banned = func(user string) bool { return user == "u" && banned.Load() }
	})
	other := d.play("other")
	for range 2 {
		first, second := d.play("u"), d.play("u")
		at := time.Now().UnixMilli()
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Disconnect, At: at})
		for _, c := range []*client{first, second} {
			testenv.Equal(t, c.closed(), room.CodeSentAway, "closed with")
		}
		back := d.play("u")
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Disconnect, At: at - 1}) // received late
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Unban, At: at + time.Hour.Milliseconds()})
		back.ping()
		banned.Store(true)
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Ban, At: at - 1})
		testenv.Equal(t, back.closed(), room.CodeSentAway, "closed at the ban with")
		late := d.hello("u")
		testenv.Equal(t, late.closed(), room.CodeSentAway, "a banned player's hello")
		banned.Store(false)
	}
	other.ping()
	testenv.Eventually(t, 10*time.Second, "no closed connection is remembered", func() bool {
		return len(d.gateway.people.connections("u")) == 0
	})
}

// The newest token decides the display profile of a player, as long as they are here.
func TestPlayersAreShownByTheirNewestToken(t *testing.T) {
	d := openDoor(t, &neighbours{}, func(o *Options) {
		o.Profile = func(g auth.Grant) wire.Profile { return wire.Profile{Name: strconv.FormatInt(g.Until, 10)} }
	})
	until := time.Now().Add(time.Hour).UnixMilli()
	c := d.connect()
	c.say(fmt.Sprintf(`{"type":"hello","token":"u %d","campaign":"c"}`, until))
	testenv.Contains(t, c.hear("welcome"), fmt.Sprintf(`"name":"%d"`, until), "the player's own profile")
	shown := func(want int64) {
		t.Helper()
		if profile, here := d.gateway.Profile("u"); !here || profile.Name != strconv.FormatInt(want, 10) {
			t.Errorf("%+v, %v; want %d", profile, here, want)
		}
	}
	shown(until)
	c.say(fmt.Sprintf(`{"type":"token","id":1,"token":"u %d"}`, until+1))
	c.hear(wire.TypeRenewed)
	shown(until + 1)
	if _, here := d.gateway.Profile("other"); here {
		t.Error("an absent player is here")
	}
}

// A connection above the limit ends with 4004, and the others of its player stay. Each one counts from hello to the
// end. A tap carries the number of nodes of its player.
func TestConnectionsThatAreTooMany(t *testing.T) {
	var mu sync.Mutex
	var nodes []int
	n := &neighbours{tap: func(tap *grab.Tap[TapOrigin]) (outcome.Result, bool) {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, tap.Nodes)
		return outcome.Result{Outcome: outcome.Empty}, true
	}}
	d := openDoor(t, n, nil)
	first, second := d.play("u"), d.play("u")
	other := d.play("other")
	list := func() []uint64 { return n.connections.of("u") }
	testenv.Eventually(t, 10*time.Second, "both are known", func() bool { return len(list()) == 2 })
	d.gateway.TooMany("u", list()[0])
	testenv.Equal(t, first.closed(), room.CodeTooManySeats, "closed with")
	testenv.Eventually(t, 10*time.Second, "one is known", func() bool { return len(list()) == 1 })
	d.gateway.TooMany("other", list()[0]) // another player's number
	d.gateway.TooMany("nobody", 1)
	tap := func(c *client) {
		c.say(`{"type":"tap","id":1,"drop":"1.1"}`)
		if r := c.hear("result"); !strings.Contains(r, "empty") {
			t.Error(r)
		}
	}
	tap(second)
	d.gateway.Among("u", 3)
	d.gateway.Among("nobody", 3)
	tap(second)
	tap(other)
	mu.Lock()
	defer mu.Unlock()
	if len(nodes) != 3 || nodes[0] > 1 || nodes[1] != 3 || nodes[2] > 1 {
		t.Errorf("taps of players who are on %v nodes", nodes)
	}
}

// TestSettledWhileArriving: a claim is settled between a welcome and the seat. It is reported on that connection once,
// and once on a connection that is there already.
func TestSettledWhileArriving(t *testing.T) {
	var reading atomic.Pointer[func()] // runs while a welcome is made
	d := openDoor(t, &neighbours{wins: func(string) ([]rain.Win, error) {
		if do := reading.Swap(nil); do != nil {
			(*do)()
		}
		return nil, nil
	}}, nil)
	settle := func(packets ...int) {
		n := cluster.Settled{Claims: []cluster.SettledClaim{{Claim: "another's", User: "v", Amount: 1, Balance: 1}}}
		for _, packet := range packets {
			n.Claims = append(n.Claims, cluster.SettledClaim{Claim: rain.ClaimID("c", packet), User: "u",
				Packet: packet, Amount: 1, Balance: rain.Money(packet)})
		}
		d.gateway.Settled("c", n)
	}
	meanwhile := func(do func()) { reading.Store(&do) }
	heard := func(c *client, until string) (all string) {
		t.Helper()
		for !strings.Contains(all, `"type":"`+until+`"`) {
			message, err := c.next()
			testenv.Must(t, err)
			all += string(message)
		}
		return all
	}

	there := d.play("u")
	meanwhile(func() { settle(7); settle(8, 9) })
	coming := d.play("u")
	settle(10)
	meanwhile(func() { settle(11) })
	there.say(`{"type":"join","id":1,"campaign":"c"}`) // it sits in a room all the while
	before := heard(there, wire.TypeWelcome)
	for _, c := range []*client{there, coming} {
		c.say(`{"type":"ping","id":2,"t":1}`)
	}
	for who, told := range map[string]string{
		"who was there": before + heard(there, wire.TypePong), "who was coming": heard(coming, wire.TypePong),
	} {
		for packet := 7; packet <= 11; packet++ {
			testenv.Equal(t, strings.Count(told, fmt.Sprintf(`"claim":%q`, rain.ClaimID("c", packet))), 1,
				"claim %d to %s: %s", packet, who, told)
		}
		if strings.Contains(told, "another's") {
			t.Errorf("%s received another player's claim", who)
		}
	}

	lost := d.connect()
	lost.say(`{"type":"hello","token":"u","campaign":"nowhere"}`)
	lost.closed()
	d.emptied(2)
	for _, s := range d.gateway.people.connections("u") {
		d.gateway.people.releaseSettlements(s, func(*wire.Settled) { t.Error("an arrival is left behind") })
		if s.seat == nil {
			t.Error("a connection without a seat is left behind")
		}
	}
}

// TestNews: a claim that the welcome has as settled is no news; the balance is.
func TestNews(t *testing.T) {
	missed := &wire.Settled{Claims: []wire.SettledClaim{{Claim: "a"}, {Claim: "b"}, {Claim: "c"}}, Balance: 5}
	welcome := []wire.Claim{{Claim: "a", State: "settled"}, {Claim: "b", State: "granted"}}
	if got := news(missed, welcome); got == nil || len(got.Claims) != 2 || got.Claims[0].Claim != "b" ||
		got.Claims[1].Claim != "c" || got.Balance != 5 {
		t.Errorf("%+v", got)
	}
	if news(&wire.Settled{Claims: []wire.SettledClaim{{Claim: "a"}}}, welcome) != nil ||
		news(&wire.Settled{}, welcome) != nil {
		t.Error("news of nothing")
	}
}
