package gateway

import (
	"bytes"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// A tap is answered with its own id and drop, whichever way it was spelt and read, and whatever drop it names.
func TestTapsAreAnsweredHoweverTheyAreSpelt(t *testing.T) {
	s := newStorm(t)
	told := &recorder{}
	session := s.seated(0, &session{g: s.gateway.shared, member: s.lobby.NewMember(room.NewSocket(told))})
	if session.seat.ranks == nil {
		t.Fatal("the rank of a win among all is unknown")
	}
	want := map[string]string{ // id and drop of the result → outcome
		`1 0.0`: "won", `"a b" 0.1`: "won", ` 0.2`: "won", `"é" 0.3`: "won", `1.5 0.4`: "won", `"<b>" 0.5`: "won",
		`2 07.3`: "unknown_drop", `4 <1>`: "unknown_drop", `5 9999999.0`: "unknown_drop",
	}
	for _, text := range []string{
		`{"type":"tap","id":1,"drop":"0.0"}`, ` {"drop" : "0.1", "id":"a b","type":"tap"}`,
		`{"type":"tap","drop":"0.2","new":[1]}`,
		`{"type":"tap","id":"é","drop":"0.3"}`, `{"type":"tap","id":1.5,"drop":"0.\u0034"}`,
		`{"type":"tap","id":"<b>","drop":"0.5"}`,
		`{"type":"tap","id":2,"drop":"07.3"}`, `{"type":"tap","id":4,"drop":"<1>"}`,
		`{"type":"tap","id":5,"drop":"9999999.0"}`,
	} {
		session.Text([]byte(text))
	}
	testenv.Eventually(t, 10*time.Second, "not every tap has a result",
		func() bool { return len(told.results(t)) == len(want) })
	for _, r := range told.results(t) {
		key := string(r.ID) + " " + r.Drop
		if r.Outcome != want[key] || (r.Outcome == "won") != (r.Claim != "" && r.Amount > 0) {
			t.Errorf("%s: %+v, want %q", key, r, want[key])
		}
		testenv.Equal(t, r.Luck, session.seat.ranks.Luck(r.Amount), "%s: luck", key)
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("no result for %v", want)
	}
}

// recorder is a connection that keeps the written bytes.
type recorder struct {
	net.Conn

	mu   sync.Mutex
	text strings.Builder
}

// TryWrite takes a frame of at most 64 KiB; its header goes.
func (p *recorder) TryWrite(frame []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	header := 2
	if frame[1] == 126 {
		header = 4
	}
	p.text.Write(frame[header:])
	p.text.WriteByte('\n')
	return len(frame), nil
}

func (p *recorder) Close() error { return nil }

// all returns the written bytes.
func (p *recorder) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *recorder) results(t *testing.T) (results []wire.Result) {
	t.Helper()
	for line := range strings.Lines(p.all()) {
		var r wire.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Type != wire.TypeResult {
			continue // the lobby's goodbye
		}
		results = append(results, r)
	}
	return results
}

// A spectator gets the messages of each room, and is not counted as a player. They win nothing, in any spelling of a
// tap. The gate never gets such a tap, and a spectator who goes on tapping is sent away.
func TestWhoLooksOn(t *testing.T) {
	n := &neighbours{tap: func(tap *grab.Tap[TapOrigin]) (outcome.Result, bool) {
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
	// The welcome comes before the seat. Later requests are answered after it.
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

// fragment is a frame of a client with a mask of zeros.
func fragment(first byte, payload string) []byte {
	return append([]byte{first, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

const begins, goesOn, ends = 0x01, 0x00, 0x80 // of a text in fragments

// A message is read to its end in any number of pieces. Empty pieces without end make it too large, and the gateway
// does not wait for them.
func TestAMessageInPieces(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	c := d.play("u")
	message := `{"type":"ping","id":7,"t":1,"x":"`
	message += strings.Repeat("x", wire.MaxRequest-len(message)-2) + `"}`
	pieces := fragment(begins, "")
	for i := range len(message) {
		pieces = append(pieces, fragment(goesOn, message[i:i+1])...)
	}
	testenv.Must(t, testenv.Err(c.conn.NetConn().Write(append(pieces, fragment(ends, "")...))))
	c.hear("pong")

	endless := append(fragment(begins, ""), bytes.Repeat(fragment(goesOn, ""), mostPieces/3)...)
	testenv.Must(t, testenv.Err(c.conn.NetConn().Write(endless)))
	testenv.Equal(t, c.closed(), websocket.CloseMessageTooBig, "empty fragments without end: closed with")
}

// A message in pieces costs all bytes that came over the line.
func TestPiecesCost(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	c := d.play("u")
	many := append(fragment(begins, ""), bytes.Repeat(fragment(goesOn, ""), 1_000)...)
	many = append(many, fragment(ends, `{"type":"ping","id":1,"t":1}`)...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c.conn.NetConn().SetWriteDeadline(time.Now().Add(time.Minute)) == nil {
			if _, err := c.conn.NetConn().Write(many); err != nil {
				return
			}
		}
	}()
	answered, code := 0, 0
	for code == 0 {
		heard, err := c.next()
		if end, ok := err.(*websocket.CloseError); ok { //nolint:errorlint // as the library returns it
			code = end.Code
		} else if err != nil {
			t.Fatal(err)
		}
		answered += strings.Count(string(heard), `"type":"`+wire.TypePong+`"`)
	}
	_ = c.conn.Close()
	<-done
	// 6 KB each is twelve messages and more. The budget for 20 taps a second has fifty of them.
	if code != room.CodeTooManyBad || answered > 100 {
		t.Errorf("%d were answered, and it ended with %d", answered, code)
	}
}
