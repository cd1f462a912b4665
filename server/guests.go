package server

import (
	"net/http"
	"net/url"

	"redrain/grab/store"
	"redrain/server/api"
	"redrain/server/config"
	"redrain/server/login"
)

// challengeServices are the services that --guest-challenge can name.
var challengeServices = map[string]login.Service{
	login.ChallengeTurnstile: login.Turnstile, login.ChallengeHCaptcha: login.HCaptcha,
}

// challengeService is the configured service that tells people from programs, or false.
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

// widget are the origins of the widget that a guest may have to do.
func (s *Server) widget() []string {
	service, _ := challengeService(&s.cfg)
	return service.Sources
}

// challenge is what a guest has to do first, nil for nothing.
func (s *Server) challenge() api.Challenge {
	if service, ok := challengeService(&s.cfg); ok {
		return login.NewSiteverify(service, s.cfg.ChallengeSiteKey, s.cfg.ChallengeSecret, http.DefaultTransport)
	}
	if s.cfg.GuestChallenge == login.ChallengeWork {
		return login.NewWork(s.cfg.JWTSecret, s.cfg.ChallengeWork, store.NewLimits(s.redis))
	}
	return nil
}
