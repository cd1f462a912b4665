package server

import (
	"net/http"
	"net/netip"
	"net/url"

	"redrain/grab/store"
	"redrain/server/addresses"
	"redrain/server/api"
	"redrain/server/challenge"
)

// GuestsAllowed tells whether anyone may play under a generated name.
func (c *Config) GuestsAllowed() bool {
	if c.Guests != nil {
		return *c.Guests
	}
	return c.InProcess()
}

// GuestsMayWithdraw tells whether who plays under a generated name may take money out.
func (c *Config) GuestsMayWithdraw() bool {
	if c.GuestsWithdraw != nil {
		return *c.GuestsWithdraw
	}
	return c.InProcess()
}

// challengeServices are the services that --guest-challenge can name.
var challengeServices = map[string]challenge.Service{
	challenge.KindTurnstile: challenge.Turnstile, challenge.KindHCaptcha: challenge.HCaptcha,
}

// validateGuests checks who may play without a token, and what for.
func (c *Config) validateGuests(fault func(string, ...any)) {
	if c.GuestsAllowed() && c.JWTSecret == "" && !c.InProcess() {
		fault("--guests: needs --jwt-secret, to sign the guests' tokens")
	}
	_, asked := challengeServices[c.GuestChallenge]
	switch {
	case asked:
		if c.ChallengeSiteKey == "" || c.ChallengeSecret == "" {
			fault("--guest-challenge %s: needs --challenge-site-key and --challenge-secret, which it gives for a site",
				c.GuestChallenge)
		}
	case c.GuestChallenge != challenge.KindNone && c.GuestChallenge != challenge.KindWork:
		fault("--guest-challenge %q: give none, work, turnstile or hcaptcha", c.GuestChallenge)
	case c.ChallengeSiteKey != "" || c.ChallengeSecret != "" || c.ChallengeEndpoint != "" || c.ChallengeScript != "":
		fault("--challenge-site-key, --challenge-secret, --challenge-endpoint and --challenge-script: " +
			"are for --guest-challenge turnstile or hcaptcha")
	}
	for name, address := range map[string]string{
		"--challenge-endpoint": c.ChallengeEndpoint, "--challenge-script": c.ChallengeScript,
	} {
		if u, err := url.Parse(address); address != "" &&
			(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			fault("%s: give an http or https URL", name)
		}
	}
	c.validateAddresses(fault)
	if c.ChallengeWork < 1 {
		fault("--challenge-work %d: give 1 or more", c.ChallengeWork)
	}
}

// validateAddresses checks what one address may have.
func (c *Config) validateAddresses(fault func(string, ...any)) {
	if c.AddressGuests < 0 || c.AddressSeats < 0 {
		fault("--address-guests and --address-seats: give 0 (no limit) or more")
	}
	if !(c.AddressWins >= 0 && c.AddressWins <= 1) {
		fault("--address-wins %v: give a part of 1, as 0.1, or 0 for no limit", c.AddressWins)
	}
	if _, err := addresses.ParseExempt(c.AddressExempt); err != nil {
		fault("--address-exempt: %v", err)
	}
}

// addressExempt are the networks that are not bounded. Validate has read them.
func (c *Config) addressExempt() []netip.Prefix {
	networks, _ := addresses.ParseExempt(c.AddressExempt)
	return networks
}

// challengeService is the service that tells people from programs here; false where none does.
func (c *Config) challengeService() (challenge.Service, bool) {
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
	service, _ := s.cfg.challengeService()
	return service.Sources
}

// challenge is what a guest has to do first, nil for nothing.
func (s *Server) challenge() api.Challenge {
	if service, ok := s.cfg.challengeService(); ok {
		return challenge.NewSiteverify(service, s.cfg.ChallengeSiteKey, s.cfg.ChallengeSecret, http.DefaultTransport)
	}
	if s.cfg.GuestChallenge == challenge.KindWork {
		return challenge.NewWork(s.cfg.JWTSecret, s.cfg.ChallengeWork, store.NewLimits(s.redis))
	}
	return nil
}
