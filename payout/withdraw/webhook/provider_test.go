package webhook_test

import (
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

func TestMain(m *testing.M) { testenv.Main(m) }

func now() int64 { return time.Now().UnixMilli() }

var payment = withdraw.Payment{Key: "w1", User: "张三", Amount: 250, CreatedAt: 1763712000000}

// serve runs a receiver, and a provider that knows its address.
func serve(t *testing.T, handler http.HandlerFunc) *webhook.Provider {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return newProvider(t, webhook.Options{URL: s.URL + "/payments", Secret: webhooktest.Secret, Clock: now})
}

func newProvider(t *testing.T, o webhook.Options) *webhook.Provider {
	t.Helper()
	p, err := webhook.New(o)
	testenv.Must(t, err)
	t.Cleanup(p.Close)
	return p
}

// TestAnswers checks the answers of an HTTP server. An unclear one moves no money in either direction.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const again = "try again"
	outcomes := map[withdraw.Status]string{withdraw.Paid: "paid", withdraw.Refused: "refused",
		withdraw.Pending: "pending", withdraw.ActionRequired: "action"}
	type said struct {
		status int
		body   string
		want   string // "paid", "refused", "pending", "action", or again
	}
	cases := []said{
		{200, `{"id":"w1","reference":"b1"}`, "paid"},
		{200, ` {"id":"w1"} `, "paid"},
		{201, `{"id":"w1","extra":[1,2]}`, "paid"},
		{202, `{"id":"w1"}`, "pending"},
		{202, `{"id":"w1","reason":"the bank opens at nine"}`, "pending"},
		{202, `{"id":"w1","action":{"url":"https://pay.example/c","expires_at":1763712000000}}`, "action"},
		{202, `{"id":"w1","action":{"data":"x"}}`, "action"},
		{422, `{"id":"w1","refused":true}`, "refused"},
		{422, `{"id":"w1","refused":true,"reason":"the account is closed"}`, "refused"},
	}
	for status, bodies := range map[int][]string{
		200: {`{}`, `{"reference":"b1"}`, `{"id":"w1","reference":5}`, `[{"id":"w1"}]`, `<html>Welcome to nginx</html>`,
			`OK`, `null`, `{"id":"w2"}`, `{"id":"w1","refused":true,"reason":"x"}`, `{"id":"w1"`,
			`{"id":"w1","reference":"` + strings.Repeat("x", 70_000) + `"}`,
			`{"id":"w1","action":{"url":"https://pay.example/c"}}`},
		202: {`{"id":"w2"}`, `{"id":"w1","refused":true}`, `{"id":"w1","action":"confirm"}`},
		400: {`{"id":"w1","refused":true}`}, 500: {`{"id":"w1","refused":true}`}, 504: {`{"id":"w1"}`},
		422: {`{"id":"w1"}`, `{"id":"w1","refused":false}`, `{"id":"w1","refused":"true"}`,
			`{"refused":true,"reason":"whose?"}`, `{"id":"w2","refused":true,"reason":"another's"}`},
	} {
		for _, body := range bodies {
			cases = append(cases, said{status, body, again})
		}
	}
	for _, status := range []int{200, 202, 204, 206, 301, 302, 307, 308, 401, 402, 403, 404, 405, 408, 409, 410, 413,
		421, 422,
		425, 429, 451, 501, 502, 503, 599} {
		cases = append(cases, said{status, "", again})
	}
	for _, c := range cases {
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/payments" {
				t.Errorf("a redirect was followed to %s", r.URL.Path)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		answer, err := p.Pay(t.Context(), payment)
		got := again
		if err == nil {
			got = outcomes[answer.Status]
		}
		if got != c.want {
			t.Errorf("%d %.80s: %s (%v), want %s", c.status, c.body, got, err, c.want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%d: an error of %d bytes", c.status, len(err.Error()))
		}
	}
}

// TestTheRequestIsNamed: a payment carries the id of the player's request, if there is one.
func TestTheRequestIsNamed(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "r1"} {
		var got []string
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Values("X-Request-ID")
			_, _ = io.WriteString(w, `{"id":"w1"}`)
		})
		named := payment
		named.Request = id
		testenv.Must(t, testenv.Err(p.Pay(t.Context(), named)))
		testenv.Equal(t, strings.Join(got, ","), id, "the id")
	}
}

func TestRetryAfterIsHeard(t *testing.T) {
	t.Parallel()
	for header, c := range map[string]struct{ least, most time.Duration }{
		"120": {2 * time.Minute, 2 * time.Minute}, "": {}, "soon": {}, "-5": {}, "0": {}, "99999999999999": {},
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  {59 * time.Minute, time.Hour},
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): {},
	} {
		p := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := p.Pay(t.Context(), payment)
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

// A receiver's name distinguishes receivers, and has no secret.
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

// TestStrangersAreNotPaidThrough: a receiver without a valid certificate, or with another name, gets no request.
func TestStrangersAreNotPaidThrough(t *testing.T) {
	t.Parallel()
	receiver := webhooktest.New()
	s := httptest.NewUnstartedServer(receiver)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it logs the broken handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	p := newProvider(t, webhook.Options{URL: s.URL, Secret: webhooktest.Secret, Clock: now})
	if _, err := p.Pay(t.Context(), payment); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	testenv.Must(t, err)
	authorities := x509.NewCertPool()
	authorities.AddCert(s.Certificate())
	trust := &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	p = newProvider(t, webhook.Options{URL: "https://localhost:" + port, Secret: webhooktest.Secret, Clock: now,
		TLS: trust})
	if _, err := p.Pay(t.Context(), payment); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another name: %v", err)
	}
	if tries := receiver.Tries("w1"); tries != 0 {
		t.Errorf("%d requests reached the stranger", tries)
	}
	p = newProvider(t, webhook.Options{URL: s.URL, Secret: webhooktest.Secret, Clock: now, TLS: trust})
	if answer, err := p.Pay(t.Context(), payment); err != nil || answer.Status != withdraw.Paid {
		t.Errorf("the receiver itself: %+v, %v", answer, err)
	}
}
