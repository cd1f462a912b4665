package gateway

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/room"
)

// A hello that finds no seat is told its place and when to come back, and is ended with a code that ends nobody.
func TestAHelloWithoutASeatIsToldItsPlace(t *testing.T) {
	n := &neighbours{}
	n.door.turn = func(campaign, user string) (store.Turn, error) {
		if campaign != "c" || user != "u" {
			t.Errorf("asked for %s in %s", user, campaign)
		}
		return store.Turn{Position: 7, Retry: 2500 * time.Millisecond, Wait: 9 * time.Second}, nil
	}
	d := openDoor(t, n, nil)
	c := d.hello("u")
	want := `{"type":"goodbye","reason":"waiting","reconnect_after_ms":2500,"position":7,"wait_ms":9000}`
	if got := c.hear("goodbye"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if code := c.closed(); code != room.CodeFull || code >= 4500 {
		t.Errorf("closed with %d", code)
	}
	d.emptied(0)
	if left := n.door.gone(); len(left) != 0 {
		t.Errorf("%v gave up a seat that nobody had", left)
	}
	if d.lobby.Has("u") {
		t.Error("who waits is in the room")
	}
}

// The seat goes with the connection: at once where the player has said that they go, and after a while where not.
func TestASeatGoesWithItsConnection(t *testing.T) {
	for how, want := range map[string]string{"1000": "c u true", "1001": "c u false", "nothing": "c u false"} {
		n := &neighbours{}
		c := openDoor(t, n, nil).play("u")
		switch how {
		case "nothing":
			_ = c.conn.NetConn().Close()
		default:
			code := websocket.CloseNormalClosure
			if how == "1001" {
				code = websocket.CloseGoingAway
			}
			testenv.Must(t, c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""),
				time.Now().Add(time.Minute)))
		}
		testenv.Eventually(t, 10*time.Second, "the seat is given up", func() bool { return len(n.door.gone()) > 0 })
		testenv.Equal(t, n.door.gone(), []string{want}, "closed with %s", how)
	}
}

// A door that cannot say who may come in lets nobody in, and ends nobody. A seat for which no welcome could be made is
// given up again.
func TestAHelloThatIsNotAnswered(t *testing.T) {
	away := errors.New("away")
	dumb, unwelcome := &neighbours{}, &neighbours{wins: func(string) ([]rain.Win, error) { return nil, away }}
	dumb.door.turn = func(string, string) (store.Turn, error) { return store.Turn{}, away }
	for n, left := range map[*neighbours][]string{dumb: nil, unwelcome: {"c u false"}} {
		testenv.Equal(t, openDoor(t, n, nil).hello("u").closed(), room.CodeUnavailable, "closed with")
		testenv.Equal(t, n.door.gone(), left, "seats given up")
	}
}

// Who moves to a room without a seat stays where they are, and who moves to one that has one gives theirs up.
func TestAMoveNeedsASeat(t *testing.T) {
	n := &neighbours{}
	var full atomic.Bool
	n.door.turn = func(string, string) (store.Turn, error) {
		if full.Load() {
			return store.Turn{Position: 3, Retry: time.Second}, nil
		}
		return store.Turn{Admitted: true}, nil
	}
	c := openDoor(t, n, nil).play("u")
	full.Store(true)
	c.say(`{"type":"join","id":4,"campaign":"c"}`)
	got := c.hear("error")
	for _, want := range []string{`"id":4`, `"not_admitted"`, `"retryable":true`, "place 3"} {
		testenv.Contains(t, got, want, "error")
	}
	if left := n.door.gone(); len(left) != 0 {
		t.Errorf("%v: the player has stayed", left)
	}
	full.Store(false)
	c.say(`{"type":"join","id":5,"campaign":"c"}`)
	c.hear("welcome")
	testenv.Equal(t, n.door.gone(), []string{"c u false"}, "seats given up")
}
