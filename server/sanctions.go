package server

import (
	"context"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger/standing"
	"redrain/server/admission"
)

// clocksDiffer is the greatest difference between the clocks of nodes and Redis masters. When it has passed, any of
// them dates a new win after the ban, so it is not paid.
const clocksDiffer = 250 * time.Millisecond

// tellSanction applies a sanction here and notifies the other nodes. A node that misses the message reads the sanction
// from the database within seconds. For a ban it returns when no later win of the player is paid, not even one on a
// node without the ban.
func (s *Server) tellSanction(ctx context.Context, one standing.Sanction) {
	s.bus.Sanctioned()
	if err := s.sanctions.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.log.WarnContext(ctx, "apply a sanction; disconnected players stay here for seconds longer", "err", err)
	}
	if one.Act == standing.Ban {
		s.passes(ctx, one.At+clocksDiffer.Milliseconds())
	}
}

// tellLists applies a changed list here and notifies the other nodes. When it returns, the ledger pays no later win of
// a player whom the list excludes.
func (s *Server) tellLists(ctx context.Context, changedAt int64) {
	s.bus.Listed()
	if err := s.lists.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.log.WarnContext(ctx, "apply a list; players whom it excludes stay here for seconds longer", "err", err)
	}
	s.passes(ctx, changedAt+clocksDiffer.Milliseconds())
}

// passes waits until a time of the cluster's clock.
func (s *Server) passes(ctx context.Context, at int64) {
	loop.Sleep(ctx, time.Duration(max(at-s.clock.Now(), 0))*time.Millisecond)
}

// screen disconnects players who may not take part any more.
func (s *Server) screen(ctx context.Context) error {
	here := s.gateway.Present()
	guests := make([]admission.Occupant, len(here))
	for i, p := range here {
		guests[i] = admission.Occupant{User: p.User, Address: p.Address, Campaign: p.Campaign}
	}
	why, err := s.lists.Screen(ctx, guests)
	for i, out := range why {
		if out != nil {
			s.gateway.SendAway(here[i], out)
		}
	}
	return err
}
