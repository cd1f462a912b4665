package server

import (
	"context"
	"time"

	"redrain/internal/rounds"
	"redrain/payout/ledger/sanction"
)

// clocksDiffer is by how much the clocks of the nodes and of the masters of Redis differ at most. After it, whatever is
// won is dated after a ban by all of them, and so not paid.
const clocksDiffer = 250 * time.Millisecond

// tellSanction carries out here what was done about a player, and has the other nodes do so. A node that does not hear
// of it finds it within seconds. Of a ban it returns when nothing that the player wins from then on is paid, whatever
// any node lets happen that does not know of it.
func (s *Server) tellSanction(ctx context.Context, one sanction.Sanction) {
	s.bus.Sanctioned()
	if err := s.sanctions.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.log.Warn("players who were sent away stay here for seconds longer", "err", err)
	}
	if one.Act == sanction.Ban {
		until := one.At + clocksDiffer.Milliseconds()
		rounds.Sleep(ctx, time.Duration(max(until-s.clock.Now(), 0))*time.Millisecond)
	}
}
