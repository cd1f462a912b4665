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
	"redrain/server/admission"
)

// errCrowded means that the guests of an address have all the slots of that address.
var errCrowded = admission.ErrAddressFull

// ofAddress returns the quota that a player shares with others of their address; nil: only the campaign limits the
// player.
func (g *shared) ofAddress(ctx context.Context, c *rain.Campaign, addr, user string) (grab.Quota, error) {
	if g.o.Addresses == nil {
		return nil, nil //nolint:nilnil // no bound
	}
	allowed, err := g.o.Addresses.Enter(ctx, c, addr, user)
	if err != nil && !errors.Is(err, errCrowded) {
		err = fmt.Errorf("find the address of a guest: %w", err)
	}
	return allowed, err
}

// crowdedFor is the wait after which a guest of a full address should try again. It is spread, since many of them
// wait.
func crowdedFor() time.Duration {
	return 10*time.Second + rand.N(10*time.Second) //nolint:gosec // not a secret
}

// crowdOut asks a guest of a full address to come back later.
func (s *session) crowdOut() {
	s.g.metrics.turnedAway.Inc()
	s.send(wire.Goodbye{Type: wire.TypeGoodbye, Reason: "address_full", ReconnectAfterMS: crowdedFor().Milliseconds()})
	s.end(room.CodeFull, "address_full")
}

// crowdedOut does so for a guest who wants to move to another room.
func (s *session) crowdedOut(id wire.ID) {
	s.send(wire.Error{
		Type: wire.TypeError, ID: id, Code: wire.CodeNotAdmitted, Retryable: true,
		RetryAfterMS: crowdedFor().Milliseconds(), Message: admission.ErrAddressFull.Error(),
	})
}
