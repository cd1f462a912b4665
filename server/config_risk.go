package server

import (
	"context"

	"redrain/payout/ledger/playerlist"
	"redrain/payout/ledger/verdict"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/risk"
)

// What is done about players who may be programs or farms.
const (
	RiskOff   = "off"   // nobody looks
	RiskWatch = "watch" // verdicts are written down, and everything is paid
	RiskHold  = "hold"  // what they win from then on is kept apart until somebody has decided; deny lets them not in
)

// validateRisk checks what the rules go by.
func (c *Config) validateRisk(fault func(string, ...any)) {
	if c.Risk != RiskOff && c.Risk != RiskWatch && c.Risk != RiskHold {
		fault("--risk %q: give off, watch or hold", c.Risk)
	}
	l := c.RiskLimits
	if l.Hold < 0 || l.Deny < 0 || l.Deny > 0 && l.Deny < l.Hold {
		fault("--risk-hold-score %d and --risk-deny-score %d: give 0 for never, or a score; that of deny is no less",
			l.Hold, l.Deny)
	}
	for flag, n := range map[string]int{"--risk-fast-ms": l.FastMS, "--risk-spread-ms": l.SpreadMS,
		"--risk-taps": l.Taps, "--risk-winners": l.Winners, "--risk-chorus": l.Chorus, "--risk-sessions": l.Sessions} {
		if n < 1 {
			fault("%s %d: give 1 or more", flag, n)
		}
	}
}

// buildRisk makes what looks at players; nothing where nobody is to look.
func (s *Server) buildRisk() {
	if s.cfg.Risk == RiskOff {
		return
	}
	if s.cfg.Risk == RiskHold {
		s.ledger.Poster.HoldWins()
		s.verdicts = cluster.NewVerdicts(s.ledger.Risk, s.judged, s.guard, s.log)
	}
	s.risk = risk.NewWatch(risk.Options{Limits: s.cfg.RiskLimits, Verdicts: s.ledger.Risk, Clock: s.clock.Now,
		Told: s.bus.Judged, Guard: s.guard, Log: s.log, Registerer: s.metrics})
}

// judged sends away whom a new verdict denies.
func (s *Server) judged(v verdict.Verdict) {
	if v.Act == verdict.Deny {
		s.gateway.Denied(v.User)
	}
}

// mayPlay tells whether somebody may take part in a campaign, nil for any: what lists say, and of who wants to come in
// what the verdicts do.
func (s *Server) mayPlay(ctx context.Context, c *rain.Campaign, user, address string) error {
	if err := s.lists.MayPlay(ctx, c, user, address); err != nil {
		return err
	}
	if c != nil && s.verdicts.Denied(user) {
		return playerlist.ErrDenied
	}
	return nil
}
