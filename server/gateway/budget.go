package gateway

import (
	"time"

	"golang.org/x/time/rate"

	"redrain/internal/wire"
	"redrain/room"
)

const (
	// piece is how many bytes of a message cost as much as the message itself.
	piece = 512
	// budgetSeconds is how many seconds' worth of the budget may be spent at once: a phone that was without a network
	// sends what has queued up.
	budgetSeconds = 10
	// besidesTaps is what a player may say beside taps, in messages per second.
	besidesTaps = 20
	// leastBurst is what may come at once where --tap-rate is very low.
	leastBurst = 400
	// highRate stands for no limit where there has to be one, in taps per second.
	highRate = 200
	// unasked is how many messages may wait that nobody has asked for: settlements, changes of the rain.
	unasked = 256
	// droppedMost messages beyond the budget are dropped; one more ends the connection.
	droppedMost = 200

	// WebSocket's own pings and pongs: a browser sends one pong in 25 s.
	controlRate  = 5
	controlBurst = 50

	// A welcome reads Redis and the ledger, and is as long as a hundred messages. Who changes rooms needs one.
	welcomeRate  = 0.5
	welcomeBurst = 8
)

// budget is what one connection may ask of the node. It is spent before a message is parsed, and what is beyond it is
// dropped. Its user is the goroutine that reads the connection.
type budget struct {
	messages *rate.Limiter // messages, and their bytes; nil: no limit
	control  *rate.Limiter // WebSocket's own frames; nil until there is one
	welcomes *rate.Limiter // nil until there is one
	dropped  int           // in all: who keeps to the protocol never has one dropped
	told     time.Time     // when the player was last told
}

// newBudget is the budget of a player who may tap at a rate; 0: as often as they like, and then messages have no limit.
// It is twice what an honest player can use up: a tap above the rate is answered with too_fast, and not dropped.
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

// Replies is how many messages must be able to wait for a player: whatever the budget of a tap rate lets in at once is
// answered, also where the answers are ready before a single one could be written, and news comes beside it. A player
// with no limit gets as much as with a high one.
func Replies(tapRate int) int {
	if tapRate == 0 {
		tapRate = highRate
	}
	_, burst := perSecondAndBurst(tapRate)
	return burst + unasked
}

// message tells whether a message of so many bytes is within the budget.
func (b *budget) message(now time.Time, size int) bool {
	return b.messages == nil || b.messages.AllowN(now, 1+size/piece)
}

// frame tells whether a ping or a pong of WebSocket's own is within the budget.
func (b *budget) frame(now time.Time) bool {
	if b.control == nil {
		b.control = rate.NewLimiter(controlRate, controlBurst)
	}
	return b.control.AllowN(now, 1)
}

// welcome tells whether one more welcome is within the budget.
func (b *budget) welcome(now time.Time) bool {
	if b.welcomes == nil {
		b.welcomes = rate.NewLimiter(welcomeRate, welcomeBurst)
	}
	return b.welcomes.AllowN(now, 1)
}

// overBudget drops a message or frame: the player is told once a second, and who goes on is sent away.
func (s *session) overBudget(now time.Time) {
	s.g.metrics.dropped.Inc()
	if s.budget.dropped++; s.budget.dropped > droppedMost {
		s.end(room.CodeTooManyBad, "too many messages")
		return
	}
	if now.Sub(s.budget.told) >= time.Second {
		s.budget.told = now
		s.send(wire.Error{Type: wire.TypeError, Code: wire.CodeTooMany, Retryable: true,
			Message: "more messages, or longer ones, than a player needs; some were dropped"})
	}
}

// affords spends a ping or pong of WebSocket's own.
func (s *session) affords() bool {
	now := time.Now()
	if s.ended || s.budget.frame(now) {
		return true
	}
	s.overBudget(now)
	return false
}
