package server

import (
	"net/http"
	"net/url"

	"redrain/grab/store"
	"redrain/server/api"
	"redrain/server/config"
	"redrain/server/login"
)

// challengeServices are the possible values of --guest-challenge.
var challengeServices = map[string]login.Service{
	login.ChallengeTurnstile: login.Turnstile, login.ChallengeHCaptcha: login.HCaptcha,
}

// challengeService returns the configured CAPTCHA service, or false.
func challengeService(c *config.Config) (login.Service, bool) {
	s, ok := challengeServices[c.GuestChallenge]
	if ok && c.ChallengeEndpoint != "" {
		s.Endpoint = c.ChallengeEndpoint
	}
	if ok && c.ChallengeScript != "" {
		s.Script = c.ChallengeScript
		if u, err := url.Parse(c.ChallengeScript); err == nil {
			s.Sources = []string{u.Scheme + "://" + u.Host}
		}
	}
	return s, ok
}

// widget returns the origins of the CAPTCHA's widget.
func (s *Server) widget() []string {
	service, _ := challengeService(&s.cfg)
	return service.Sources
}

// challenge returns the CAPTCHA that a guest has to solve first; nil for none.
func (s *Server) challenge() api.Challenge {
	if service, ok := challengeService(&s.cfg); ok {
		return login.NewSiteverify(service, s.cfg.ChallengeSiteKey, s.cfg.ChallengeSecret, http.DefaultTransport)
	}
	if s.cfg.GuestChallenge == login.ChallengeWork {
		return login.NewWork(s.cfg.JWTSecret, s.cfg.ChallengeWork, store.NewLimits(s.redis))
	}
	return nil
}
