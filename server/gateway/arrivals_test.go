package gateway

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
)

// TestSettledWhileArriving: a claim that is settled between a welcome and the seat is reported on that connection once,
// and once to a connection that is there already.
func TestSettledWhileArriving(t *testing.T) {
	var reading atomic.Pointer[func()] // what happens while a welcome is made
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
		if d.gateway.people.arrive(s, func(*wire.Settled) { t.Error("an arrival is left behind") }); s.seat == nil {
			t.Error("a connection without a seat is left behind")
		}
	}
}

// TestNews: what the welcome has said as settled is no news; the balance is.
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
