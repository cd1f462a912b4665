package gateway

import (
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/sanction"
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
		d.gateway.Sanctioned(sanction.Sanction{User: "u", Act: sanction.Disconnect, At: at})
		for _, c := range []*client{first, second} {
			if code := c.closed(); code != room.CodeSentAway {
				t.Errorf("closed with %d", code)
			}
		}
		back := d.play("u")
		d.gateway.Sanctioned(sanction.Sanction{User: "u", Act: sanction.Disconnect, At: at - 1}) // heard of late
		d.gateway.Sanctioned(sanction.Sanction{User: "u", Act: sanction.Unban, At: at + time.Hour.Milliseconds()})
		back.say(`{"type":"ping","id":1,"t":1}`)
		back.hear("pong")
		banned.Store(true)
		d.gateway.Sanctioned(sanction.Sanction{User: "u", Act: sanction.Ban, At: at - 1})
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
