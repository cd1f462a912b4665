package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// letIn passes a player through the door of a campaign. Leave undoes it.
func (s *session) letIn(ctx context.Context, c *rain.Campaign, user string) error {
	turn, err := s.g.o.Door.Enter(ctx, c, user)
	if err != nil {
		return err
	}
	if !turn.Admitted {
		return &waitsError{turn}
	}
	return nil
}

// leaveRoom gives up the player's seat in the room where they are, if they are in one.
func (s *session) leaveRoom() {
	if s.in != "" {
		s.g.o.Door.Leave(s.in, s.listens, s.left)
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
