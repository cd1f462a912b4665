package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/room"
	"redrain/server/limit"
	"redrain/server/riskurl"
)

// refusedHellos counts the hellos of each address that were refused, over all nodes. A good one costs its address
// nothing, and is never refused for what its neighbours do: a hall is one address. What the limit protects is the back
// ends: a refused hello of an address that is over it asks them nothing.
type refusedHellos struct {
	limits Limits
	rate   float64 // of each address in a second; 0: no limit
	now    func() time.Time

	mu   sync.Mutex
	over map[string]time.Time // addresses that are over the limit, until then
}

const (
	// overFor is how long an address counts as over the limit at least, so that it is not asked for at each refusal.
	overFor = time.Second
	// overMost is how many such addresses a node remembers.
	overMost = 10_000
)

func newRefusedHellos(l Limits, rate float64) *refusedHellos {
	return &refusedHellos{limits: l, rate: rate, now: time.Now, over: map[string]time.Time{}}
}

// isOver tells whether an address is over the limit, as far as this node knows.
func (r *refusedHellos) isOver(addr string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, known := r.over[addr]
	if known && !r.now().Before(until) {
		delete(r.over, addr)
		known = false
	}
	return known
}

// count counts one more refused hello. It reports whether the address has come over the limit with it. Where Redis
// cannot say it has not.
func (r *refusedHellos) count(ctx context.Context, addr string) (tooMany bool) {
	if r.rate == 0 || r.isOver(addr) {
		return false
	}
	ok, after, err := r.limits.Allow(ctx, "hello", addr, r.rate, max(1, r.rate*limit.Burst))
	if ok || err != nil {
		return false
	}
	r.remember(addr, r.now().Add(max(after, overFor)))
	return true
}

func (r *refusedHellos) remember(addr string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.over) >= overMost {
		for other, end := range r.over {
			if !r.now().Before(end) {
				delete(r.over, other)
			}
		}
	}
	if len(r.over) < overMost {
		r.over[addr] = until
	}
}

// refuseHello ends a connection whose hello is no good, which costs its address.
func (s *session) refuseHello(ctx context.Context, code int, reason string) {
	s.g.metrics.refused.Inc()
	if s.g.refused.count(ctx, s.addr) {
		s.g.o.Log.Warn("an address says hello in vain too often", "addr", s.addr)
	}
	s.end(code, reason)
}

// errTooManyRefused is a hello that asks for a look into the database, from an address that has done so in vain.
var errTooManyRefused = errors.New("too many hellos of this address were refused")

// mayLookUp tells whether a campaign may be looked for, for a newcomer: an address that is over its limit gets what
// this node knows.
func (s *session) mayLookUp(campaign string) error {
	if s.user == "" && s.g.o.Campaigns.Cached(campaign) == nil && s.g.refused.isOver(s.addr) {
		return errTooManyRefused
	}
	return nil
}

// endHello is how a connection ends whose hello has failed.
func (s *session) endHello(ctx context.Context, id wire.ID, campaign string, err error) {
	switch {
	case waits(err) != nil:
		s.turnAway(waits(err))
	case errors.Is(err, errCrowded):
		s.crowdOut()
	case outsider(err) != nil:
		s.send(wire.Error{Type: wire.TypeError, ID: id, Code: outsider(err).code, Message: err.Error()})
		s.refuseHello(ctx, outsider(err).closes, err.Error())
	case errors.Is(err, posting.ErrUnknownCampaign):
		s.refuseHello(ctx, room.CodeUnknownCampaign, "unknown campaign")
	case errors.Is(err, riskurl.ErrNoAnswer):
		s.end(room.CodeUnavailable, "unavailable")
	case errors.Is(err, errTooManyRefused):
		s.end(room.CodeUnavailable, "too many connections from this address at once")
	default:
		s.g.o.Log.Warn("a player cannot be let in", "campaign", campaign, "err", err)
		s.end(room.CodeUnavailable, "unavailable")
	}
}
