package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"redrain/internal/wire"
	"redrain/internal/ws"
)

// ClosedError says why the server closed a player's connection.
type ClosedError struct {
	Code   int
	Reason string // the server's words; may be ""
}

// Error says it.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("the server closed the connection: %s (code %d)", e.Reason, e.Code)
}

// The pause before a player comes back: at random up to twice as long with each failure ("full jitter").
const (
	backoffFirst = 500 * time.Millisecond
	backoffMost  = 15 * time.Second
)

// backoff is the pause before the n-th try in a row, counted from 0.
func backoff(n int) time.Duration {
	most := backoffMost
	if n < 5 {
		most = min(backoffFirst<<n, backoffMost)
	}
	return rand.N(most) //nolint:gosec // not a secret
}

// comesBack tells whether a client should come back after a close code: not after those from 4500 to 4599, as the
// same would happen again, nor after 4004, as it would throw another connection of the player's out. Codes of
// WebSocket itself come from a server or a proxy that goes down. A hello that was late may be in time the next time.
func comesBack(code int, reason string) bool {
	return code != 4004 && (code < 4500 || code > 4599) || code == 4501 && reason == wire.LateHello
}

// gone takes note of a connection that has broken.
func (l *loop) gone(p *player, err error) {
	if p.sock == nil {
		return
	}
	if p.left {
		l.hangUp(p)
		return
	}
	l.options.Log.Debug("a player's connection is gone", "player", p.id, "err", err)
	if errors.Is(err, ws.ErrFrame) {
		l.tally.fault(err.Error())
	}
	l.tally.broken++
	l.hangUp(p)
	l.comeBack(p, err)
}

// closed takes note of a connection that the server has closed.
func (l *loop) closed(p *player, code int, reason string) {
	if p.left {
		l.hangUp(p)
		return
	}
	l.options.Log.Debug("a player's connection was closed", "player", p.id, "code", code, "reason", reason)
	l.tally.closes[code]++
	l.hangUp(p)
	err := &ClosedError{Code: code, Reason: reason}
	switch {
	case code == codeFull && p.backMS > 0:
		back, place := time.Duration(p.backMS)*time.Millisecond, p.place
		p.backMS, p.place, p.attempt = 0, 0, 0
		l.door.turnAway(p, place, back, err)
		return
	case comesBack(code, reason):
		l.comeBack(p, err)
		return
	}
	l.giveUp(p, err)
}

// hangUp ends a connection, and what belongs to it. Taps that were not answered never will be.
func (l *loop) hangUp(p *player) {
	if p.sock != nil {
		_ = p.sock.close() // nothing is lost with it
	}
	l.absent(p)
	l.tally.lost += int64(len(p.pending))
	p.sock, p.in, p.message, p.joined, p.pending = nil, nil, nil, false, nil
	l.tally.starved(p, l.now)
}

// comeBack has the player connect again after a pause, to the next of the servers: a node may be gone for good, and
// a load balancer would send the player elsewhere, too.
func (l *loop) comeBack(p *player, err error) {
	wait := backoff(p.attempt)
	if p.backMS > 0 {
		wait = time.Duration(p.backMS) * time.Millisecond
	}
	if later, ok := errors.AsType[*LaterError](err); ok {
		if p.coming && later.After > l.options.JoinWithin {
			l.giveUp(p, err) // nobody waits for that long
			return
		}
		wait = later.After + rand.N(time.Second) //nolint:gosec // not a secret; it is told in whole seconds
	}
	p.backMS = 0
	p.attempt++
	p.target = (p.target + 1) % len(l.clocks)
	l.door.connectLater(p, wait, err)
}

// stay has a player go for good after a while, where the plan says so.
func (l *loop) stay(p *player) {
	if l.plan.Stay > 0 {
		l.door.leaveLater(p, l.plan.Stay)
	}
}

// leave lets a player go for good, as a page does that is closed.
func (l *loop) leave(p *player) {
	l.now = l.clock()
	if !p.joined {
		return // it is on its way back, and has a seat for that; it stays
	}
	l.absent(p)
	p.left, p.joined = true, false
	l.tally.left++
	// The server gives the seat away when it has read this, and closes; until then the line stays.
	if err := p.sock.write(ws.AppendClientFrame(nil, ws.OpClose, []byte{0x03, 0xE8})); err != nil { // 1000
		l.hangUp(p)
	}
}

// giveUp is for a player who cannot come in: the same would happen again.
func (l *loop) giveUp(p *player, err error) {
	if p.coming {
		p.coming = false
		l.door.arrive(p, err)
	}
}
