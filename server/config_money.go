package server

import (
	"strings"
	"time"
	"unicode"

	"redrain/internal/signed"
)

// maxProviderAccount is the length of the name of a receiver's account, in bytes.
const maxProviderAccount = 100

// maxPayoutName is the length of what players read about where their money goes, in bytes.
const maxPayoutName = 100

// The bounds of a rate of tries, a second.
const (
	minProviderRate = 0.01
	maxProviderRate = 100_000
)

// validateProvider repeats neither the address nor the secret: there may be a password in both.
func (c *Config) validateProvider(fault func(string, ...any)) {
	switch c.Provider {
	case ProviderWallet:
		if c.ProviderURL != "" || c.ProviderSecret != "" || c.ProviderAccount != "" {
			// Not ignored: withdrawals would count as paid, and nobody would be asked to pay them.
			fault("--provider-url, --provider-secret and --provider-account: they belong to --provider http; give " +
				"that too, or leave " +
				"them out")
		}
	case ProviderHTTP:
		if err := signed.CheckURL(c.ProviderURL); err != nil {
			fault("--provider-url: %w", err)
		}
		if _, err := signed.ParseSecret(c.ProviderSecret); err != nil {
			fault("--provider-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", err)
		}
		if len(c.ProviderAccount) > maxProviderAccount || strings.ContainsFunc(c.ProviderAccount, unicode.IsControl) {
			fault("--provider-account: give a name of at most %d bytes", maxProviderAccount)
		}
	default:
		fault("--provider %q: give %s or %s", c.Provider, ProviderWallet, ProviderHTTP)
	}
	if c.ProviderTimeout < time.Second || c.ProviderTimeout > time.Minute {
		fault("--provider-timeout: give 1s to 1m")
	}
	if c.ProviderRate != 0 && (!(c.ProviderRate >= minProviderRate) || c.ProviderRate > maxProviderRate) {
		fault("--provider-rate %v: give %v to %v tries a second, or 0 for no limit", c.ProviderRate, minProviderRate,
			maxProviderRate)
	}
	if len(c.PayoutName) > maxPayoutName || strings.ContainsFunc(c.PayoutName, unicode.IsControl) {
		fault("--payout-name: give a name of at most %d bytes", maxPayoutName)
	}
	if c.ProviderFlight < 0 {
		fault("--provider-inflight %d: give 1 or more, or 0 for no limit", c.ProviderFlight)
	}
}

// validateWithdrawals checks what players may withdraw.
func (c *Config) validateWithdrawals(fault func(string, ...any)) {
	for flag, value := range map[string]int64{"--withdraw-min": c.WithdrawMin, "--withdraw-per-day": c.WithdrawPerDay,
		"--withdraw-per-hour": int64(c.WithdrawPerHour)} {
		if value < 0 {
			fault("%s %d: give 1 or more, or 0 for no limit", flag, value)
		}
	}
	if c.WithdrawPerDay > 0 && c.WithdrawPerDay < c.WithdrawMin {
		fault("--withdraw-per-day %d: it is less than --withdraw-min %d, so nobody could withdraw", c.WithdrawPerDay,
			c.WithdrawMin)
	}
}
