package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// watched is a process whose heap can be looked at.
type watched struct {
	*process

	admin *node
}

func watchedProcess(t *testing.T, s setting) *watched {
	t.Helper()
	addr := testenv.Addr(t)
	p := startProcessWith(t, processOptions{flags: append(s.flags(), "--admin-listen", addr)})
	return &watched{p, nodeAt(t, "http://"+addr)}
}

func (w *watched) metric(t *testing.T, name string) float64 {
	t.Helper()
	return metric(t, w.admin, name)
}

// heap is the least that was in use after everything else had been collected: what is asked meanwhile is in use too,
// and the first time what pools have kept.
func (w *watched) heap(t *testing.T) (least int64) {
	t.Helper()
	for look := range 6 {
		resp, err := get(t, w.admin.url+"/debug/pprof/heap?gc=1")
		testenv.Must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		testenv.Must(t, errors.Join(err, resp.Body.Close()))
		if is := int64(w.metric(t, "go_memstats_heap_alloc_bytes")); look == 0 || is < least {
			least = is
		}
	}
	return least
}

// house is a campaign with seats, and the players who want one. They do what the contract says and nothing more.
type house struct {
	ctx      context.Context
	t        *testing.T
	front    *node
	campaign string
	goes     chan struct{} // has one for each player who may go
	allIn    chan struct{} // closed when everybody may go
	playing  sync.WaitGroup

	mu           sync.Mutex
	visits       []*visit // in the order in which they came
	in, back     int64    // who was let in, and who has come back after the line broke
	inside, most int
}

func (h *house) comers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.visits)
}

func (h *house) returned() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.back
}

// awaitIn waits until so many have been let in.
func (h *house) awaitIn(count int64) {
	h.t.Helper()
	testenv.Eventually(h.t, 3*time.Minute, fmt.Sprintf("%d are in", count), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.in >= count
	})
}

// passersBy are players who ask once, get a place behind all others, and are not seen again. They are so many that what
// waiting costs the nodes is more than what nodes do besides; and as everybody else goes on asking, what the nodes have
// in hand for those is taken for nobody's: it is looked at until there is a moment with little of it.
func (h *house) passersBy(nodes ...*watched) {
	h.t.Helper()
	const warm, players, most = 500, 3_000, 1024
	q := &queue{t: h.t, n: h.front, campaign: h.campaign}
	q.all(0, warm) // pools of connections and of buffers are as large as they get
	before, after := make([]int64, len(nodes)), make([]int64, len(nodes))
	for i, n := range nodes {
		before[i] = n.heap(h.t)
		after[i] = math.MaxInt64
	}
	q.all(warm, warm+players)
	var each int64
	testenv.Eventually(h.t, time.Minute, fmt.Sprintf("the nodes keep less than %d bytes for each who waits", most),
		func() bool {
			each = 0
			for i, n := range nodes {
				after[i] = min(after[i], n.heap(h.t))
				each += (after[i] - before[i]) / players
			}
			return each < most
		})
	h.t.Logf("%d bytes of all nodes for each who waits", each)
}

// comes notes the next player who comes.
func (h *house) comes(user string) *visit {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := &visit{user: user, turn: len(h.visits)}
	h.visits = append(h.visits, v)
	return v
}

// arrive has the next player come: each has a seat or a place before the one after.
func (h *house) arrive() {
	h.t.Helper()
	user := fmt.Sprintf("player-%03d", h.comers())
	p := &comer{visit: h.comes(user), h: h, token: token(h.t, user)}
	for _, err := p.ask(); err != nil; _, err = p.ask() {
		if !errors.Is(err, errAgain) || h.ctx.Err() != nil {
			h.t.Fatalf("%s: %v", user, err)
		}
	}
	h.playing.Go(func() {
		if err := p.play(); err != nil {
			h.t.Errorf("%s: %v", user, err)
		}
	})
}

// entered notes that a player is in the room; another may go for one who is new.
func (h *house) entered(again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside++; h.inside > h.most {
		h.most = h.inside
	}
	if again {
		h.back++
		return
	}
	if h.in++; h.in > houseSeats {
		h.goes <- struct{}{}
	}
}

func (h *house) outside() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inside--
}

// check holds what everybody has seen against what a house promises.
func (h *house) check() {
	h.t.Helper()
	if h.most > houseSeats {
		h.t.Errorf("%d were in the room at once, for %d seats", h.most, houseSeats)
	}
	order{visits: h.visits, seats: houseSeats}.check(h.t)
}

// comer is a player who comes without a browser.
type comer struct {
	*visit

	h     *house
	token string
}

// turn is an answer of GET /admission; after RetryAfterMS one should ask again.
type turn struct {
	Admitted     bool  `json:"admitted"`
	Position     int   `json:"position"`
	RetryAfterMS int64 `json:"retry_after_ms"`
}

// errAgain is an answer that is none yet: the node is gone, or full, or cannot say.
var errAgain = errors.New("try again")

// ask asks for the turn over HTTP.
func (p *comer) ask() (answer turn, err error) {
	sent := time.Now()
	p.asks(sent)
	req, err := http.NewRequestWithContext(p.h.ctx, http.MethodGet,
		p.h.front.url+"/api/v1/admission?campaign="+p.h.campaign, nil)
	if err != nil {
		return turn{}, err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
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
	if json.NewDecoder(resp.Body).Decode(&answer) != nil {
		return turn{}, errAgain // cut in the middle
	}
	if !answer.Admitted && answer.Position < 1 {
		return turn{}, fmt.Errorf("a turn without a place: %+v", answer)
	}
	return answer, p.hears(sent, time.Now(), answer)
}

// pause waits for as long as the server asks.
func (p *comer) pause(ms int64) {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-p.h.ctx.Done():
	}
}

// play waits for the turn, comes in, stays until it may go, and goes for good. A line that breaks brings the player
// back, who then stays until all are in: the killed node has the half of their seat. It fails where the server ends a
// player for good.
func (p *comer) play() error {
	for p.h.ctx.Err() == nil {
		turn, err := p.ask()
		switch {
		case errors.Is(err, errAgain):
			p.pause(250)
			continue
		case err != nil:
			return err
		case !turn.Admitted:
			p.pause(turn.RetryAfterMS)
			continue
		}
		conn, err := tryDial(p.h.t, p.h.ctx, p.h.front)
		if err != nil {
			p.pause(250)
			continue
		}
		code, retry := p.hello(conn)
		if code != 0 {
			conn.hangUp()
			if code >= room.CodeBadToken && code <= 4599 {
				return fmt.Errorf("ended for good with %d", code)
			}
			p.pause(retry)
			continue
		}
		if p.stay(conn) {
			return nil
		}
	}
	return fmt.Errorf("not in: %w", p.h.ctx.Err())
}

// stay is the time in the room. It returns false where the line breaks.
func (p *comer) stay(conn *player) (gone bool) {
	back := !p.cut.IsZero()
	p.h.entered(back)
	goes := p.h.goes
	if back {
		goes = nil
	}
	select {
	case <-goes:
	case <-p.h.allIn:
	case <-p.h.ctx.Done():
	case <-conn.done:
		p.h.outside()
		p.cut = time.Now()
		return false
	}
	p.h.outside()
	p.left = time.Now()
	_ = conn.conn.WriteControl(websocket.CloseMessage,
		websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Minute))
	<-conn.done
	return true
}

// hello says hello; code is that of the end, 0 where the player is in, and retry when to come back, in ms.
func (p *comer) hello(conn *player) (code int, retry int64) {
	conn.user = p.user
	err := conn.write(map[string]any{"type": "hello", "id": 1, "token": p.token, "campaign": p.h.campaign})
	if err != nil {
		return websocket.CloseAbnormalClosure, 250
	}
	for {
		conn.mu.Lock()
		welcome, closed, goodbye, news := conn.welcome.User != "", conn.closed, conn.goodbye, conn.news
		conn.mu.Unlock()
		switch {
		case welcome:
			return 0, 0
		case closed != nil:
			retry = 250
			if goodbye != nil {
				retry = goodbye.ReconnectAfterMS
			}
			end, ok := errors.AsType[*websocket.CloseError](closed)
			if !ok || end.Text == wire.LateHello {
				return websocket.CloseAbnormalClosure, retry
			}
			return end.Code, retry
		}
		select {
		case <-news:
		case <-p.h.ctx.Done():
			return websocket.CloseAbnormalClosure, 0
		}
	}
}
