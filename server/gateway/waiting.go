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

// waitsError is a room that has no seat for the player yet.
type waitsError struct{ turn store.Turn }

func (e *waitsError) Error() string {
	return fmt.Sprintf("place %d in the waiting room", e.turn.Position)
}

// waits is the turn of a player who has to wait; nil for any other error and for none.
func waits(err error) *store.Turn {
	if w, ok := errors.AsType[*waitsError](err); ok {
		return &w.turn
	}
	return nil
}

// letIn passes a player through the door of a campaign, and returns what they may win together with others. leaveDoor
// undoes it.
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
		s.g.o.Door.Leave(c.ID, user, true) // for somebody of another address
	}
	return allowed, err
}

// leaveDoor is for a player that letIn has let in; left says that they go for good.
func (g *shared) leaveDoor(campaign, addr, user string, left bool) {
	g.o.Door.Leave(campaign, user, left)
	if g.o.Addresses != nil {
		g.o.Addresses.Leave(campaign, addr, user)
	}
}

// leaveRoom gives up the player's seat in the room where they are, if they are in one.
func (s *session) leaveRoom() {
	if s.in != "" {
		s.g.leaveDoor(s.in, s.addr, s.listens, s.left)
		s.in = ""
	}
}

// turnAway tells a player their place, and to come back. It keeps the place as GET /admission does.
func (s *session) turnAway(turn *store.Turn) {
	s.g.metrics.turnedAway.Inc()
	s.send(wire.Goodbye{
		Type: wire.TypeGoodbye, Reason: "waiting", ReconnectAfterMS: turn.Retry.Milliseconds(), Position: turn.Position,
		WaitMS: max(0, turn.Wait.Milliseconds()),
	})
	s.end(room.CodeFull, "waiting")
}

// notYet tells a player who wants to move to another room that it has no seat for them yet.
func (s *session) notYet(id wire.ID, turn *store.Turn) {
	s.send(wire.Error{
		Type: wire.TypeError, ID: id, Code: wire.CodeNotAdmitted, Retryable: true,
		RetryAfterMS: turn.Retry.Milliseconds(),
		Message: fmt.Sprintf("place %d in the waiting room: try again in %s", turn.Position,
			turn.Retry.Round(time.Second)),
	})
}
