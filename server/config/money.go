package config

import (
	"strings"
	"unicode"

	"redrain/internal/signed"
)

// maxProviderAccount is the longest --provider-account, in bytes.
const maxProviderAccount = 100

// maxPayoutName is the longest --payout-name, in bytes.
const maxPayoutName = 100

// validateProvider repeats neither the address nor the secret: both may contain a password.
func (c *Config) validateProvider(fault func(string, ...any)) {
	switch c.Provider {
	case ProviderWallet:
		if c.ProviderURL != "" || c.ProviderSecret != "" || c.ProviderAccount != "" {
			// With wallet, withdrawals count as paid and no provider is asked to pay them.
			fault("--provider-url, --provider-secret and --provider-account: they belong to --provider http; give " +
				"that too, or leave them out")
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
	}
	if len(c.PayoutName) > maxPayoutName || strings.ContainsFunc(c.PayoutName, unicode.IsControl) {
		fault("--payout-name: give a name of at most %d bytes", maxPayoutName)
	}
	if c.WithdrawPerDay > 0 && c.WithdrawPerDay < c.WithdrawMin {
		fault("--withdraw-per-day %d: it is less than --withdraw-min %d, so nobody could withdraw", c.WithdrawPerDay,
			c.WithdrawMin)
	}
}
