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
	"golang.org/x/sync/errgroup"

	"redrain/internal/testenv"
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

// heap is the memory in use after a garbage collection. Questions of that moment are part of it, and the first time
// also the contents of pools.
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

// house is a campaign with seats, and the players who want one. They obey the contract.
type house struct {
	ctx      context.Context
	t        *testing.T
	front    *node
	campaign string
	goes     chan struct{} // has one for each player who may go
	allIn    chan struct{} // closed when everybody may go
	playing  sync.WaitGroup

	visits []*visit // in the order in which they came

	mu           sync.Mutex
	in, back     int // who was let in, and who has come back after the line broke
	inside, most int
}

// await waits until something is true of the house.
func (h *house) await(what string, is func() bool) {
	h.t.Helper()
	testenv.Eventually(h.t, 3*time.Minute, what, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return is()
	})
}

// passersBy are players who ask once, get a place behind all others, and do not come again. They are so many that their
// cost shows beside the nodes' other work. All other players go on asking, and their requests are in the nodes' memory.
// So the test looks until there is a moment with little of them.
func (h *house) passersBy(nodes ...*watched) {
	h.t.Helper()
	const warm, players, most = 500, 3_000, 1024
	h.passBy(0, warm) // pools of connections and of buffers are as large as they get
	before, after := make([]int64, len(nodes)), make([]int64, len(nodes))
	for i, n := range nodes {
		before[i] = n.heap(h.t)
		after[i] = math.MaxInt64
	}
	h.passBy(warm, warm+players)
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

// passBy has players ask once, 16 at a time.
func (h *house) passBy(from, to int) {
	h.t.Helper()
	var asking errgroup.Group
	asking.SetLimit(16)
	for i := from; i < to; i++ {
		user := fmt.Sprintf("passer-by-%d", i)
		p := &comer{visit: &visit{user: user}, h: h, token: token(h.t, user)}
		asking.Go(func() error {
			turn, err := p.ask()
			if err == nil && turn.Admitted {
				err = fmt.Errorf("%s is let in", user)
			}
			return err
		})
	}
	testenv.Must(h.t, asking.Wait())
}

// arrive has the next player come: each has a seat or a place before the one after.
func (h *house) arrive() {
	h.t.Helper()
	user := fmt.Sprintf("player-%03d", len(h.visits))
	p := &comer{visit: &visit{user: user, turn: len(h.visits)}, h: h, token: token(h.t, user)}
	h.visits = append(h.visits, p.visit)
	for _, err := p.ask(); err != nil; _, err = p.ask() {
		if !errors.Is(err, errAgain) || h.ctx.Err() != nil {
			h.t.Fatalf("%s: %v", user, err)
		}
	}
	h.playing.Go(func() {
		testenv.WantErr(h.t, p.play(), nil, user)
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

// comer is a player who comes.
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
		conn, err := enter(p.h.t, p.h.ctx, p.h.front, p.user, p.token, p.h.campaign)
		if err != nil {
			if end, ok := errors.AsType[*websocket.CloseError](err); ok && endsForGood(end) {
				return err
			}
			p.pause(conn.retryMS())
			continue
		}
		if p.stay(conn) {
			return nil
		}
	}
	return fmt.Errorf("not in: %w", p.h.ctx.Err())
}

// retryMS is the time until a player comes back after a closed connection; nil: the connection was not closed.
func (p *player) retryMS() int64 {
	if p == nil || p.goodbye == nil {
		return 250
	}
	return p.goodbye.ReconnectAfterMS
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
