package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"redrain/internal/auth"
	"redrain/server/health"
)

// renewBefore is the rest of a certificate's life from which on it is a finding.
const renewBefore = 14 * 24 * time.Hour

// addresses returns the parts that ask the addresses of the settings.
func addresses(o Options) (parts []func(context.Context, Options) report) {
	for _, a := range []struct {
		check, address string
		ask            func(ctx context.Context, client *http.Client, address string) error
	}{
		{"jwks_url", o.Config.JWKSURL, auth.ProbeKeySet},
		{"oidc_issuer", o.Config.OIDCIssuer, auth.ProbeIssuer("--oidc-issuer")},
		{"provider_url", o.Config.ProviderURL, head},
		{"risk_url", o.Config.RiskURL, head},
	} {
		if a.address == "" {
			continue
		}
		parts = append(parts, func(ctx context.Context, o Options) (r report) {
			seen := &certificates{}
			client := seen.client(o)
			defer client.CloseIdleConnections()
			if err := a.ask(ctx, client, a.address); err != nil {
				r.add(health.Fail, a.check, "%v; check the address, the network and the certificate",
					withoutAddress(err))
				return r
			}
			r.judgeExpiry(a.check, "it answers", seen.end, time.Now())
			return r
		})
	}
	return parts
}

// head returns nil if the address answers, with any status: it expects signed requests only.
func head(ctx context.Context, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // it has none
	return resp.Body.Close()
}

// withoutAddress removes the address, which may contain a password, from an error of an HTTP client.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("no answer: %w", u.Err)
	}
	return err
}

// certificates notes when the first of the servers' certificates ends.
type certificates struct {
	mu  sync.Mutex
	end time.Time // zero: there was none
}

// client returns a client that verifies certificates as those of a node do.
func (c *certificates) client(o Options) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots,
		VerifyConnection: func(s tls.ConnectionState) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if end := s.PeerCertificates[0].NotAfter; c.end.IsZero() || end.Before(c.end) {
				c.end = end
			}
			return nil
		}}
	return &http.Client{Transport: transport}
}

// judgeExpiry adds the finding about something that works until the end of a certificate, if it has one.
func (r *report) judgeExpiry(check, works string, end, now time.Time) {
	if end.IsZero() {
		r.add(health.OK, check, "%s", works)
		return
	}
	day := end.UTC().Format(time.DateOnly)
	switch left := end.Sub(now); {
	case left <= 0:
		r.add(health.Fail, check, "its certificate ended on %s; renew it", day)
	case left < renewBefore:
		r.add(health.Warn, check, "%s, but its certificate ends on %s; renew it", works, day)
	default:
		r.add(health.OK, check, "%s, and its certificate ends on %s", works, day)
	}
}
