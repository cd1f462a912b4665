package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"redrain/internal/auth"
	"redrain/internal/signed"
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

// Exempt returns the networks of --address-exempt, which Validate has checked.
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

// validateOIDC checks the settings of the operators' identity provider.
func (c *Config) validateOIDC(fault func(string, ...any)) {
	if c.OIDCIssuer == "" {
		if c.OIDCAudience != "" || len(c.OIDCRoles) > 0 {
			fault("--oidc-issuer: required with --oidc-audience and --oidc-roles")
		}
		return
	}
	if err := signed.CheckURL(c.OIDCIssuer); err != nil {
		fault("--oidc-issuer: %w", err)
	} else if strings.Contains(c.OIDCIssuer, "?") {
		fault("--oidc-issuer: give a URL without a query, such as https://id.example/realms/staff")
	}
	if c.OIDCAudience == "" {
		fault("--oidc-audience: required with --oidc-issuer; without it a token for any client is accepted")
	}
	if _, err := c.RolesByClaim(); err != nil {
		fault("--oidc-roles: %w", err)
	}
}

// RolesByClaim returns the roles for each value of the claim. It returns nil if the values are the roles' names.
func (c *Config) RolesByClaim() (map[string][]auth.Role, error) {
	if len(c.OIDCRoles) == 0 {
		return nil, nil
	}
	roles := map[string][]auth.Role{}
	for _, text := range c.OIDCRoles {
		value, role, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("%q is not VALUE=ROLE", text)
		}
		is, err := auth.ParseRoles(role)
		if err != nil {
			return nil, err
		}
		roles[value] = append(roles[value], is...)
	}
	return roles, nil
}
