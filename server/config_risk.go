package server

import (
	"context"
	"fmt"
	"time"

	"redrain/grab/store"
	"redrain/internal/signed"
	"redrain/payout/ledger/playerlist"
	"redrain/payout/ledger/verdict"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/risk"
	"redrain/server/riskurl"
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
	if c.RiskWait < 0 || c.RiskWait > maxRiskWait {
		fault("--risk-wait %s: give 0 to %s", c.RiskWait, maxRiskWait)
	}
	c.validateRiskURL(fault)
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

// maxRiskWait is how long a win waits for what is found out about its player, at most. It is held by one of a few
// workers meanwhile.
const maxRiskWait = 5 * time.Second

// settleWait is how old a win is when it is posted.
func (c *Config) settleWait() time.Duration {
	if c.Risk != RiskHold {
		return 0
	}
	return c.RiskWait
}

// The bounds of the time for which the risk system is waited. A hello has five seconds for everything.
const (
	minRiskTimeout = 10 * time.Millisecond
	maxRiskTimeout = 3 * time.Second
)

// validateRiskURL repeats neither the address nor the secret: there may be a password in both.
func (c *Config) validateRiskURL(fault func(string, ...any)) {
	switch verdict.Act(c.RiskDefault) {
	case verdict.Allow, verdict.Hold, verdict.Deny:
	default:
		fault("--risk-default %q: give allow, hold or deny", c.RiskDefault)
	}
	if c.RiskTimeout < minRiskTimeout || c.RiskTimeout > maxRiskTimeout {
		fault("--risk-timeout %s: give %s to %s", c.RiskTimeout, minRiskTimeout, maxRiskTimeout)
	}
	if c.RiskURL == "" {
		if c.RiskSecret != "" {
			fault("--risk-secret: it belongs to --risk-url; give that too, or leave it out")
		}
		return
	}
	if c.Risk == RiskOff {
		fault("--risk-url: --risk off asks nobody; give --risk watch (answers are written down) or hold (and carried " +
			"out)")
	}
	if err := signed.CheckURL(c.RiskURL); err != nil {
		fault("--risk-url: %w", err)
	}
	if _, err := signed.ParseSecret(c.RiskSecret); err != nil {
		fault("--risk-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", err)
	}
}

// buildRiskSystem makes what asks the operator's own system; nothing where there is none.
func (s *Server) buildRiskSystem() error {
	if s.cfg.RiskURL == "" {
		return nil
	}
	o := riskurl.Options{
		URL: s.cfg.RiskURL, Secret: s.cfg.RiskSecret, Timeout: s.cfg.RiskTimeout,
		Default: verdict.Act(s.cfg.RiskDefault), CarryOut: s.cfg.Risk == RiskHold, Verdicts: s.ledger.Risk,
		Told: s.bus.Judged, Alarm: func(message string) { s.bus.Alarm("risk_url", "", message) },
		Clock: s.clock.Now, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	}
	if s.verdicts != nil {
		o.Known = s.judged.Of
	} else {
		s.log.Warn("what the risk system says is written down and not carried out: that takes --risk hold")
	}
	system, err := riskurl.New(o)
	if err != nil {
		return fmt.Errorf("the risk system: %w", err)
	}
	s.back.onClose(system.Close)
	s.riskSystem = system
	return nil
}

// buildRisk makes what looks at players; nothing where nobody is to look.
func (s *Server) buildRisk() error {
	if s.cfg.Risk == RiskOff {
		return nil
	}
	if s.cfg.Risk == RiskHold {
		s.ledger.Poster.HoldWins()
		s.judged = verdict.NewList()
		s.verdicts = cluster.NewMirror(cluster.MirrorOptions[verdict.Verdict]{
			Part: "verdicts", Work: "reading the verdicts about players; going on with what is known",
			Read:   func(ctx context.Context) ([]verdict.Verdict, error) { return s.ledger.Risk.Refresh(ctx, s.judged) },
			Follow: s.follow, Recoverer: s.recoverer, Log: s.log,
		})
	}
	if err := s.buildRiskSystem(); err != nil {
		return err
	}
	o := risk.Options{Limits: s.cfg.RiskLimits, Verdicts: s.ledger.Risk, Clock: s.clock.Now,
		Shared: store.NewCommon(s.redis), Node: s.node,
		Told: s.bus.Judged, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics}
	if s.riskSystem != nil {
		o.Second = s.riskSystem.Hold
	}
	s.risk = risk.NewWatch(o)
	return nil
}

// askAtHello is what asks the risk system about who says hello; nil: nobody does.
func (s *Server) askAtHello() func(context.Context, riskurl.Caller) error {
	if s.riskSystem == nil {
		return nil
	}
	return s.riskSystem.Hello
}

// follow sends away players whom new verdicts deny.
func (s *Server) follow(_ context.Context, fresh []verdict.Verdict) error {
	for _, v := range fresh {
		if v.Act == verdict.Deny {
			s.gateway.Denied(v.User)
		}
	}
	return nil
}

// mayPlay tells whether somebody may take part in a campaign, nil for any: what lists say, and of who wants to come in
// what the verdicts do.
func (s *Server) mayPlay(ctx context.Context, c *rain.Campaign, user, address string) error {
	if err := s.lists.MayPlay(ctx, c, user, address); err != nil {
		return err
	}
	if c != nil && s.judged.Denied(user) {
		return playerlist.ErrDenied
	}
	return nil
}
