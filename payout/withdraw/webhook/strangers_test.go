package webhook_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/withdraw/webhook"
	"redrain/payout/withdraw/webhook/webhooktest"
)

// TestStrangersAreNotPaidThrough: a receiver whose certificate nobody vouches for is not spoken to, nor one with
// another name.
func TestStrangersAreNotPaidThrough(t *testing.T) {
	t.Parallel()
	receiver := webhooktest.New()
	s := httptest.NewUnstartedServer(receiver)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it is told of the broken handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	p := newProvider(t, webhook.Options{URL: s.URL, Secret: webhooktest.Secret, Clock: now})
	if _, err := pay(t, p, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	testenv.Must(t, err)
	authorities := x509.NewCertPool()
	authorities.AddCert(s.Certificate())
	p = newProvider(t, webhook.Options{
		URL: "https://localhost:" + port, Secret: webhooktest.Secret, Clock: now,
		TLS: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
	})
	if _, err := pay(t, p, time.Minute); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another name: %v", err)
	}
	if tries := receiver.Tries("w1"); tries != 0 {
		t.Errorf("%d requests reached the stranger", tries)
	}
}

// TestAReceiverBelievesNobodyElse: without the secret, or with a clock that is wrong, nothing is paid and nothing
// given back.
func TestAReceiverBelievesNobodyElse(t *testing.T) {
	t.Parallel()
	receiver := webhooktest.New()
	s := httptest.NewServer(receiver)
	t.Cleanup(s.Close)
	other := "whsec_YW5vdGhlciBzZWNyZXQgb2YgMzIgYnl0ZXMsIGxvbmc="
	late := func() int64 { return now() - 600_000 }
	for _, o := range []webhook.Options{{URL: s.URL, Secret: other, Clock: now},
		{URL: s.URL, Secret: webhooktest.Secret, Clock: late}} {
		if _, err := pay(t, newProvider(t, o), time.Minute); err == nil {
			t.Error(err)
		}
	}
	if paid := receiver.Paid(); len(paid) != 0 || len(receiver.Faults()) != 2 {
		t.Errorf("paid %v, complaints %q", paid, receiver.Faults())
	}
}
