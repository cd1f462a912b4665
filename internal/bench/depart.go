package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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
// WebSocket itself come from a server or a proxy that goes down.
func comesBack(code int) bool { return code != 4004 && (code < 4500 || code > 4599) }

// gone takes note of a connection that has broken.
func (l *loop) gone(p *player, err error) {
	if p.sock == nil {
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
	l.options.Log.Debug("a player's connection was closed", "player", p.id, "code", code, "reason", reason)
	l.tally.closes[code]++
	l.hangUp(p)
	err := &ClosedError{Code: code, Reason: reason}
	if comesBack(code) {
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
	p.backMS = 0
	p.attempt++
	p.target = (p.target + 1) % len(l.clocks)
	l.door.connectLater(p, wait, err)
}

// giveUp is for a player who cannot come in: the same would happen again.
func (l *loop) giveUp(p *player, err error) {
	if p.coming {
		p.coming = false
		l.door.arrive(err)
	}
}
