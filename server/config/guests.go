package config

import (
	"net/netip"
	"net/url"

	"redrain/server/admission"
	"redrain/server/login"
	"redrain/server/names"
)

// validateGuests checks the admission of players without a token.
func (c *Config) validateGuests(fault func(string, ...any)) {
	if c.GuestsAllowed() && c.JWTSecret == "" && !c.InProcess() {
		fault("--guests: needs --jwt-secret, to sign the guests' tokens")
	}
	switch {
	case c.GuestChallenge == login.ChallengeTurnstile || c.GuestChallenge == login.ChallengeHCaptcha:
		if c.ChallengeSiteKey == "" || c.ChallengeSecret == "" {
			fault("--guest-challenge %s: needs --challenge-site-key and --challenge-secret, "+
				"which the service issues for a site",
				c.GuestChallenge)
		}
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
	if _, err := admission.ParseExempt(c.AddressExempt); err != nil {
		fault("--address-exempt: %v", err)
	}
}

// Exempt are the networks of --address-exempt, which Validate has checked.
func (c *Config) Exempt() []netip.Prefix {
	networks, _ := admission.ParseExempt(c.AddressExempt)
	return networks
}

// validateNames checks the display of winners.
func (c *Config) validateNames(fault func(string, ...any)) {
	if err := names.Hosts(c.AvatarHosts).Check(); err != nil {
		fault("--avatar-hosts %w", err)
	}
	if len(c.AvatarHosts) > 0 && !c.NamesShown() {
		fault("--avatar-hosts: needs --show-names")
	}
}
