package gateway

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/room"
)

// Who is banned is sent away and not let in again; who was disconnected may come back, and then stays; others notice
// nothing.
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
			if code := c.closed(); code != room.CodeSentAway {
				t.Errorf("closed with %d", code)
			}
		}
		back := d.play("u")
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Disconnect, At: at - 1}) // heard of late
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Unban, At: at + time.Hour.Milliseconds()})
		back.say(`{"type":"ping","id":1,"t":1}`)
		back.hear("pong")
		banned.Store(true)
		d.gateway.Sanctioned(standing.Sanction{User: "u", Act: standing.Ban, At: at - 1})
		if code := back.closed(); code != room.CodeSentAway {
			t.Errorf("closed with %d at the ban", code)
		}
		late := d.connect()
		late.say(`{"type":"hello","token":"u","campaign":"c"}`)
		if code := late.closed(); code != room.CodeSentAway {
			t.Errorf("a banned player's hello: %d", code)
		}
		banned.Store(false)
	}
	other.say(`{"type":"ping","id":1,"t":1}`)
	other.hear("pong")
	testenv.Eventually(t, 10*time.Second, "nobody who is gone is remembered", func() bool {
		return len(d.gateway.people.connections("u")) == 0
	})
}

// How a player is shown is by the newest token, as long as they are here.
func TestPlayersAreShownByTheirNewestToken(t *testing.T) {
	d := openDoor(t, &neighbours{}, func(o *Options) {
		o.Face = func(g auth.Grant) wire.Face { return wire.Face{Name: strconv.FormatInt(g.Until, 10)} }
	})
	until := time.Now().Add(time.Hour).UnixMilli()
	c := d.connect()
	c.say(fmt.Sprintf(`{"type":"hello","token":"u %d","campaign":"c"}`, until))
	c.hear("welcome")
	shown := func(want int64) {
		t.Helper()
		if face, here := d.gateway.Face("u"); !here || face.Name != strconv.FormatInt(want, 10) {
			t.Errorf("%+v, %v; want %d", face, here, want)
		}
	}
	shown(until)
	c.say(fmt.Sprintf(`{"type":"token","id":1,"token":"u %d"}`, until+1))
	c.hear(wire.TypeRenewed)
	shown(until + 1)
	if _, here := d.gateway.Face("other"); here {
		t.Error("somebody is here who is not")
	}
}
