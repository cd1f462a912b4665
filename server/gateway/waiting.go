package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/grab"
	"redrain/grab/store"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// waitsError means that a room has no slot for the player yet.
type waitsError struct{ turn store.Turn }

func (e *waitsError) Error() string {
	return fmt.Sprintf("place %d in the waiting room", e.turn.Position)
}

// waits returns the turn of a player who has to wait; nil for any other error and for none.
func waits(err error) *store.Turn {
	if w, ok := errors.AsType[*waitsError](err); ok {
		return &w.turn
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
	allowed, err := s.g.ofAddress(ctx, c, s.addr, user)
	if err != nil {
		s.g.o.Door.Leave(c.ID, user, true) // for a player of another address
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

// turnAway sends a player their queue position, and asks them to come back. It keeps the position as GET /admission
// does.
func (s *session) turnAway(turn *store.Turn) {
	s.g.metrics.turnedAway.Inc()
	s.send(wire.Goodbye{
		Type: wire.TypeGoodbye, Reason: "waiting", ReconnectAfterMS: turn.Retry.Milliseconds(), Position: turn.Position,
		WaitMS: max(0, turn.Wait.Milliseconds()),
	})
	s.end(room.CodeFull, "waiting")
}

// notYet does so for a player who wants to move to another room.
func (s *session) notYet(id wire.ID, turn *store.Turn) {
	s.send(wire.Error{
		Type: wire.TypeError, ID: id, Code: wire.CodeNotAdmitted, Retryable: true,
		RetryAfterMS: turn.Retry.Milliseconds(),
		Message: fmt.Sprintf("place %d in the waiting room: try again in %s", turn.Position,
			turn.Retry.Round(time.Second)),
	})
}
