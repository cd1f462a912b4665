package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/webhook"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/timeout"
)

// What may pay withdrawals.
const (
	ProviderWallet = "wallet" // the ledger's entry is the payment
	ProviderHTTP   = "http"   // another system, asked by signed requests
)

// validateProvider repeats neither the address nor the secret: there may be a password in both.
func (c *Config) validateProvider(fault func(string, ...any)) {
	switch c.Provider {
	case ProviderWallet:
		if c.ProviderURL != "" || c.ProviderSecret != "" {
			// Not ignored: withdrawals would count as paid, and nobody would be asked to pay them.
			fault(
				"--provider-url and --provider-secret: they belong to --provider http; " +
					"give that too, or leave them out",
			)
		}
	case ProviderHTTP:
		if err := webhook.CheckURL(c.ProviderURL); err != nil {
			fault("--provider-url: %w", err)
		}
		if _, err := webhook.ParseSecret(c.ProviderSecret); err != nil {
			fault("--provider-secret: %w; this makes one: echo whsec_$(openssl rand -base64 32)", err)
		}
	default:
		fault("--provider %q: give %s or %s", c.Provider, ProviderWallet, ProviderHTTP)
	}
	if c.ProviderTimeout < time.Second || c.ProviderTimeout > time.Minute {
		fault("--provider-timeout: give 1s to 1m")
	}
}

// buildPayer makes what pays withdrawals.
func (s *Server) buildPayer(bus *cluster.Bus, now rain.Clock, reg prometheus.Registerer, log *slog.Logger) error {
	var provider withdraw.Provider = withdraw.Wallet{}
	if s.cfg.Provider == ProviderHTTP {
		http, err := webhook.New(webhook.Options{URL: s.cfg.ProviderURL, Secret: s.cfg.ProviderSecret, Clock: now})
		if err != nil {
			return fmt.Errorf("the payment provider: %w", err)
		}
		s.back.onClose(http.Close)
		provider = http
	}
	s.payer = withdraw.NewPayer(s.ledger.Withdrawals, provider, withdraw.PayerOptions{
		Attempts: s.cfg.PayoutAttempts, Timeout: s.cfg.ProviderTimeout, Guard: s.guard, Log: log, Registerer: reg,
		OnAlarm: func(w ledger.Withdrawal, message string) { bus.Alarm("withdrawal", "", w.ID+": "+message) },
		OnEnd: func(id string) {
			if err := s.tellWithdrawn(bus, id); err != nil {
				log.Warn("a player was not told how a withdrawal has ended; they see it when they look", "withdrawal",
					id, "err", err)
			}
		},
	})
	return nil
}

// tellWithdrawn tells every node how a withdrawal has ended, as the ledger has it. It is the payer's to wait for,
// and in a shutdown too, so it has no context but a time.
func (s *Server) tellWithdrawn(bus *cluster.Bus, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout.Backend)
	defer cancel()
	w, err := s.ledger.Withdrawals.Withdrawal(ctx, id)
	if err != nil {
		return err
	}
	balance, err := s.ledger.Claims.UserBalance(ctx, w.User)
	if err != nil {
		return err
	}
	return bus.Withdrawn(cluster.Withdrawn{Withdrawal: cluster.WithdrawalView(w), Balance: balance})
}
