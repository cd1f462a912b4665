// Package benchtest has a fake server of redrain.v1 for simulated players. A test decides the answer of each tap, and
// can inject faults.
package benchtest

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
	"redrain/rain"
)

// Drops is the number of drops, all of them in the air for the duration of a test.
const Drops = waves * perWave

const (
	waves   = 4
	perWave = 100
)

// Room is the handler of a socket. Its funcs are called by many connections at a time, and may be nil.
type Room struct {
	// Welcome may refuse a token, which is also the player's name, with a close code; 0 admits it.
	Welcome func(token string) (code int)
	// Turn may make a token wait: it returns the queue position, and the time in ms. It is called before Welcome; 0 ms
	// admits it.
	Turn func(token string) (place int, ms int64)
	// Answer returns the outcome of a tap, and the claim of a win; with the outcome "" no answer is sent.
	Answer func(user, drop string) (outcome, claim string)
	// Left is called with a player who has left for good.
	Left func(user string)
	// Closing is called before each answer; if it returns a code, the connection is closed instead.
	Closing func(user string) (code int)

	mu      sync.Mutex
	tapped  map[string]int
	welcome map[string]int
}

// Amount is the amount of each win.
const Amount rain.Money = 7

// Taps returns the number of taps of each player on each drop, by "player drop".
func (r *Room) Taps() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.tapped)
}

// Welcomes returns the number of welcomes of each player.
func (r *Room) Welcomes() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.welcome)
}

// ServeHTTP serves a connection until its end.
func (r *Room) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
	conn, err := up.Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // it may be closed already
	user := ""
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			if r.Left != nil && websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				r.Left(user)
			}
			return
		}
		m, err := wire.ParseRequest(data)
		if err != nil {
			leave(conn, 4501)
			return
		}
		var replies []any
		code := 0
		switch m.Type {
		case wire.TypeHello:
			user = m.Token
			if replies, code = r.turn(m); code == 0 {
				replies, code = r.hello(m)
			}
		case wire.TypePing:
			replies = []any{wire.Pong{Type: wire.TypePong, ID: m.ID, T: m.T, ServerTime: time.Now().UnixMilli()}}
		case wire.TypeTap:
			replies, code = r.tap(user, m)
		}
		if err := say(conn, replies); err != nil {
			return
		}
		if code != 0 {
			leave(conn, code)
			return
		}
	}
}

// say sends messages in one frame.
func say(conn *websocket.Conn, messages []any) error {
	var frame []byte
	for i, m := range messages {
		if i > 0 {
			frame = append(frame, '\n')
		}
		frame = append(frame, wire.Encode(m)...)
	}
	if len(frame) == 0 {
		return nil
	}
	return conn.WriteMessage(websocket.TextMessage, frame)
}

// leave closes a connection, and waits for the answer, so that unread data does not destroy the close code.
func leave(conn *websocket.Conn, code int) {
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, "as the test wants"),
		time.Now().Add(time.Second))
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			return
		}
	}
}

func (r *Room) turn(m wire.Request) (replies []any, code int) {
	if r.Turn == nil {
		return nil, 0
	}
	place, ms := r.Turn(m.Token)
	if ms == 0 {
		return nil, 0
	}
	return []any{wire.Goodbye{
		Type: wire.TypeGoodbye, Reason: "waiting", Position: place, ReconnectAfterMS: ms,
	}}, full
}

// full is the close code of a room without a seat.
const full = 4003

func (r *Room) hello(m wire.Request) (replies []any, code int) {
	if r.Welcome != nil {
		if code := r.Welcome(m.Token); code != 0 {
			return nil, code
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.welcome == nil {
		r.welcome = map[string]int{}
	}
	r.welcome[m.Token]++
	now := time.Now().UnixMilli()
	begin := now - now%1_000_000 // the same for all connections, and far enough back
	falling := wire.Rain{
		ID: "r1", Campaign: m.Campaign, Phase: rain.PhaseFalling, StartsAt: begin, EndsAt: begin + 2_000_000,
		Settings: rain.Settings{DurationMS: waves * rain.WaveMS, DropsPerSecond: perWave * 1000 / rain.WaveMS,
			FallMS: 2_000_000},
	}
	replies = []any{wire.Welcome{
		Type: wire.TypeWelcome, ID: m.ID, User: m.Token, ServerTime: now,
		Campaign: wire.Campaign{ID: m.Campaign, State: "raining"},
		Rain:     &falling, Claims: []wire.Claim{},
	}}
	for n := range int64(waves) {
		w := wire.Wave{Type: wire.TypeWave, Rain: "r1", N: n, At: begin + n*rain.WaveMS}
		for k := range perWave {
			w.Drops = append(w.Drops, [4]int{k, k, int(rain.Packet), 2_000_000})
		}
		replies = append(replies, w)
	}
	return replies, 0
}

func (r *Room) tap(user string, m wire.Request) (replies []any, code int) {
	r.mu.Lock()
	if r.tapped == nil {
		r.tapped = map[string]int{}
	}
	r.tapped[fmt.Sprintf("%s %s", user, m.Drop)]++
	r.mu.Unlock()
	if r.Closing != nil {
		if code := r.Closing(user); code != 0 {
			return nil, code
		}
	}
	answer := wire.Result{Type: wire.TypeResult, ID: m.ID, Drop: m.Drop, Outcome: "empty"}
	if r.Answer != nil {
		outcome, claim := r.Answer(user, m.Drop)
		if outcome == "" {
			return nil, 0
		}
		answer.Outcome = outcome
		if claim != "" {
			answer.Amount, answer.Packet, answer.Claim = Amount, "1", claim
		}
	}
	return []any{answer}, 0
}
