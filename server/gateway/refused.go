package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"redrain/grab"
	"redrain/grab/store"
	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
	"redrain/server/admission"
	"redrain/server/clientip"
	"redrain/server/risk"
)

const (
	// overFor is the least time for which an address counts as above --hello-rate, so that not each refusal asks Redis.
	overFor = time.Second
	// overMost is the number of such addresses that a node stores.
	overMost = 10_000
)

// waitsError means that a room has no slot for the player yet.
type waitsError struct{ turn store.Turn }

func (e *waitsError) Error() string {
	return fmt.Sprintf("place %d in the waiting room", e.turn.Position)
}

// errTooManyRefused refuses a hello that needs the database, from an address with too many refused ones.
var errTooManyRefused = errors.New("too many hellos of this address were refused")

// admit admits a player to a campaign, and returns the player's shared quota. undoAdmit undoes it. The risk system is
// asked last and once, so that it receives neither refused players nor moves from room to room.
func (s *session) admit(ctx context.Context, c *rain.Campaign, user string) (quota grab.Quota, err error) {
	o := &s.g.o
	if err := o.MayPlay(ctx, c, user, s.addr); err != nil {
		return nil, err
	}
	turn, err := o.Door.Enter(ctx, c, user)
	if err != nil {
		return nil, err
	}
	if !turn.Admitted {
		return nil, &waitsError{turn}
	}
	if o.Addresses != nil {
		if quota, err = o.Addresses.Enter(ctx, c, s.addr, user); err != nil {
			o.Door.Leave(c.ID, user, true) // for a player of another address
			return nil, fmt.Errorf("find the address of a guest: %w", err)
		}
	}
	if s.asking != nil {
		who := *s.asking
		who.Campaign, s.asking = c.ID, nil
		if err := o.Ask(ctx, who); err != nil {
			s.g.undoAdmit(c.ID, s.addr, user, true) // for another player
			return nil, err
		}
	}
	return quota, nil
}

// undoAdmit undoes admit; left says that the player leaves for good.
func (g *shared) undoAdmit(campaign, addr, user string, left bool) {
	g.o.Door.Leave(campaign, user, left)
	if g.o.Addresses != nil {
		g.o.Addresses.Leave(campaign, addr, user)
	}
}

// leaveRoom frees the player's slot in their room, if they are in one.
func (s *session) leaveRoom() {
	if s.admittedTo != "" {
		s.g.undoAdmit(s.admittedTo, s.addr, s.tokenUser, s.left)
		s.admittedTo = ""
	}
}

// mayLookUp reports whether a campaign may be looked up for a newcomer. An address above its limit only gets
// campaigns that this node has.
func (s *session) mayLookUp(campaign string) error {
	if s.user == "" && s.g.o.Campaigns.Cached(campaign) == nil && s.g.isOver(s.addr) {
		return errTooManyRefused
	}
	return nil
}

// refusal is the answer to a player who does not get a seat.
type refusal struct {
	answer    wire.Error   // to a player who moves to another room, and keeps the seat there
	goodbye   wire.Goodbye // to a hello with the close code room.CodeFull
	closeCode int          // the close code after a hello
	reason    string
}

// refusalOf returns the refusal for an error of enter.
func refusalOf(err error) refusal {
	refused := func(code string, closeCode int) refusal {
		return refusal{answer: wire.Error{Code: code, Message: err.Error()}, closeCode: closeCode, reason: err.Error()}
	}
	waits, isWaiting := errors.AsType[*waitsError](err)
	switch {
	case isWaiting:
		turn := waits.turn
		return retryLater(wire.Goodbye{Reason: "waiting", ReconnectAfterMS: turn.Retry.Milliseconds(),
			Position: turn.Position, WaitMS: max(0, turn.Wait.Milliseconds())},
			fmt.Sprintf("%v: try again in %s", waits, turn.Retry.Round(time.Second)))
	case errors.Is(err, admission.ErrAddressFull): // the waits are spread, since many guests of an address wait
		after := 10*time.Second + rand.N(10*time.Second) //nolint:gosec // not a secret
		return retryLater(wire.Goodbye{Reason: "address_full", ReconnectAfterMS: after.Milliseconds()},
			admission.ErrAddressFull.Error())
	case errors.Is(err, standing.ErrNotInvited):
		return refused(wire.CodeNotInvited, room.CodeNotInvited)
	case errors.Is(err, standing.ErrDenied):
		return refused(wire.CodeDenied, room.CodeSentAway)
	case errors.Is(err, posting.ErrUnknownCampaign):
		return refusal{answer: wire.Error{Code: wire.CodeUnknownCampaign, Message: "there is no such campaign"},
			closeCode: room.CodeUnknownCampaign, reason: "unknown campaign"}
	}
	away := refusal{answer: wire.Error{Code: wire.CodeUnavailable, Message: "try again", Retryable: true},
		closeCode: room.CodeUnavailable, reason: "unavailable"}
	if errors.Is(err, errTooManyRefused) {
		away.reason = "too many connections from this address at once"
	}
	return away
}

// retryLater returns the refusal of a player who may retry. A queue position is kept as GET /admission keeps it.
func retryLater(goodbye wire.Goodbye, message string) refusal {
	goodbye.Type = wire.TypeGoodbye
	return refusal{goodbye: goodbye, closeCode: room.CodeFull, reason: goodbye.Reason, answer: wire.Error{
		Code: wire.CodeNotAdmitted, Retryable: true, RetryAfterMS: goodbye.ReconnectAfterMS, Message: message}}
}

// endHello ends a connection whose hello has failed.
func (s *session) endHello(ctx context.Context, req wire.Request, err error) {
	how := refusalOf(err)
	switch how.closeCode {
	case room.CodeFull:
		s.g.metrics.turnedAway.Inc()
		s.send(how.goodbye)
		s.end(how.closeCode, how.reason)
	case room.CodeUnavailable:
		if !errors.Is(err, risk.ErrNoAnswer) && !errors.Is(err, errTooManyRefused) {
			s.g.o.Log.WarnContext(ctx, "admit a player", "campaign", req.Campaign, "err", err)
		}
		s.end(how.closeCode, how.reason)
	case room.CodeUnknownCampaign:
		s.refuseHello(ctx, how.closeCode, how.reason)
	default:
		s.sendError(req.ID, how.answer)
		s.refuseHello(ctx, how.closeCode, how.reason)
	}
}

// isOver reports whether an address has too many refused hellos, as far as this node knows.
func (g *shared) isOver(addr string) bool {
	until, _ := g.over.Get(addr)
	return g.o.Clock() < until
}

// refuseHello ends a connection with an invalid hello, which counts for its address, over all nodes. A valid hello
// costs its address nothing, because a hall is one address. If Redis does not answer, the address is not above the
// limit. Above it, a refused hello causes no requests to back ends.
func (s *session) refuseHello(ctx context.Context, code int, reason string) {
	g := s.g
	g.metrics.refused.Inc()
	if hello := g.o.HelloRate; hello > 0 && !g.isOver(s.addr) {
		ok, after, err := g.o.Limits.Allow(ctx, "hello", s.addr, hello, max(1, hello*clientip.Burst))
		if !ok && err == nil {
			g.over.Add(s.addr, g.o.Clock()+max(after, overFor).Milliseconds())
			g.o.Log.WarnContext(ctx, "an address sends too many refused hellos", "addr", s.addr)
		}
	}
	s.end(code, reason)
}
