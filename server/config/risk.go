package config

import "redrain/internal/signed"

// validateRisk repeats neither the address nor the secret: both may contain a password.
func (c *Config) validateRisk(fault func(string, ...any)) {
	if l := c.RiskLimits; l.Deny > 0 && l.Deny < l.Hold {
		fault("--risk-deny-score %d: give 0 for never, or at least --risk-hold-score %d", l.Deny, l.Hold)
	}
	if c.RiskURL == "" {
		if c.RiskSecret != "" {
			fault("--risk-secret: it belongs to --risk-url; give that too, or leave it out")
		}
		return
	}
	if c.Risk == RiskOff {
		fault("--risk-url: not used with --risk off; give --risk watch (answers are recorded) or hold (answers are " +
			"applied)")
	}
	if err := signed.CheckURL(c.RiskURL); err != nil {
		fault("--risk-url: %w", err)
	}
	if _, err := signed.ParseSecret(c.RiskSecret); err != nil {
		fault("--risk-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", err)
	}
}
