package gateway

import (
	"context"
	"errors"

	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/server/timeout"
)

// renew takes a new token of the same player, so that the connection outlives the one before. A refused token changes
// nothing: the one before remains valid until it expires.
func (s *session) renew(req wire.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout.Backend)
	defer cancel()
	grant, err := s.g.o.Players.Grant(ctx, req.Token)
	switch {
	case errors.Is(err, auth.ErrKeysUnavailable):
		s.send(wire.Error{Type: wire.TypeError, ID: req.ID, Code: wire.CodeUnavailable, Message: "try again",
			Retryable: true})
	case err != nil:
		s.g.o.Log.Debug("bad new token", "addr", s.addr, "err", err)
		s.complain(req.ID, wire.CodeBadToken, "the new token is not valid")
	case grant.User != s.user:
		s.complain(req.ID, wire.CodeOtherPlayer, "the new token is another player's; connect anew to play as them")
	case !s.term.extend(grant.Until):
		s.complain(req.ID, wire.CodeBadToken, "the new token has expired")
	default:
		s.g.people.name(s.user, s.g.o.Face(grant))
		s.send(wire.Renewed{Type: wire.TypeRenewed, ID: req.ID, ExpiresAt: grant.Until})
	}
}
