package server

import (
	"net/http"
	"net/url"
	"slices"

	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/wire"
	"redrain/server/api"
	"redrain/server/cluster"
	"redrain/server/config"
	"redrain/server/live"
	"redrain/server/login"
	"redrain/server/names"
)

// buildNames builds the book of display profiles, if names are shown.
func (s *Server) buildNames() {
	if !s.cfg.NamesShown() {
		return
	}
	s.names = names.New(names.Options{
		Store: store.NewNames(s.redis), Hosts: s.cfg.AvatarHosts,
		Here:      func(user string) (wire.Profile, bool) { return s.gateway.Profile(user) },
		Banned:    func(user string) bool { return s.bans.Banned(user) },
		Recoverer: s.recoverer, Log: s.log, Registerer: s.metrics,
	})
}

// shownNames returns the book for the rooms; nil if names are not shown.
func (s *Server) shownNames() live.Names {
	if s.names == nil {
		return nil
	}
	return s.names
}

// settled notifies the players of this node of their settled claims, and publishes their display profiles. A list of
// claims needs the profiles after the players have left.
func (s *Server) settled(campaign string, n cluster.Settled) {
	s.gateway.Settled(campaign, n)
	if s.names == nil {
		return
	}
	users := make([]string, len(n.Claims))
	for i, c := range n.Claims {
		users[i] = c.User
	}
	s.names.Called(slices.Compact(users)) // a player's claims are adjacent
}

// profile returns the display profile of a token's player; nil: players are shown under masked ids.
func (s *Server) profile() func(auth.Grant) wire.Profile {
	if s.names == nil {
		return nil
	}
	return s.names.Profile
}

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
		return login.NewSiteverify(service, s.cfg.ChallengeSiteKey,
			s.newest.of("challenge-secret", s.cfg.ChallengeSecret), http.DefaultTransport)
	}
	if s.cfg.GuestChallenge == login.ChallengeWork {
		return login.NewWork(s.players.Secrets, s.cfg.ChallengeWork, store.NewLimits(s.redis))
	}
	return nil
}
