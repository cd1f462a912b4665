package gateway

import (
	"testing"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/room"
)

// Who looks on is told what the room is told, in each room, is not counted as a player, and takes nothing, however a
// tap is spelt. The gate never hears of such a tap, and somebody who goes on tapping is sent away.
func TestWhoLooksOn(t *testing.T) {
	n := &neighbours{tap: func(tap *grab.Tap[Asked]) (outcome.Result, bool) {
		if tap.User == "hall" {
			t.Error("a tap of the big screen has come to the gate")
		}
		return outcome.Result{Outcome: outcome.Empty}, true
	}}
	d := openDoor(t, n, nil)
	player := d.play("u")
	hall := d.connect()
	hall.say(`{"type":"hello","id":1,"token":"hall","campaign":"c","watch":true}`)
	hall.hear("welcome")
	// The welcome comes before the seat; what is asked next is answered after it.
	player.ping()
	hall.ping()

	here := d.lobby.Room("c")
	if here.Online() != 1 || here.Members() != 2 {
		t.Errorf("%d play and %d are there, want 1 and 2", here.Online(), here.Members())
	}
	here.Broadcast(room.Results, []byte(`{"type":"room","online":1}`))
	hall.hear("room")
	player.hear("room")

	hall.say(`{"type":"join","id":2,"campaign":"c","watch":false}`)
	hall.hear("welcome")
	hall.ping()
	testenv.Equal(t, here.Online(), 1, "a join has made a player of who looks on")
	for _, tap := range []string{`{"type":"tap","id":3,"drop":"0.0"}`, `{"drop":"07.3", "type":"tap","id":4}`} {
		hall.say(tap)
		testenv.Contains(t, hall.hear("error"), `"watching"`, "%s", tap)
	}
	player.say(`{"type":"tap","id":5,"drop":"0.0"}`)
	player.hear("result")

	for range badBurst {
		hall.say(`{"type":"tap","id":6,"drop":"0.0"}`)
	}
	testenv.Equal(t, hall.closed(), room.CodeTooManyBad, "closed with")
}
