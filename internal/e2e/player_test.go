package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// player is a client of the protocol that remembers all messages. It taps on command, or every drop that it sees.
type player struct {
	t    *testing.T
	user string
	conn *websocket.Conn
	done chan struct{} // closed when the connection is over

	writing sync.Mutex

	mu      sync.Mutex
	offset  int64 // server's time minus ours, ms
	welcome wire.Welcome
	news    chan struct{} // closed and replaced at each message
	rains   []wire.Rain
	changes []wire.Campaign // news of the campaign after the welcome
	waves   map[int64]wire.Wave
	results map[wire.ID][]wire.Result
	errors  []wire.Error
	settled map[string][]wire.SettledClaim
	balance rain.Money
	rooms   []wire.Room
	money   []wire.WithdrawalChange
	goodbye *wire.Goodbye
	closed  error
	tapped  map[wire.ID]string // request → drop
	hit     map[string]bool    // drops that were tapped
	nextID  int
	greedy  bool // taps every drop in the air, and again on command
	taps    sync.WaitGroup
}

// join opens a connection and waits for its welcome. After a close that is not final (a busy node, or one without
// Redis) it comes again, as a good client does.
func join(t *testing.T, n *node, user, campaign string) (p *player) {
	t.Helper()
	testenv.Eventually(t, time.Minute, user+" is welcomed", func() (welcome bool) {
		var err error
		p, err = hello(t, n, user, campaign)
		if end, ok := errors.AsType[*websocket.CloseError](err); ok && endsForGood(end) {
			t.Fatalf("no welcome for %s: %v", user, err)
		}
		return err == nil
	})
	return p
}

// endsForGood reports whether a good client does not come again after it.
func endsForGood(end *websocket.CloseError) bool {
	return end.Code >= room.CodeBadToken && end.Code <= 4599 && end.Text != wire.LateHello
}

// hello opens a connection and waits for its welcome, or for its end.
func hello(t *testing.T, n *node, user, campaign string) (*player, error) {
	t.Helper()
	p, err := enter(t, within(t, 20*time.Second), n, user, token(t, user), campaign)
	if p != nil {
		t.Cleanup(p.hangUp)
	}
	return p, err
}

// enter is hello where a node may be gone. If there was a connection and no welcome, it returns the player beside the
// connection's end, and has hung up. Else the caller hangs up.
func enter(t *testing.T, ctx context.Context, n *node, user, token, campaign string) (*player, error) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}, HandshakeTimeout: 20 * time.Second,
		TLSClientConfig: n.trust}
	conn, _, err := d.DialContext(ctx, n.ws(), http.Header{"Origin": {n.url}}) // as a browser on its page
	if err != nil {
		return nil, err
	}
	p := &player{
		t: t, user: user, conn: conn, done: make(chan struct{}), news: make(chan struct{}),
		waves: map[int64]wire.Wave{}, results: map[wire.ID][]wire.Result{}, settled: map[string][]wire.SettledClaim{},
		tapped: map[wire.ID]string{}, hit: map[string]bool{},
	}
	conn.SetPingHandler(func(data string) error {
		// the library's own handler gives up after a second, which a busy machine takes now and then
		return conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Minute))
	})
	go p.read()
	// a lost connection shows as its end
	_ = p.write(map[string]any{"type": "hello", "id": 1, "token": token, "campaign": campaign})
	for {
		p.mu.Lock()
		welcome, closed, news := p.welcome.User != "", p.closed, p.news
		p.mu.Unlock()
		if welcome {
			return p, nil
		}
		if closed == nil {
			select {
			case <-news:
				continue
			case <-ctx.Done():
				closed = ctx.Err()
			}
		}
		p.hangUp()
		return p, closed
	}
}

func (p *player) hangUp() {
	_ = p.conn.Close()
	<-p.done
	p.taps.Wait()
}

func (p *player) write(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	return p.conn.WriteMessage(websocket.TextMessage, data)
}

// tap sends a tap and returns the request's id.
func (p *player) tap(drop string) wire.ID {
	p.mu.Lock()
	number := p.note(drop)
	p.mu.Unlock()
	return p.send(number, drop)
}

// note numbers a tap. The caller holds mu.
func (p *player) note(drop string) (number int) {
	p.nextID++
	number = 1000 + p.nextID
	p.tapped[wire.ID(strconv.Itoa(number))] = drop
	p.hit[drop] = true
	return number
}

func (p *player) send(number int, drop string) wire.ID {
	// a lost connection shows as a missing result
	_ = p.write(map[string]any{"type": "tap", "id": number, "drop": drop})
	return wire.ID(strconv.Itoa(number))
}

func (p *player) read() {
	defer close(p.done)
	for {
		_, data, err := p.conn.ReadMessage()
		if err != nil {
			p.learn(func() { p.closed = err })
			return
		}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			p.learn(func() { p.hear(line) })
		}
	}
}

// learn changes the player's knowledge and wakes its waiters.
func (p *player) learn(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.news)
	p.news = make(chan struct{})
}

// tapWave taps every drop of a wave once it is in the air.
func (p *player) tapWave(w wire.Wave) {
	p.mu.Lock()
	wait := time.Duration(w.At-p.offset-time.Now().UnixMilli()+100) * time.Millisecond
	p.mu.Unlock()
	select {
	case <-p.done:
		return
	case <-time.After(max(wait, 0)):
	}
	for _, d := range w.Drops {
		p.tap(fmt.Sprintf("%d.%d", w.N, d[0]))
	}
}

// await waits until a condition of the player's knowledge is true.
func (p *player) await(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	deadline := time.After(testenv.Patiently(limit))
	for {
		p.mu.Lock()
		ok, news := is(), p.news
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("%s: no %s within %s; %s", p.user, what, limit, p.state())
		}
	}
}

// state describes a player, for a failed test.
func (p *player) state() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("closed: %v, errors: %v, rains: %d, waves: %d", p.closed, p.errors, len(p.rains), len(p.waves))
}

// answered waits for the result of a tap.
func (p *player) answered(t *testing.T, id wire.ID) wire.Result {
	t.Helper()
	p.await(t, 20*time.Second, "result of tap "+string(id), func() bool { return len(p.results[id]) > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.results[id][0]
}

// next is a packet of the newest wave that skip does not name, and that is in the air for a second more; ""
// without one.
func (p *player) next(skip func(drop rain.DropID) bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().UnixMilli() + p.offset
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(p.waves))) {
		at := p.waves[n].At
		for _, d := range p.waves[n].Drops {
			id := rain.DropID{N: n, K: d[0]}
			if d[2] == int(rain.Packet) && now >= at+50 && now < at+int64(d[3])-1_000 && !skip(id) {
				return id.String()
			}
		}
	}
	return ""
}

// freshDrop waits for a packet in the air that the player has not tapped yet.
func (p *player) freshDrop(t *testing.T) (drop string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, "a fresh drop", func() bool {
		drop = p.next(func(id rain.DropID) bool { return p.hit[id.String()] })
		return drop != ""
	})
	return drop
}

// tapNext taps the first drop of a wave, if there is one that the player has not tapped yet.
func (p *player) tapNext() {
	if drop := p.next(func(id rain.DropID) bool { return id.K > 0 || p.hit[id.String()] }); drop != "" {
		p.tap(drop)
	}
}

// winOne taps a packet in the air, and it wins.
func (p *player) winOne(t *testing.T) wire.Result {
	t.Helper()
	r := p.answered(t, p.tap(p.freshDrop(t)))
	if r.Outcome != "won" {
		t.Fatalf("%s: %+v", p.user, r)
	}
	return r
}

// untilAnswer taps one drop after the other, each when the one before is answered, until the answer is one of these.
func (p *player) untilAnswer(t *testing.T, last ...string) {
	t.Helper()
	deadline := time.Now().Add(testenv.Patiently(time.Minute))
	for time.Now().Before(deadline) {
		switch r := p.answered(t, p.tap(p.freshDrop(t))); {
		case slices.Contains(last, r.Outcome):
			return
		case !slices.Contains([]string{"won", "empty", "late", "unavailable"}, r.Outcome):
			t.Errorf("%s: %+v", p.user, r)
			return
		}
	}
	t.Errorf("%s was never answered %v", p.user, last)
}

// closeOf is the end of a hello: the close code, 0 for a welcome.
func closeOf(t *testing.T, n *node, user, campaign string) int {
	t.Helper()
	_, err := hello(t, n, user, campaign)
	if end, ok := errors.AsType[*websocket.CloseError](err); ok {
		return end.Code
	}
	testenv.Must(t, err)
	return 0
}

// closeCode waits for the end of the connection and returns its code.
func (p *player) closeCode(t *testing.T) int {
	t.Helper()
	p.await(t, 20*time.Second, "close", func() bool { return p.closed != nil })
	p.mu.Lock()
	defer p.mu.Unlock()
	var closed *websocket.CloseError
	if !errors.As(p.closed, &closed) {
		t.Fatalf("%s: the connection broke instead of being closed: %v", p.user, p.closed)
	}
	return closed.Code
}

// wins are the player's distinct reported wins.
func (p *player) wins() map[string]wire.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	wins := map[string]wire.Result{}
	for _, rs := range p.results {
		for _, r := range rs {
			if r.Outcome == "won" {
				wins[r.Claim] = r
			}
		}
	}
	return wins
}

func wantClose(t *testing.T, p *player, code int) {
	t.Helper()
	testenv.Equal(t, p.closeCode(t), code, "close code")
}
