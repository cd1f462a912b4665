package server

import (
	"context"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger/standing"
	"redrain/server/admission"
)

// clocksDiffer is by how much the clocks of the nodes and of the masters of Redis differ at most. After it, whatever is
// won is dated after a ban by all of them, and so not paid.
const clocksDiffer = 250 * time.Millisecond

// tellSanction carries out here what was done about a player, and has the other nodes do so. A node that does not hear
// of it finds it within seconds. Of a ban it returns when nothing that the player wins from then on is paid, whatever
// any node lets happen that does not know of it.
func (s *Server) tellSanction(ctx context.Context, one standing.Sanction) {
	s.bus.Sanctioned()
	if err := s.sanctions.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.log.Warn("players who were sent away stay here for seconds longer", "err", err)
	}
	if one.Act == standing.Ban {
		s.passes(ctx, one.At+clocksDiffer.Milliseconds())
	}
}

// tellLists carries out here that a list has changed, and has the other nodes do so. When it returns, the ledger pays
// nothing that is won from then on by whom the list leaves out.
func (s *Server) tellLists(ctx context.Context, changedAt int64) {
	s.bus.Listed()
	if err := s.lists.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.log.Warn("players whom a list leaves out stay here for seconds longer", "err", err)
	}
	s.passes(ctx, changedAt+clocksDiffer.Milliseconds())
}

// passes waits until a time of the cluster.
func (s *Server) passes(ctx context.Context, at int64) {
	loop.Sleep(ctx, time.Duration(max(at-s.clock.Now(), 0))*time.Millisecond)
}

// screen sends away who is here and may not be any more.
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
