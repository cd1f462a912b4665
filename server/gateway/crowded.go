package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"redrain/grab"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
	"redrain/server/addresses"
)

// errCrowded is a guest of an address whose guests have all the seats that one address may have.
var errCrowded = addresses.ErrFull

// ofAddress is what a player may win together with others of their address; nil: all that the campaign allows.
func (g *shared) ofAddress(ctx context.Context, c *rain.Campaign, addr, user string) (grab.Quota, error) {
	if g.o.Addresses == nil {
		return nil, nil //nolint:nilnil // no bound
	}
	allowed, err := g.o.Addresses.Enter(ctx, c, addr, user)
	if err != nil && !errors.Is(err, errCrowded) {
		err = fmt.Errorf("the address of a guest: %w", err)
	}
	return allowed, err
}

// crowdedFor is when somebody should try again whose address has all the seats that it may have: spread, since many of
// them wait.
func crowdedFor() time.Duration {
	return 10*time.Second + rand.N(10*time.Second) //nolint:gosec // not a secret
}

// crowdOut tells a guest that their address has all the seats that it may have, and to come back.
func (s *session) crowdOut() {
	s.g.metrics.turnedAway.Inc()
	s.send(wire.Goodbye{Type: wire.TypeGoodbye, Reason: "address_full", ReconnectAfterMS: crowdedFor().Milliseconds()})
	s.end(room.CodeFull, "address_full")
}

// crowdedOut tells it a guest who wants to move to another room.
func (s *session) crowdedOut(id wire.ID) {
	s.send(wire.Error{
		Type: wire.TypeError, ID: id, Code: wire.CodeNotAdmitted, Retryable: true,
		RetryAfterMS: crowdedFor().Milliseconds(), Message: addresses.ErrFull.Error(),
	})
}
