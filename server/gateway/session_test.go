package gateway

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/internal/ws/wstest"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
)

// A panic for one player, in a tap or in a call of a back end, ends that connection with 1011. It is logged with its
// stack and counted. Another player plays on, and the first may come back.
func TestAPanicEndsOneConnection(t *testing.T) {
	n := &neighbours{
		tap: func(tap *grab.Tap[TapOrigin]) (outcome.Result, bool) {
			if tap.User == "taps" {
				panic("a torn tap")
			}
			return outcome.Result{Outcome: outcome.Empty}, true
		},
		wins: func(user string) ([]rain.Win, error) {
			if user == "comes" {
				panic("a torn welcome")
			}
			return nil, nil
		},
	}
	d := openDoor(t, n, nil)
	other := d.play("other")

	taps := d.play("taps")
	taps.say(`{"type":"tap","id":1,"drop":"0.0"}`)
	testenv.Equal(t, taps.closed(), websocket.CloseInternalServerErr, "the tap's connection ended with")
	comes := d.hello("comes")
	testenv.Equal(t, comes.closed(), websocket.CloseInternalServerErr, "the hello's connection ended with")

	other.say(`{"type":"tap","id":2,"drop":"0.0"}`)
	testenv.Contains(t, other.hear("result"), `"empty"`, "the other player's tap")
	d.play("taps")
	log := d.log.String()
	for _, want := range []string{"a torn tap", "a torn welcome", "session_test.go", "level=ERROR"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	err := testutil.GatherAndCompare(d.metrics, strings.NewReader(`
# HELP redrain_panics_total Panics that were caught, by the part of the process.`+
		` Each is a fault of the program, and its stack is in the log.
# TYPE redrain_panics_total counter
redrain_panics_total{part="socket"} 2
`), "redrain_panics_total")
	testenv.Must(t, err)
}

// If the limit cannot be read, it counts nothing. It protects against a flood, and a fault must not lock out players.
func TestTheDoorStaysOpenWithoutTheLimit(t *testing.T) {
	n := &neighbours{allow: func(string) (bool, error) { return false, errors.New("away") }}
	d := openDoor(t, n, func(o *Options) { o.HelloRate = 1 })
	for range 3 {
		c := d.connect()
		c.say(`{"type":"hello","token":"u","campaign":"x"}`)
		testenv.Equal(t, c.closed(), room.CodeUnknownCampaign, "closed with")
	}
	d.play("u")
}

// Each message of a session has its answer, and a flood of bad ones ends the session.
func TestMessagesAreAnswered(t *testing.T) {
	c := openDoor(t, &neighbours{}, nil).play("u")
	for say, want := range map[string]string{
		`{"type":"ping","id":7,"t":123}`:                 `"t":123`,
		`{"type":"hello","id":8,"token":"u"}`:            `"already_hello"`,
		`{"type":"dance","id":9}`:                        `"unknown_type"`,
		`{"type":`:                                       `"malformed"`,
		`{"type":"tap","id":3}`:                          `"malformed"`,
		`{"type":"tap","id":3,"drop":null}`:              `"malformed"`,
		`{"type":"join","id":10,"campaign":"x"}`:         `"unknown_campaign"`,
		`{"type":"tap","id":11,"drop":"no such"}`:        `"unknown_drop"`,
		`{"type":"tap","id":12,"drop":"0.0","more":[1]}`: `"empty"`,
	} {
		c.say(say)
		message, err := c.next()
		if err != nil || !strings.Contains(string(message), want) {
			t.Errorf("%s: %s, %v; want %s", say, message, err, want)
		}
	}
	for range badBurst {
		c.say(`?`)
	}
	testenv.Equal(t, c.closed(), room.CodeTooManyBad, "a flood of bad messages")
}

// A binary message, a text that is not UTF-8 and a broken frame end the session with the code of RFC 6455.
func TestBrokenFramesEndASession(t *testing.T) {
	d := openDoor(t, &neighbours{}, func(o *Options) { o.MaxConnections = 1 + len(wstest.Cases()) })
	binary := d.play("u")
	testenv.Must(t, binary.conn.WriteMessage(websocket.BinaryMessage, []byte("x")))
	testenv.Equal(t, binary.closed(), websocket.CloseUnsupportedData, "a binary message: closed with")
	for _, c := range wstest.Cases() {
		switch c.Code {
		case websocket.CloseProtocolError, websocket.CloseInvalidFramePayloadData, websocket.CloseMessageTooBig:
		case wstest.Lost: // the library alone says nothing of a length that no message can have
			c.Code = websocket.CloseMessageTooBig
		default:
			continue
		}
		conn := d.play("u")
		testenv.Must(t, testenv.Err(conn.conn.NetConn().Write(c.Bytes)))
		testenv.Equal(t, conn.closed(), c.Code, "%s: closed with", c.Name)
	}
}

// When the node ends, every player gets the time to come back, and new connections are refused.
func TestDrain(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	c := d.play("u")
	done := make(chan struct{})
	go func() { defer close(done); d.gateway.Drain(t.Context()) }()
	if got := c.hear("goodbye"); !strings.Contains(got, `"reconnect_after_ms":`) {
		t.Error(got)
	}
	testenv.Equal(t, c.closed(), room.CodeShutdown, "closed with")
	<-done
	late, _, err := websocket.DefaultDialer.Dial(d.url, nil)
	testenv.Must(t, err)
	testenv.Equal(t, (&client{T: t, conn: late}).closed(), room.CodeShutdown, "a late connection")
}

// A full node refuses one more connection, and accepts another when one has gone.
func TestMaxConnections(t *testing.T) {
	d := openDoor(t, &neighbours{}, func(o *Options) { o.MaxConnections = 1 })
	first := d.play("a")
	_, answer, err := websocket.DefaultDialer.Dial(d.url, nil)
	if err == nil || answer == nil || answer.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("the second: %v, %+v", err, answer)
	}
	if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || after < 1 || after > 10 {
		t.Errorf("Retry-After %q", answer.Header.Get("Retry-After"))
	}
	if !d.gateway.Full() {
		t.Error("the full node wants more connections")
	}
	_ = first.conn.Close()
	d.emptied(0)
	d.play("b")
}

// A notice is sent to the players on this node, and the node remembers their claims. It keeps nothing of other players.
func TestNoticesAreForWhoIsHere(t *testing.T) {
	n := &neighbours{}
	d := openDoor(t, n, nil)
	c := d.play("here")
	testenv.Eventually(t, 10*time.Second, "the player is seated", func() bool { return d.lobby.Room("c") != nil })
	d.gateway.Settled("c", cluster.Settled{Claims: []cluster.SettledClaim{
		{Claim: "c-1", User: "here", Packet: 1, Drop: "0.1", Amount: 5, Balance: 5},
		{Claim: "c-3", User: "here", Packet: 3, Drop: "0.3", Amount: 6, Balance: 11},
		{Claim: "c-2", User: "elsewhere", Packet: 2, Drop: "0.2", Amount: 7, Balance: 7},
	}})
	if got := c.hear("settled"); !strings.Contains(got, "c-1") || !strings.Contains(got, "c-3") ||
		strings.Contains(got, "c-2") || !strings.Contains(got, `"balance":11`) {
		t.Error(got)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	testenv.Equal(t, len(n.told), 2, "remembered: %v", n.told)
}

// The welcome has the player's newest claims, newest first, each with its state. If the ledger does not answer they are
// granted.
func TestWelcomeClaims(t *testing.T) {
	wins := make([]rain.Win, welcomeClaims+1)
	for i := range wins {
		wins[i] = rain.Win{User: "u", Packet: i, Amount: 1, Drop: "0.0"}
	}
	var away atomic.Bool
	n := &neighbours{
		wins: func(string) ([]rain.Win, error) { return wins, nil },
		states: func(string) (map[string]ledger.ClaimState, error) {
			if away.Load() {
				return nil, errors.New("away")
			}
			return map[string]ledger.ClaimState{rain.ClaimID("c", welcomeClaims): ledger.StateSettled}, nil
		},
	}
	d := openDoor(t, n, nil)
	hello := func() string {
		c := d.hello("u")
		return c.hear("welcome")
	}
	got := hello()
	if strings.Count(got, `"claim":`) != welcomeClaims || strings.Count(got, `"settled"`) != 1 ||
		!strings.Contains(got, `"claims_total":101`) || strings.Contains(got, `"packet":"0"`) {
		t.Error(got)
	}
	away.Store(true)
	if got := hello(); strings.Count(got, `"granted"`) != welcomeClaims {
		t.Error(got)
	}
}

func TestOriginAllowed(t *testing.T) {
	allowed := []string{"https://party.example"}
	for _, c := range []struct {
		origin, host string
		want         bool
	}{
		{"", "rain.example", true},
		{"http://rain.example", "rain.example", true},
		{"https://RAIN.example", "rain.example", true},
		{"https://party.example", "rain.example", true},
		{"https://rain.example", "rain.example:443", true},
		{"https://rain.example:443", "rain.example", true},
		{"http://rain.example", "RAIN.example:80", true},
		{"http://rain.example:80", "rain.example", true},
		{"http://[2001:db8::1]", "[2001:DB8::1]:80", true},
		{"https://rain.example:8443", "rain.example:8443", true},
		{"https://rain.example", "rain.example:80", false},
		{"http://rain.example", "rain.example:443", false},
		{"https://rain.example:8443", "rain.example", false},
		{"https://rain.example", "rain.example:8443", false},
		{"https://evil.example", "rain.example", false},
		{"null", "rain.example", false},
		{"null", "", false},
		{"https://rain.example.evil.example", "rain.example", false},
		{"http://party.example", "rain.example", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/ws", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		testenv.Equal(t, originAllowed(r, allowed), c.want, "%q to %q", c.origin, c.host)
	}
	r := httptest.NewRequest(http.MethodGet, "http://rain.example/ws", nil)
	r.Header.Set("Origin", "https://anything.example")
	if !originAllowed(r, []string{"*"}) {
		t.Error("* does not allow everything")
	}
}

// TestAForeignPageIsLogged: once in some seconds, with the origin and the host that it met.
func TestAForeignPageIsLogged(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	for range 3 {
		conn, _, err := websocket.DefaultDialer.Dial(d.url, http.Header{"Origin": {"https://evil.example"}})
		testenv.Must(t, err)
		testenv.Equal(t, (&client{T: t, conn: conn}).closed(), room.CodeOrigin, "closed with")
	}
	log := d.log.String()
	testenv.Equal(t, strings.Count(log, "another origin"), 1, "lines")
	testenv.Contains(t, log, "origin=https://evil.example host="+strings.TrimPrefix(d.url, "ws://"), "the log")
}

// TestLongMessages: a message with a token may have 12 KiB, so that a token of HTTP fits; every other one 4 KiB.
func TestLongMessages(t *testing.T) {
	d := openDoor(t, &neighbours{}, func(o *Options) { o.TapRate = 0 })
	long := strings.Repeat("u", wire.MaxToken)
	padded := func(message string, size int) string {
		message += `,"x":"`
		return message + strings.Repeat("x", size-len(message)-2) + `"}`
	}
	player := d.play(long)
	player.say(`{"type":"token","id":1,"token":"` + long + `"}`)
	player.hear("token_renewed")
	player.say(padded(`{"type":"ping","id":2`, wire.MaxRequest))
	player.hear("pong")
	for name, message := range map[string]string{
		"a long ping":           padded(`{"type":"ping","id":2`, wire.MaxRequest+1),
		"a long nonsense":       strings.Repeat("x", wire.MaxRequest+1),
		"a hello of all":        padded(`{"type":"hello","token":"u"`, wire.MaxWithToken+1),
		"a long tap with token": padded(`{"type":"tap","drop":"0.0","token":"u"`, wire.MaxRequest+1),
	} {
		greeted, newcomer := d.play("u"), d.connect()
		for _, c := range []*client{greeted, newcomer} {
			c.say(message)
			testenv.Equal(t, c.closed(), websocket.CloseMessageTooBig, "%s: closed with", name)
		}
	}
}

// TestABadTokenHasAReason, in the close frame and in the answer to a renewal.
func TestABadTokenHasAReason(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	c := d.hello("")
	_, err := c.next()
	if ended, ok := errors.AsType[*websocket.CloseError](err); !ok || ended.Code != room.CodeBadToken ||
		ended.Text != "no token" {
		t.Error(err)
	}
	c = d.play("u")
	c.say(`{"type":"token","id":1,"token":"u noon"}`)
	testenv.Contains(t, c.hear("error"), `parsing \"noon\"`, "a bad renewal")
}
