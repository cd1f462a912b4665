package server

import (
	"context"
	"fmt"

	"redrain/grab/store"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/config"
	"redrain/server/risk"
)

// buildRiskSystem builds the client of the operator's own risk system, if one is configured.
func (s *Server) buildRiskSystem() error {
	if s.cfg.RiskURL == "" {
		return nil
	}
	o := risk.SystemOptions{
		URL: s.cfg.RiskURL, Secret: s.cfg.RiskSecret, NewSecret: s.newest.of("risk-secret", s.cfg.RiskSecret),
		Timeout: s.cfg.RiskTimeout,
		Default: standing.VerdictAct(s.cfg.RiskDefault), CarryOut: s.cfg.Risk == config.RiskHold,
		Verdicts: s.ledger.Risk, Told: s.bus.Judged,
		Alarm: func(message string) { s.bus.Alarm("risk_url", "", message) },
		Clock: s.clock.Now, Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	}
	if s.verdicts != nil {
		o.Known = s.judged.Of
	} else {
		s.log.Warn("verdicts of the risk system are stored and not applied: that takes --risk hold")
	}
	system, err := risk.NewSystem(o)
	if err != nil {
		return fmt.Errorf("the risk system: %w", err)
	}
	s.back.onClose(system.Close)
	s.riskSystem = system
	return nil
}

// buildRisk builds the rules that judge players, unless they are off.
func (s *Server) buildRisk() error {
	if s.cfg.Risk == config.RiskOff {
		return nil
	}
	if s.cfg.Risk == config.RiskHold {
		s.ledger.Poster.HoldWins()
		s.judged = standing.NewVerdicts()
		s.verdicts = cluster.NewMirror(cluster.MirrorOptions[standing.Verdict]{
			Part: "verdicts", Work: "read the verdicts about players; continuing with the cached ones",
			Read: func(ctx context.Context) ([]standing.Verdict, error) {
				return s.ledger.Risk.Refresh(ctx, s.judged)
			},
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

// askAtHello returns the function that asks the risk system about a player at hello; nil: no check.
func (s *Server) askAtHello() func(context.Context, risk.Caller) error {
	if s.riskSystem == nil {
		return nil
	}
	return s.riskSystem.Hello
}

// follow disconnects a player whom a new verdict denies.
func (s *Server) follow(_ context.Context, v standing.Verdict) error {
	if v.Act == standing.Deny {
		s.gateway.Denied(v.User)
	}
	return nil
}

// mayPlay returns an error unless a player may take part in a campaign. For newcomers it also reads the verdicts. A nil
// c means any campaign.
func (s *Server) mayPlay(ctx context.Context, c *rain.Campaign, user, address string) error {
	if err := s.lists.MayPlay(ctx, c, user, address); err != nil {
		return err
	}
	if c != nil && s.judged.Denied(user) {
		return standing.ErrDenied
	}
	return nil
}
