package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/room"
)

// guest is a player at the door of a full house, who does what the contract says and nothing more.
type guest struct {
	user, token string
	turn        int // in which they came, from 0
	n           *node
	campaign    string

	entered func(*guest)
	waited  int // answers that told a place
}

// TestFullHouse: 300 players for 100 seats, through haproxy before two nodes of which one is killed. Nobody is ended
// for good, there are never more in the room than seats, and all get in, in the order in which they came.
func TestFullHouse(t *testing.T) {
	testenv.Parallel(t, testenv.Heavy)
	// A hundred seats are free at once, and whoever of the next hundred asks first comes in first.
	const seats, players, spread = 100, 300, 100
	s := realSetting(t)
	doomed, other := startProcess(t, s), startProcess(t, s)
	proxy := testenv.StartHAProxy(t, fmt.Sprintf(`  mode http
  option redispatch
  retries 3
  option httpchk GET /readyz
  default-server check inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
  server a %s
  server b %s
`, strings.TrimPrefix(doomed.url, "http://"), strings.TrimPrefix(other.url, "http://")))
	front := nodeAt(t, "http://"+proxy.Addr)

	spec := fund(t, other.node, "full-house", 1_000, 10)
	spec.Capacity = seats
	c, err := other.client.CreateCampaign(within(t, 20*time.Second), spec, "")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int
	inside, most := 0, 0
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	first := make(chan struct{}) // closed when the first hundred are in
	killed := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	guests := make([]*guest, players)
	for i := range guests {
		g := &guest{
			user: fmt.Sprintf("guest-%03d", i), turn: i, n: front, campaign: c.ID,
			token: token(t, fmt.Sprintf("guest-%03d", i)),
		}
		g.entered = func(g *guest) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, g.turn)
			if inside++; inside > most {
				most = inside
			}
			if len(order) == seats {
				close(first)
			}
		}
		guests[i] = g
		// in the order of their numbers: each has a seat or a place before the next
		if err := g.knock(ctx); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			leave := func() { // who is in stays until the others have come, and goes for good
				select {
				case <-killed:
				case <-ctx.Done():
				}
				mu.Lock()
				defer mu.Unlock()
				inside--
			}
			if err := g.play(ctx, leave); err != nil {
				t.Errorf("%s: %v", g.user, err)
			}
		})
	}
	select {
	case <-first:
	case <-ctx.Done():
		t.Fatal("the first hundred do not come in")
	}
	stats, err := other.client.Stats(within(t, 20*time.Second), c.ID)
	if err != nil || stats.Waiting != players-seats || stats.Seated != seats {
		t.Errorf("%d wait and %d have seats (%v), want %d and %d", stats.Waiting, stats.Seated, err, players-seats,
			seats)
	}
	doomed.kill()
	close(killed)
	all.Wait()
	if len(order) != players {
		t.Fatalf("%d of %d came in", len(order), players)
	}
	if most > seats {
		t.Errorf("%d were in the room at once, for %d seats", most, seats)
	}
	var astray []string
	for at, turn := range order {
		if off := at - turn; off > spread || off < -spread {
			astray = append(astray, fmt.Sprintf("player %d came in as number %d", turn, at))
		}
	}
	// Whoever gets no processor for as long as a place is kept comes back at the end.
	if len(astray) > players/20 {
		t.Errorf("%d players have come in out of their order: %q", len(astray), astray)
	}
}

// knock asks for a turn over HTTP, as the first thing that a player does.
func (g *guest) knock(ctx context.Context) error {
	turn, err := g.ask(ctx)
	if err == nil && !turn.Admitted && turn.Position < 1 {
		err = fmt.Errorf("a turn without a place: %+v", turn)
	}
	return err
}

// turn is an answer of GET /admission; after is when to ask again.
type turn struct {
	Admitted     bool  `json:"admitted"`
	Position     int   `json:"position"`
	RetryAfterMS int64 `json:"retry_after_ms"`
}

// errAgain is an answer that is none yet: the node is gone, or full, or cannot say.
var errAgain = errors.New("try again")

func (g *guest) ask(ctx context.Context) (answer turn, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.n.url+"/api/v1/admission?campaign="+g.campaign, nil)
	if err != nil {
		return turn{}, err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	resp, err := httpClient.Do(req)
	if err != nil {
		return turn{}, errAgain
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= http.StatusInternalServerError:
		return turn{}, errAgain
	case resp.StatusCode != http.StatusOK:
		return turn{}, fmt.Errorf("GET /admission: %s", resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer, err
}

// play waits for the turn, comes in, stays for as long as stay takes, and goes for good. A line that breaks brings the
// player back. It fails where the server ends a player for good.
func (g *guest) play(ctx context.Context, stay func()) error {
	pause := func(ms int64) { // what the server asks to wait
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		turn, err := g.ask(ctx)
		switch {
		case errors.Is(err, errAgain):
			pause(250)
			continue
		case err != nil:
			return err
		case !turn.Admitted:
			g.waited++
			pause(turn.RetryAfterMS)
			continue
		}
		p, err := tryDial(ctx, g.n)
		if err != nil {
			pause(250)
			continue
		}
		code, retry := g.hello(ctx, p)
		if code != 0 {
			p.hangUp()
			if code >= room.CodeBadToken && code <= 4599 {
				return fmt.Errorf("ended for good with %d", code)
			}
			pause(retry)
			continue
		}
		g.entered(g)
		gone := make(chan struct{})
		go func() { defer close(gone); stay() }()
		select {
		case <-gone:
			_ = p.conn.WriteControl(websocket.CloseMessage,
				websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Minute))
			<-p.done
			return nil
		case <-p.done: // the node has gone, and the player has been in
			<-gone
			return nil
		}
	}
	return fmt.Errorf("not in after %d answers", g.waited)
}

// hello says hello; code is that of the end, 0 where the player is in, and retry when to come back, in ms.
func (g *guest) hello(ctx context.Context, p *player) (code int, retry int64) {
	p.user = g.user
	message, err := json.Marshal(map[string]any{"type": "hello", "id": 1, "token": g.token, "campaign": g.campaign})
	if err == nil {
		err = p.conn.WriteMessage(websocket.TextMessage, message)
	}
	if err != nil {
		return websocket.CloseAbnormalClosure, 250
	}
	for {
		p.mu.Lock()
		welcome, closed, goodbye, news := p.welcome.User != "", p.closed, p.goodbye, p.news
		p.mu.Unlock()
		switch {
		case welcome:
			return 0, 0
		case closed != nil:
			retry = 250
			if goodbye != nil {
				retry = goodbye.ReconnectAfterMS
			}
			if end, ok := errors.AsType[*websocket.CloseError](closed); ok {
				return end.Code, retry
			}
			return websocket.CloseAbnormalClosure, retry
		}
		select {
		case <-news:
		case <-p.done:
		case <-ctx.Done():
			return websocket.CloseAbnormalClosure, 0
		}
	}
}
