package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/room"
	"redrain/server/clientip"
	"redrain/server/risk"
)

// refusedHellos counts the refused hellos of each address, over all nodes. A valid hello costs its address nothing,
// and is never refused because of its neighbours: a hall is one address. The limit protects the back ends: a refused
// hello of an address above it causes no requests to them.
type refusedHellos struct {
	limits Limits
	rate   float64 // of each address in a second; 0: no limit
	now    func() time.Time

	mu   sync.Mutex
	over map[string]time.Time // addresses that are over the limit, until then
}

const (
	// overFor is the least time for which an address counts as above the limit, so that not each refusal asks Redis.
	overFor = time.Second
	// overMost is the number of such addresses that a node stores.
	overMost = 10_000
)

func newRefusedHellos(l Limits, rate float64) *refusedHellos {
	return &refusedHellos{limits: l, rate: rate, now: time.Now, over: map[string]time.Time{}}
}

// isOver reports whether an address is above the limit, as far as this node knows.
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

// count counts one more refused hello. It reports whether the address is above the limit now. If Redis does not
// answer, it is not.
func (r *refusedHellos) count(ctx context.Context, addr string) (tooMany bool) {
	if r.rate == 0 || r.isOver(addr) {
		return false
	}
	ok, after, err := r.limits.Allow(ctx, "hello", addr, r.rate, max(1, r.rate*clientip.Burst))
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

// refuseHello ends a connection with an invalid hello, which counts for its address.
func (s *session) refuseHello(ctx context.Context, code int, reason string) {
	s.g.metrics.refused.Inc()
	if s.g.refused.count(ctx, s.addr) {
		s.g.o.Log.Warn("an address sends too many refused hellos", "addr", s.addr)
	}
	s.end(code, reason)
}

// errTooManyRefused refuses a hello that needs the database, from an address with too many refused ones.
var errTooManyRefused = errors.New("too many hellos of this address were refused")

// mayLookUp reports whether a campaign may be looked up for a newcomer. An address above its limit only gets
// campaigns that this node has.
func (s *session) mayLookUp(campaign string) error {
	if s.user == "" && s.g.o.Campaigns.Cached(campaign) == nil && s.g.refused.isOver(s.addr) {
		return errTooManyRefused
	}
	return nil
}

// endHello ends a connection whose hello has failed.
func (s *session) endHello(ctx context.Context, id wire.ID, campaign string, err error) {
	switch {
	case postpone(err) != nil:
		s.turnAway(postpone(err))
	case outsider(err) != nil:
		s.send(wire.Error{Type: wire.TypeError, ID: id, Code: outsider(err).code, Message: err.Error()})
		s.refuseHello(ctx, outsider(err).closes, err.Error())
	case errors.Is(err, posting.ErrUnknownCampaign):
		s.refuseHello(ctx, room.CodeUnknownCampaign, "unknown campaign")
	case errors.Is(err, risk.ErrNoAnswer):
		s.end(room.CodeUnavailable, "unavailable")
	case errors.Is(err, errTooManyRefused):
		s.end(room.CodeUnavailable, "too many connections from this address at once")
	default:
		s.g.o.Log.Warn("admit a player", "campaign", campaign, "err", err)
		s.end(room.CodeUnavailable, "unavailable")
	}
}
