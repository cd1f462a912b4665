package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// A player who taps as fast as --tap-rate allows, asks for the time and comes back from a tunnel never meets the
// budget.
func TestTheBudgetIsEnoughForAPlayer(t *testing.T) {
	for _, tapRate := range []int{1, 5, 20, 200} {
		b, now := newBudget(tapRate), time.Unix(1_000_000, 0)
		for second := range 3_600 {
			now = now.Add(time.Second)
			messages := tapRate + 2
			if second%600 == 599 {
				messages *= 8 // messages that had queued up
			}
			for range messages {
				if !b.message(now, 120) {
					t.Fatalf("tap rate %d: dropped in second %d", tapRate, second)
				}
			}
			if second%25 == 0 && !b.frame(now) || second%60 == 0 && !b.welcome(now) {
				t.Fatalf("tap rate %d: refused in second %d", tapRate, second)
			}
		}
	}
}

// Twice the need of a player is too much, also as a few long messages.
func TestTheBudgetHasAnEnd(t *testing.T) {
	for name, size := range map[string]int{"taps": 60, "long messages": wire.MaxRequest} {
		b, now, passed := newBudget(20), time.Unix(1_000_000, 0), 0
		for range 60 * 1_000 {
			now = now.Add(time.Millisecond)
			if b.message(now, size) {
				passed += 1 + size/piece
			}
		}
		if passed > 600+60*60 {
			t.Errorf("%s: %d in a minute", name, passed)
		}
	}
	if unlimited := newBudget(0); !unlimited.message(time.Now(), 1<<20) {
		t.Error("where taps have no limit, messages have one")
	}
}

// A burst within the budget is answered, message by message. The answers pile up, and a player who reads them is no
// slow consumer.
func TestWhatComesAtOnceIsAnswered(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	for _, request := range []string{`{"type":"ping","id":"%03d","t":1}`, `{"type":"tap","id":"%03d","drop":"0.0"}`,
		`{"type":"tap","id":"%03d","drop":"07.3"}`} {
		c := d.play("burst")
		_, burst := perSecondAndBurst(20)
		burst -= 10 // the hello cost something
		var frames []byte
		for n := range burst {
			text := fmt.Sprintf(request, n)
			frames = append(frames, 0x81, 0x80|byte(len(text)), 0, 0, 0, 0) // a text, masked with nothing
			frames = append(frames, text...)
		}
		testenv.Must(t, testenv.Err(c.conn.NetConn().Write(frames)))
		answered := map[string]int{}
		for range burst {
			message, err := c.next()
			if err != nil {
				t.Fatalf("%s: after %d answers: %v", request, len(answered), err)
			}
			var m struct {
				ID string `json:"id"`
			}
			testenv.Must(t, json.Unmarshal(message, &m))
			answered[m.ID]++
		}
		testenv.Equal(t, len(answered), burst, "answers to %s", request)
	}
}

// flood sends a text until the connection is ended. It returns the close code and the received messages.
func (c *client) flood(kind int, text string) (code int, heard string) {
	c.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if c.conn.WriteMessage(kind, []byte(text)) != nil {
				return
			}
		}
	}()
	defer func() { close(stop); _ = c.conn.Close(); <-done }()
	var all strings.Builder
	for {
		message, err := c.next()
		if err != nil {
			end, ok := err.(*websocket.CloseError) //nolint:errorlint // as the library returns it
			if !ok {
				c.Fatalf("the connection ended without a code: %v", err)
			}
			return end.Code, all.String()
		}
		all.Write(message)
	}
}

// Messages of an endless flood are dropped unparsed. The player is notified, and the connection is ended. Another
// player notices nothing.
func TestAFloodEndsItsConnection(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	other := d.play("other")
	for name, c := range map[string]struct {
		kind int
		text string
	}{
		"pings":       {websocket.TextMessage, `{"type":"ping","id":1,"t":1}`},
		"taps":        {websocket.TextMessage, `{"type":"tap","id":1,"drop":"0.0"}`},
		"no drops":    {websocket.TextMessage, `{"type":"tap","id":1,"drop":"00.0"}`},
		"long texts":  {websocket.TextMessage, `{"type":"ping","x":"` + strings.Repeat("x", 4_000) + `"}`},
		"ping frames": {websocket.PingMessage, "x"},
		"pong frames": {websocket.PongMessage, ""},
	} {
		code, heard := d.play("flood").flood(c.kind, c.text)
		// A player who reads the answers too slowly may be disconnected for that first.
		if told := strings.Contains(heard, wire.CodeTooMany); code != room.CodeSlowConsumer &&
			(code != room.CodeTooManyBad || !told) {
			t.Errorf("%s: ended with %d; notified: %t", name, code, told)
		}
	}
	other.say(`{"type":"tap","id":2,"drop":"0.0"}`)
	testenv.Contains(t, other.hear("result"), `"empty"`, "the other player's tap")
	if testutil.ToFloat64(d.gateway.metrics.dropped) < droppedMost {
		t.Error("the dropped messages were not counted")
	}
}

// A welcome costs much. A player who asks again and again gets a few, and then no more.
func TestWelcomesAreFew(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	code, heard := d.play("mover").flood(websocket.TextMessage, `{"type":"join","id":1,"campaign":"c"}`)
	if n := strings.Count(heard, `"type":"welcome"`); n < welcomeBurst || n > welcomeBurst+5 {
		t.Errorf("%d welcomes", n)
	}
	if code != room.CodeTooManyBad || !strings.Contains(heard, wire.CodeTooMany) {
		t.Errorf("ended with %d", code)
	}
}
