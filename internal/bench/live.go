package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"redrain/client"
	"redrain/internal/wire"
)

// codeFull is the close code of a room without a slot for the player: after goodbye.reconnect_after_ms.
const codeFull = 4003

// backoff returns the pause before the n-th consecutive try, counted from 0. It is random up to a limit that doubles
// with each failure ("full jitter"): from half a second to 15 s.
func backoff(n int) time.Duration {
	return rand.N(min(500*time.Millisecond<<min(n, 5), 15*time.Second)) //nolint:gosec // not a secret
}

// live connects the player, and reconnects if that is allowed, until ctx ends or the player has left for good.
func (p *player) live(ctx context.Context) {
	for attempt := 0; ; attempt++ {
		sock, err := p.crowd.dial(ctx, p)
		if err == nil {
			var joined bool
			if joined, err = p.session(ctx, sock); joined {
				attempt = 0
			}
		}
		if p.hangUp() || ctx.Err() != nil {
			return
		}
		closed, isClosed := errors.AsType[*client.ClosedError](err)
		switch {
		case isClosed && closed.Code == codeFull && p.backMS > 0:
			attempt = -1
			if !p.waitForSlot(ctx) {
				return
			}
			continue
		case isClosed && !closed.Retry():
			p.giveUp(err)
			return
		}
		wait, ok := p.comeBack(attempt, err)
		if !ok {
			p.giveUp(err)
			return
		}
		if !Pause(ctx, wait) {
			return
		}
	}
}

// session plays on one connection until it ends. joined reports whether the player was admitted.
func (p *player) session(ctx context.Context, sock *client.Socket) (joined bool, err error) {
	defer sock.Close() //nolint:errcheck // the connection is over
	stop := context.AfterFunc(ctx, func() {
		_ = sock.Leave() // as a browser's page does
		_ = sock.Close()
	})
	defer stop()
	p.connect(sock)
	err = sock.Hello(1, p.token, p.campaign)
	for err == nil {
		var m client.Message
		if m, err = sock.Receive(); err == nil {
			p.receive(m)
		}
	}
	joined, left := p.state()
	if ctx.Err() != nil || left {
		return joined, err // this side has ended it
	}
	closed, isClosed := errors.AsType[*client.ClosedError](err)
	p.crowd.tally.count(func(t *counts) {
		switch {
		case isClosed:
			t.Closes[strconv.Itoa(closed.Code)]++
		case errors.Is(err, client.ErrProtocol):
			t.Faults[err.Error()]++
			t.Broken++
		default:
			t.Broken++
		}
	})
	return joined, err
}

// comeBack returns the pause before the next try, and moves the player to the next server, like a load balancer. ok is
// false if the server's pause exceeds the time limit for joining.
func (p *player) comeBack(attempt int, err error) (wait time.Duration, ok bool) {
	wait = backoff(max(attempt, 0))
	if p.backMS > 0 {
		wait = time.Duration(p.backMS) * time.Millisecond
	}
	refusal, refused := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err)
	if refused && refusal.RetryAfter() > 0 {
		if p.isNew && refusal.RetryAfter() > p.crowd.options.JoinWithin {
			return 0, false
		}
		wait = refusal.RetryAfter() + rand.N(time.Second) //nolint:gosec // not a secret; servers say whole seconds
	}
	p.backMS = 0
	p.crowd.change(func() { p.crowd.lastErr = err })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = (p.target + 1) % len(p.crowd.options.Targets)
	return wait, true
}

// waitForSlot waits until the player may connect again. With a position, it polls as often as the server says; without
// one, it waits for the server's pause. It returns false if ctx ends before.
func (p *player) waitForSlot(ctx context.Context) bool {
	c := p.crowd
	if c.waiting.wait(p.id) {
		c.change(func() { c.told++ })
	}
	position, wait := p.position, time.Duration(p.backMS)*time.Millisecond
	p.position, p.backMS = 0, 0
	for Pause(ctx, wait) {
		if position < 1 || c.options.Turn == nil {
			return true
		}
		turn, err := c.options.Turn(ctx, p.id, p.token, p.campaign)
		if err != nil || turn.Admitted {
			return true // the socket gives the reason
		}
		position, wait = turn.Position, time.Duration(turn.RetryAfterMS)*time.Millisecond
	}
	return false
}

// giveUp ends a player for whom a retry is useless.
func (p *player) giveUp(err error) {
	if p.isNew {
		p.isNew = false
		p.crowd.giveUp(err)
	}
}

// receive handles a message of the server.
func (p *player) receive(m client.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.First {
		p.crowd.tally.count(func(t *counts) { t.Frames++ })
	}
	switch m.Type {
	case wire.TypeResult:
		p.receiveResult(m.Body)
	case wire.TypeWave:
		p.receiveWave(m.Body)
	case wire.TypeSettled:
		n := int64(bytes.Count(m.Body, []byte(`"claim":`)))
		p.crowd.tally.count(func(t *counts) { t.Settled += n })
	case wire.TypeRain:
		p.receiveRain(m.Body)
	case wire.TypeWelcome:
		p.receiveWelcome(m.Body)
	case wire.TypePong:
		if pong, ok := decode[wire.Pong](p, m.Body); ok {
			p.clock().sample(p.crowd.began.Add(time.Duration(pong.T)), time.Now(), pong.ServerTime)
		}
	case wire.TypeError:
		p.receiveError(m.Body)
	case wire.TypeGoodbye:
		if bye, ok := decode[wire.Goodbye](p, m.Body); ok {
			p.backMS, p.position = bye.ReconnectAfterMS, bye.Position
		}
	case "":
		if !json.Valid(m.Body) {
			p.fault("not JSON")
		}
	}
}

// decode parses a message, or counts a fault.
func decode[T any](p *player, body []byte) (m T, ok bool) {
	if err := json.Unmarshal(body, &m); err != nil {
		p.fault(errShape.Error())
		return m, false
	}
	return m, true
}

func (p *player) fault(words string) { p.crowd.tally.count(func(t *counts) { t.Faults[words]++ }) }

func (p *player) receiveResult(body []byte) {
	m, ok := decode[wire.Result](p, body)
	if !ok {
		return
	}
	t, ok := p.answered(string(m.ID))
	if !ok {
		p.fault("a result that belongs to no tap")
		return
	}
	if t.drop != m.Drop {
		p.fault("a result of another drop than was tapped")
	}
	if (m.Outcome == won) != (m.Claim != "") { // the ledger has no win without a claim
		p.fault("a win without a claim, or a claim without a win")
	}
	p.crowd.tally.answer(m.Outcome, time.Since(t.at))
	if m.Claim != "" {
		p.crowd.tally.record(Win{p.id, m.Claim, m.Amount})
	}
	p.tapAgain()
}

func (p *player) receiveError(body []byte) {
	m, ok := decode[wire.Error](p, body)
	if !ok {
		return
	}
	_, wasTap := p.answered(string(m.ID))
	p.crowd.tally.count(func(t *counts) {
		t.Errors[m.Code]++
		if wasTap {
			t.pending--
		}
	})
	if wasTap {
		p.tapAgain()
	}
}

func (p *player) receiveWelcome(body []byte) {
	m, ok := decode[wire.Welcome](p, body)
	if !ok {
		return
	}
	now := time.Now()
	p.clock().sample(p.saidAt, now, m.ServerTime)
	for _, c := range m.Claims {
		p.crowd.tally.record(Win{p.id, c.Claim, c.Amount})
	}
	p.cameAt = p.serverMS(now)
	again := !p.joined
	p.joined, p.backMS, p.position = true, 0, 0
	p.see(p.view.rain(m.Rain), m.Rain)
	if err := p.sock.Ping(0, int64(now.Sub(p.crowd.began))); err != nil {
		_ = p.sock.Close() // session notices it
		return
	}
	if p.isNew {
		p.isNew = false
		p.crowd.tally.count(func(t *counts) { t.connected++ })
		p.crowd.arrive(p)
	} else if again {
		p.crowd.tally.count(func(t *counts) { t.connected++; t.Reconnects++ })
	}
	if p.plan != nil {
		p.stay()
		p.tapAgain()
	}
}

func (p *player) receiveRain(body []byte) {
	if m, ok := decode[wire.RainChange](p, body); ok {
		p.see(p.view.rain(m.Rain), m.Rain)
	}
}

// catchUp is the time after joining in which a wave may be older than the connection, in ms. The server sends newcomers
// the waves in the air, and announces a wave half a second ahead.
const catchUp = 1_000

func (p *player) receiveWave(body []byte) {
	now := time.Now()
	w, err := p.view.readWave(body, now)
	if err != nil {
		p.fault(err.Error())
		return
	}
	if !p.seen.add(w.n) {
		return // the server repeats it after a reconnect
	}
	late := w.at > p.cameAt && p.serverMS(now) > w.at
	if w.at > p.cameAt+catchUp {
		w.noteLast(now)
	}
	p.crowd.tally.count(func(t *counts) {
		t.AllWaves++
		if late {
			t.Waves.Late++
		}
	})
	if len(p.queue) == 0 || p.queue[len(p.queue)-1].n < w.n {
		p.queue = append(p.queue, w)
	}
	if !p.starvedSince.IsZero() || (p.plan != nil && p.plan.Hand != nil) {
		p.tap()
	}
}
