package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A risk system is asked safely or not at all, and no fault repeats what may be secret.
func TestRiskURLIsValidated(t *testing.T) {
	const secret = "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE="
	for name, c := range map[string]struct {
		change func(*Config)
		flag   string // that the fault names; "": there is none
	}{
		"nothing":         {func(c *Config) { c.RiskURL, c.RiskSecret = "", "" }, ""},
		"all":             {func(*Config) {}, ""},
		"on this machine": {func(c *Config) { c.RiskURL = "http://127.0.0.1:9/hunter2" }, ""},
		"not safe":        {func(c *Config) { c.RiskURL = "http://risk.example/hunter2" }, "--risk-url"},
		"no secret":       {func(c *Config) { c.RiskSecret = "" }, "--risk-secret"},
		"a bad secret":    {func(c *Config) { c.RiskSecret = "hunter2" }, "--risk-secret"},
		"no address":      {func(c *Config) { c.RiskURL = "" }, "--risk-secret"},
		"nobody is asked": {func(c *Config) { c.Risk = RiskOff }, "--risk-url"},
		"no default":      {func(c *Config) { c.RiskDefault = "maybe" }, "--risk-default"},
		"posted late":     {func(c *Config) { c.RiskWait = 6 * time.Second }, "--risk-wait"},
		"posted early":    {func(c *Config) { c.RiskWait = -1 }, "--risk-wait"},
		"too short":       {func(c *Config) { c.RiskTimeout = time.Millisecond }, "--risk-timeout"},
		"too long":        {func(c *Config) { c.RiskTimeout = 4 * time.Second }, "--risk-timeout"},
	} {
		cfg := Default()
		cfg.RiskURL, cfg.RiskSecret = "https://user:hunter2@risk.example/", secret
		c.change(&cfg)
		faults := cfg.Validate()
		text := ""
		if err := errors.Join(faults...); err != nil {
			text = err.Error()
		}
		if (c.flag == "") != (len(faults) == 0) || !strings.Contains(text, c.flag) ||
			strings.Contains(text, "hunter2") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
