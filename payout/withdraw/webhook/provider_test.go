package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/webhook"
	"redrain/payout/withdraw/webhook/webhooktest"
)

func now() int64 { return time.Now().UnixMilli() }

var payment = withdraw.Payment{Key: "w1", User: "张三", Amount: 250, CreatedAt: 1763712000000}

// serve runs a receiver, over TLS if asked, and a provider that knows its address and its authority.
func serve(t *testing.T, handler http.Handler, secure bool) *webhook.Provider {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	// it is told of connections that are cut on purpose
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	o := webhook.Options{Secret: webhooktest.Secret, Clock: now}
	if secure {
		s.StartTLS()
		authorities := x509.NewCertPool()
		authorities.AddCert(s.Certificate())
		o.TLS = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	o.URL = s.URL + "/payments"
	return newProvider(t, o)
}

func newProvider(t *testing.T, o webhook.Options) *webhook.Provider {
	t.Helper()
	p, err := webhook.New(o)
	testenv.Must(t, err)
	t.Cleanup(p.Close)
	return p
}

// pay asks within a time that only who hangs uses up.
func pay(t *testing.T, p *webhook.Provider, patience time.Duration) (withdraw.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return p.Pay(ctx, payment)
}

// TestOneKeyIsPaidOnce: whatever goes wrong at the first try, the second finds what the first has done. Package
// providertest breaks requests in more ways; errors show no address.
func TestOneKeyIsPaidOnce(t *testing.T) {
	t.Parallel()
	for first, shown := range map[webhooktest.Behaviour]string{
		webhooktest.PayTwice:    "does not name the payment",
		webhooktest.PayAndFail:  "is neither paid nor refused: status 500",
		webhooktest.PayAndHang:  "no answer in time",
		webhooktest.PayAndBreak: "no answer",
	} {
		t.Run(shown, func(t *testing.T) {
			receiver := webhooktest.New()
			receiver.Behave = func(r webhooktest.Request) webhooktest.Behaviour {
				if r.Try == 1 {
					return first
				}
				return webhooktest.Pay
			}
			p := serve(t, receiver, true)
			patience := time.Minute
			if first == webhooktest.PayAndHang {
				patience = 100 * time.Millisecond
			}
			// If the connection breaks off, the transport tries again by itself.
			answer, err := pay(t, p, patience)
			if first != webhooktest.PayAndBreak && (err == nil || !strings.Contains(err.Error(), shown)) ||
				err != nil && (strings.Contains(err.Error(), "127.0.0.1") ||
					strings.Contains(err.Error(), "/payments")) {
				t.Errorf("the first answer: %+v, %v", answer, err)
			}
			if answer, err := pay(t, p, time.Minute); err != nil || answer.Status != withdraw.Paid ||
				answer.Reference != "bank-w1" {
				t.Errorf("the second answer: %+v, %v", answer, err)
			}
			if paid := receiver.Paid(); len(paid) != 1 || paid["w1"] != 250 {
				t.Errorf("paid %v", paid)
			}
			if f := receiver.Faults(); len(f) > 0 {
				t.Errorf("the receiver complains: %q", f)
			}
		})
	}
}

// TestAnswers goes through what an HTTP server may say. Money moves in neither direction on anything that is not clear.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const again = "try again"
	said := map[withdraw.Status]string{withdraw.Paid: "paid", withdraw.Refused: "refused",
		withdraw.Pending: "pending", withdraw.ActionRequired: "action"}
	for _, c := range []struct {
		status int
		body   string
		want   string // "paid", "refused", "pending", "action", or again
	}{
		{200, `{"id":"w1","reference":"b1"}`, "paid"},
		{200, ` {"id":"w1"} `, "paid"},
		{201, `{"id":"w1","extra":[1,2]}`, "paid"},
		{200, ``, again},
		{200, `{}`, again},
		{200, `{"reference":"b1"}`, again},
		{200, `{"id":"w1","reference":5}`, again},
		{200, `[{"id":"w1"}]`, again},
		{204, ``, again},
		{200, `<html>Welcome to nginx</html>`, again},
		{200, `OK`, again},
		{200, `null`, again},
		{200, `{"id":"w2"}`, again},
		{200, `{"id":"w1","refused":true,"reason":"x"}`, again},
		{200, `{"id":"w1"`, again},
		{200, `{"id":"w1","reference":"` + strings.Repeat("x", 70_000) + `"}`, again},
		{202, ``, again},
		{202, `{"id":"w2"}`, again},
		{202, `{"id":"w1","refused":true}`, again},
		{202, `{"id":"w1"}`, "pending"},
		{202, `{"id":"w1","reason":"the bank opens at nine"}`, "pending"},
		{202, `{"id":"w1","action":{"url":"https://pay.example/c","expires_at":1763712000000}}`, "action"},
		{202, `{"id":"w1","action":{"data":"x"}}`, "action"},
		{202, `{"id":"w1","action":"confirm"}`, again},
		{200, `{"id":"w1","action":{"url":"https://pay.example/c"}}`, again},
		{206, ``, again},
		{301, ``, again}, {302, ``, again}, {307, ``, again}, {308, ``, again},
		{400, `{"id":"w1","refused":true}`, again},
		{401, ``, again}, {402, ``, again}, {403, ``, again}, {404, ``, again}, {405, ``, again}, {408, ``, again},
		{409, ``, again}, {410, ``, again},
		{413, ``, again}, {421, ``, again}, {425, ``, again}, {429, ``, again}, {451, ``, again},
		{422, ``, again},
		{422, `{"id":"w1"}`, again},
		{422, `{"id":"w1","refused":false}`, again},
		{422, `{"id":"w1","refused":"true"}`, again},
		{422, `{"refused":true,"reason":"whose?"}`, again},
		{422, `{"id":"w2","refused":true,"reason":"another's"}`, again},
		{422, `{"id":"w1","refused":true}`, "refused"},
		{422, `{"id":"w1","refused":true,"reason":"the account is closed"}`, "refused"},
		{500, `{"id":"w1","refused":true}`, again}, {501, ``, again}, {502, ``, again}, {503, ``, again},
		{504, `{"id":"w1"}`, again}, {599, ``, again},
	} {
		p := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/payments" {
				t.Errorf("a redirect was followed to %s", r.URL.Path)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}), false)
		answer, err := pay(t, p, time.Minute)
		got := again
		if err == nil {
			got = said[answer.Status]
		}
		if got != c.want {
			t.Errorf("%d %.80s: %s (%v), want %s", c.status, c.body, got, err, c.want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%d: an error of %d bytes", c.status, len(err.Error()))
		}
	}
}

func TestRetryAfterIsHeard(t *testing.T) {
	t.Parallel()
	for header, c := range map[string]struct{ least, most time.Duration }{
		"120": {2 * time.Minute, 2 * time.Minute}, "": {}, "soon": {}, "-5": {}, "0": {}, "99999999999999": {},
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  {59 * time.Minute, time.Hour},
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): {},
	} {
		p := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		}), false)
		_, err := pay(t, p, time.Minute)
		var after time.Duration
		if later, ok := errors.AsType[*withdraw.LaterError](err); ok {
			after = later.After
		}
		if err == nil || after < c.least || after > c.most {
			t.Errorf("%q: %v (%v)", header, after, err)
		}
	}
}

func TestNewRefusesWhatIsUnsafe(t *testing.T) {
	t.Parallel()
	for _, o := range []webhook.Options{
		{URL: "http://pay.example", Secret: webhooktest.Secret}, {URL: "https://pay.example", Secret: "hunter2"},
		{Secret: webhooktest.Secret},
	} {
		if _, err := webhook.New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// A receiver's name tells what makes another receiver, and no secret.
func TestAReceiverIsNamed(t *testing.T) {
	t.Parallel()
	name := func(o webhook.Options) string {
		if o.Secret == "" {
			o.Secret = webhooktest.Secret
		}
		return newProvider(t, o).Receiver().String()
	}
	const other = "whsec_YW5vdGhlciBzZWNyZXQgb2YgMzIgYnl0ZXMsIGxvbmc="
	base := name(webhook.Options{URL: "https://pay.example/a"})
	if again := name(webhook.Options{URL: "https://pay.example/a"}); again != base ||
		!strings.HasPrefix(base, "http https://pay.example/a key:") {
		t.Errorf("%q and %q", base, again)
	}
	seen := map[string]bool{base: true}
	for _, o := range []webhook.Options{
		{URL: "https://pay.example/b"}, {URL: "https://pay.example/a", Secret: other}, {URL: "https://other.example/a"},
		{URL: "https://u:hunter2@pay.example/a"}, {URL: "https://pay.example/a?token=hunter2"},
		{URL: "https://pay.example/a", Account: "acme"}, {URL: "https://pay.example/" + strings.Repeat("x", 500)},
		{URL: "https://pay.example/" + strings.Repeat("x", 500) + "y"},
	} {
		got := name(o)
		if seen[got] || strings.Contains(got, "hunter2") || len(got) > 400 {
			t.Errorf("%+v is called %q", o, got)
		}
		seen[got] = true
	}
	if a, b := name(webhook.Options{URL: "https://pay.example/a", Account: "acme"}),
		name(webhook.Options{URL: "https://pay.example/a", Account: "acme", Secret: other}); a != b {
		t.Errorf("a new secret of one account: %q and %q", a, b)
	}
}

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
