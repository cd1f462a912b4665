package pipeline

import (
	"redrain/payout/ledger/posting"
)

// observe counts what a batch has done, and tells of what a person should know.
func (s *Settler) observe(posted posting.Posted) {
	s.settled.Add(float64(posted.New))
	now := s.o.Clock()
	for _, p := range posted.Settled {
		if p.New {
			s.seconds.Observe(float64(max(now-p.WonAt, 0)) / 1000)
		}
	}
	s.buried(posted.Dead)
	for _, c := range posted.Cut {
		s.o.Log.Error("a reclaim asked for more than is left of its shard, and got that", "entry", c.Ref.String(),
			"asked", int64(c.Asked), "given", int64(c.Given), "reason", c.Reason)
	}
	if len(posted.Cut) > 0 && s.o.OnCut != nil {
		s.o.OnCut(posted.Cut)
	}
	for _, d := range posted.Void {
		s.o.Log.Error("this came too late to be paid; it is kept among the dead letters, resolved", "claim", d.Claim,
			"entry", d.Source, "user", d.User, "amount", int64(d.Amount), "reason", d.Reason)
	}
	if len(posted.Void) > 0 && s.o.OnVoid != nil {
		s.o.OnVoid(posted.Void)
	}
}

// buried tells of what was put aside for a person.
func (s *Settler) buried(letters []posting.DeadLetter) {
	for _, d := range letters {
		s.o.Log.Error("a payout cannot be posted; it is kept as a dead letter", "claim", d.Claim, "entry", d.Source,
			"user", d.User, "amount", int64(d.Amount), "reason", d.Reason)
	}
	if len(letters) > 0 && s.o.OnDead != nil {
		s.o.OnDead(letters)
	}
}
