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
	"redrain/rain"
	"redrain/room"
	"redrain/server/admission"
)

// waitsError means that a room has no slot for the player yet.
type waitsError struct{ turn store.Turn }

func (e *waitsError) Error() string {
	return fmt.Sprintf("place %d in the waiting room", e.turn.Position)
}

// postponed is the answer to a player who may come in later.
type postponed struct {
	goodbye wire.Goodbye
	message string
}

// postpone returns the answer for an error; nil for other errors and for none.
func postpone(err error) *postponed {
	if w, ok := errors.AsType[*waitsError](err); ok {
		return &postponed{wire.Goodbye{Reason: "waiting", ReconnectAfterMS: w.turn.Retry.Milliseconds(),
			Position: w.turn.Position, WaitMS: max(0, w.turn.Wait.Milliseconds())},
			fmt.Sprintf("place %d in the waiting room: try again in %s", w.turn.Position,
				w.turn.Retry.Round(time.Second))}
	}
	if errors.Is(err, admission.ErrAddressFull) { // the waits are spread, since many guests of an address wait
		after := 10*time.Second + rand.N(10*time.Second) //nolint:gosec // not a secret
		return &postponed{wire.Goodbye{Reason: "address_full", ReconnectAfterMS: after.Milliseconds()},
			admission.ErrAddressFull.Error()}
	}
	return nil
}

// letIn admits a player to a campaign, and returns the player's shared quota. leaveDoor undoes it.
func (s *session) letIn(ctx context.Context, c *rain.Campaign, user string) (grab.Quota, error) {
	turn, err := s.g.o.Door.Enter(ctx, c, user)
	if err != nil {
		return nil, err
	}
	if !turn.Admitted {
		return nil, &waitsError{turn}
	}
	if s.g.o.Addresses == nil {
		return nil, nil //nolint:nilnil // no bound
	}
	allowed, err := s.g.o.Addresses.Enter(ctx, c, s.addr, user)
	if err != nil {
		s.g.o.Door.Leave(c.ID, user, true) // for a player of another address
	}
	if err != nil && !errors.Is(err, admission.ErrAddressFull) {
		err = fmt.Errorf("find the address of a guest: %w", err)
	}
	return allowed, err
}

// leaveDoor undoes letIn; left says that the player leaves for good.
func (g *shared) leaveDoor(campaign, addr, user string, left bool) {
	g.o.Door.Leave(campaign, user, left)
	if g.o.Addresses != nil {
		g.o.Addresses.Leave(campaign, addr, user)
	}
}

// leaveRoom frees the player's seat in their room, if they are in one.
func (s *session) leaveRoom() {
	if s.in != "" {
		s.g.leaveDoor(s.in, s.addr, s.listens, s.left)
		s.in = ""
	}
}

// turnAway asks a player to come back. A queue position is kept as GET /admission keeps it.
func (s *session) turnAway(how *postponed) {
	s.g.metrics.turnedAway.Inc()
	how.goodbye.Type = wire.TypeGoodbye
	s.send(how.goodbye)
	s.end(room.CodeFull, how.goodbye.Reason)
}

// notYet does so for a player who wants to move to another room.
func (s *session) notYet(id wire.ID, how *postponed) {
	s.send(wire.Error{Type: wire.TypeError, ID: id, Code: wire.CodeNotAdmitted, Retryable: true,
		RetryAfterMS: how.goodbye.ReconnectAfterMS, Message: how.message})
}
