package gateway

import (
	"time"

	"golang.org/x/time/rate"

	"redrain/internal/wire"
	"redrain/room"
)

const (
	// piece is the number of bytes of a message that cost as much as the message itself.
	piece = 512
	// budgetSeconds is the number of seconds' worth of the budget that may be spent at once. A phone that was without
	// a network sends all queued messages.
	budgetSeconds = 10
	// besidesTaps is the limit of a player's messages beside taps, in messages per second.
	besidesTaps = 20
	// leastBurst is the least burst, for a very low --tap-rate.
	leastBurst = 400
	// highRate sizes the queue of a player without a tap limit, in taps per second.
	highRate = 200
	// unrequested is the number of unrequested messages that may wait: settlements, changes of the rain.
	unrequested = 256
	// droppedMost messages beyond the budget are dropped; one more ends the connection.
	droppedMost = 200

	// WebSocket's own pings and pongs: a browser sends one pong in 25 s.
	controlRate  = 5
	controlBurst = 50

	// A welcome reads Redis and the ledger, and is as long as a hundred messages. A change of rooms needs one.
	welcomeRate  = 0.5
	welcomeBurst = 8
)

// budget limits the requests of one connection. It is spent before a message is parsed, and messages beyond it are
// dropped. Only the goroutine that reads the connection uses it.
type budget struct {
	messages   *rate.Limiter // messages, and their bytes; nil: no limit
	control    *rate.Limiter // WebSocket's own frames; nil until there is one
	welcomes   *rate.Limiter // nil until there is one
	dropped    int           // in all: 0 for a client that follows the protocol
	notifiedAt time.Time     // time of the player's last notification
}

// newBudget returns the budget of a player with a tap rate; 0: taps and messages have no limit. It is twice the need
// of an honest player: a tap above the rate is answered with too_fast, and not dropped.
func newBudget(tapRate int) budget {
	if tapRate == 0 {
		return budget{}
	}
	perSecond, burst := perSecondAndBurst(tapRate)
	return budget{messages: rate.NewLimiter(rate.Limit(perSecond), burst)}
}

func perSecondAndBurst(tapRate int) (perSecond, burst int) {
	perSecond = 2*tapRate + besidesTaps
	return perSecond, max(leastBurst, budgetSeconds*perSecond)
}

// Replies returns the number of messages that must be able to wait for a player. The budget of a tap rate admits a
// burst, and all its answers may be ready before the first one is written. Unrequested messages come on top. A player
// without a tap limit gets the queue of a player with highRate taps per second.
func Replies(tapRate int) int {
	if tapRate == 0 {
		tapRate = highRate
	}
	_, burst := perSecondAndBurst(tapRate)
	return burst + unrequested
}

// message reports whether a message of so many bytes is within the budget.
func (b *budget) message(now time.Time, size int) bool {
	return b.messages == nil || b.messages.AllowN(now, 1+size/piece)
}

// frame reports whether a ping or a pong of WebSocket's own is within the budget.
func (b *budget) frame(now time.Time) bool {
	return spend(&b.control, now, controlRate, controlBurst)
}

// welcome reports whether one more welcome is within the budget.
func (b *budget) welcome(now time.Time) bool {
	return spend(&b.welcomes, now, welcomeRate, welcomeBurst)
}

// spend spends one event of a limiter, which is made when it is first needed: most connections need none.
func spend(l **rate.Limiter, now time.Time, perSecond rate.Limit, burst int) (ok bool) {
	if *l == nil {
		*l = rate.NewLimiter(perSecond, burst)
	}
	return (*l).AllowN(now, 1)
}

// overBudget drops a message or frame. It notifies the player once a second, and disconnects a player who goes on.
func (s *session) overBudget(now time.Time) {
	s.g.metrics.dropped.Inc()
	if s.budget.dropped++; s.budget.dropped > droppedMost {
		s.end(room.CodeTooManyBad, "too many messages")
		return
	}
	if now.Sub(s.budget.notifiedAt) >= time.Second {
		s.budget.notifiedAt = now
		s.sendError("", wire.Error{Code: wire.CodeTooMany, Retryable: true,
			Message: "more messages, or longer ones, than a player needs; some were dropped"})
	}
}

// withinControlBudget charges one ping or pong to the budget, and reports whether it fits.
func (s *session) withinControlBudget() bool {
	now := time.Now()
	if s.ended || s.budget.frame(now) {
		return true
	}
	s.overBudget(now)
	return false
}
