package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"redrain/internal/auth"
)

// validateOIDC checks the settings of the operators' identity provider.
func (c *Config) validateOIDC(fault func(string, ...any)) {
	if c.OIDCIssuer == "" {
		if c.OIDCAudience != "" || len(c.OIDCRoles) > 0 {
			fault("--oidc-issuer: required with --oidc-audience and --oidc-roles")
		}
		return
	}
	if err := checkIssuer(c.OIDCIssuer); err != nil {
		fault("--oidc-issuer: %w", err)
	}
	if c.OIDCAudience == "" {
		fault("--oidc-audience: required with --oidc-issuer; without it a token for any client is accepted")
	}
	if _, err := c.RolesByClaim(); err != nil {
		fault("--oidc-roles: %w", err)
	}
}

// checkIssuer requires https: keys over plain http can be replaced on their way.
func checkIssuer(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("give a URL, such as https://id.example/realms/staff")
	}
	ip := net.ParseIP(u.Hostname())
	here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !here) {
		return errors.New("give an https URL; http is for this machine only")
	}
	return nil
}

// RolesByClaim are the roles for each value of the claim. It returns nil if the values are the roles' names.
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
