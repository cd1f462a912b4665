package gateway

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
)

// A hello without a free slot gets its queue position and the time to come back. The close code sends no player away
// for good.
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
		t.Errorf("%v gave up a seat that no player had", left)
	}
	if d.lobby.Room("c") != nil {
		t.Error("who waits is in the room")
	}
}

// The slot ends with its connection: at once if the player has announced the end, and otherwise after a while.
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

// If the admission does not answer, no player is admitted, and none is sent away for good. If no welcome can be made,
// the slot is freed again.
func TestAHelloThatIsNotAnswered(t *testing.T) {
	away := errors.New("away")
	dumb, unwelcome := &neighbours{}, &neighbours{wins: func(string) ([]rain.Win, error) { return nil, away }}
	dumb.door.turn = func(string, string) (store.Turn, error) { return store.Turn{}, away }
	for n, left := range map[*neighbours][]string{dumb: nil, unwelcome: {"c u false"}} {
		testenv.Equal(t, openDoor(t, n, nil).hello("u").closed(), room.CodeUnavailable, "closed with")
		testenv.Equal(t, n.door.gone(), left, "seats given up")
	}
}

// A player who moves to a full room stays in the old one. A player who gets a slot in another room gives up the old
// slot.
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

// forgot is the number of times that a player was forgotten.
func (n *neighbours) forgot(user string) (times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, who := range n.forgotten {
		if who == user {
			times++
		}
	}
	return times
}

// A player is known to the node until the last connection has gone.
func TestAPlayerIsForgottenWithTheLastConnection(t *testing.T) {
	n := &neighbours{}
	d := openDoor(t, n, nil)
	first, second := d.play("u"), d.play("u")
	_ = first.conn.Close()
	d.emptied(1)
	testenv.Equal(t, n.forgot("u"), 0, "times forgotten with a connection left")
	_ = second.conn.Close()
	d.emptied(0)
	testenv.Equal(t, n.forgot("u"), 1, "times forgotten")
}

// A player comes back while the old connection is still there. The welcome caches their wins again, and the end of the
// old connection does not evict them.
func TestWhoComesBackIsNotForgotten(t *testing.T) {
	reading, goOn := make(chan struct{}), make(chan struct{})
	var back atomic.Bool
	n := &neighbours{wins: func(string) ([]rain.Win, error) {
		if back.Load() {
			close(reading)
			<-goOn
		}
		return []rain.Win{{User: "u", Packet: 1, Drop: "0.1"}}, nil
	}}
	d := openDoor(t, n, nil)
	old := d.play("u")
	back.Store(true)
	again := d.hello("u")
	<-reading
	_ = old.conn.Close()
	d.emptied(1)
	close(goOn)
	again.hear("welcome")
	testenv.Equal(t, n.forgot("u"), 0, "times forgotten")
}

// A notice that comes twice is reported once on each connection. New claims in it are reported all the same.
func TestANoticeThatComesTwice(t *testing.T) {
	n := &neighbours{}
	d := openDoor(t, n, nil)
	both := []*client{d.play("u"), d.play("u")}
	claims := []cluster.SettledClaim{{Claim: "c-1", User: "u", Packet: 1, Drop: "0.1", Amount: 5, Balance: 5}}
	d.gateway.Settled("c", cluster.Settled{Campaign: "c", Claims: claims})
	d.gateway.Settled("c", cluster.Settled{Campaign: "c", Claims: claims})
	claims = append(claims, cluster.SettledClaim{Claim: "c-2", User: "u", Packet: 2, Drop: "0.2", Amount: 6,
		Balance: 11})
	d.gateway.Settled("c", cluster.Settled{Campaign: "c", Claims: claims})
	for _, c := range both {
		told := []string{c.hear("settled"), c.hear("settled")}
		if !strings.Contains(told[0], "c-1") || strings.Contains(told[1], "c-1") || !strings.Contains(told[1], "c-2") {
			t.Errorf("received %v", told)
		}
	}
}

// Unconfirmed wins are not reported. This node knows of them and asks for them again.
func TestUnconfirmedWinsAreNotTold(t *testing.T) {
	n := &neighbours{notYet: []rain.Win{{User: "u", Packet: 8, Drop: "0.8"}}}
	n.wins = func(string) ([]rain.Win, error) {
		return []rain.Win{{User: "u", Packet: 7, Drop: "0.7", Amount: 3}}, nil
	}
	d := openDoor(t, n, nil)
	c := d.hello("u")
	if got := c.hear("welcome"); !strings.Contains(got, `"claims_total":1`) || !strings.Contains(got, "c-7") ||
		strings.Contains(got, "c-8") {
		t.Error(got)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.unsure, n.notYet) || len(n.remembered) != 1 || n.remembered[0].User != "u" {
		t.Errorf("it knows %v, and without confirmation %v", n.remembered, n.unsure)
	}
}
