package signed_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/internal/signed"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// header makes the three headers of a request.
func header(id, timestamp, signature string) http.Header {
	h := http.Header{}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", timestamp)
	h.Set("Webhook-Signature", signature)
	return h
}

// TestVerifyIsStandardWebhooks holds Verify to a signature that other libraries make: the example of the Standard
// Webhooks libraries' own tests and documents.
func TestVerifyIsStandardWebhooks(t *testing.T) {
	t.Parallel()
	key, err := signed.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	testenv.Must(t, err)
	const id, timestamp = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"
	const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	body := `{"test": 2432232314}`
	now := time.Unix(1614265330, 0)
	for name, c := range map[string]struct {
		header http.Header
		body   string
		now    time.Time
		want   error
	}{
		"as it is":                {header(id, timestamp, signature), body, now, nil},
		"four minutes late":       {header(id, timestamp, signature), body, now.Add(4 * time.Minute), nil},
		"four minutes early":      {header(id, timestamp, signature), body, now.Add(-4 * time.Minute), nil},
		"one right among several": {header(id, timestamp, "v1,AAAA v2,x "+signature+" v1a,zzzz"), body, now, nil},
		"six minutes late": {header(id, timestamp, signature), body, now.Add(6 * time.Minute),
			signed.ErrTooOld},
		"six minutes early": {header(id, timestamp, signature), body, now.Add(-6 * time.Minute),
			signed.ErrTooOld},
		"another time": {header(id, "1614265331", signature), body, now, signed.ErrForged},
		"another id":   {header("msg_other", timestamp, signature), body, now, signed.ErrForged},
		"another body": {header(id, timestamp, signature), strings.Replace(body, "4", "5", 1), now,
			signed.ErrForged},
		"no body":                 {header(id, timestamp, signature), "", now, signed.ErrForged},
		"a part of the signature": {header(id, timestamp, signature[:20]), body, now, signed.ErrForged},
		"without its version": {header(id, timestamp, strings.TrimPrefix(signature, "v1,")), body, now,
			signed.ErrForged},
		"of another version": {header(id, timestamp, strings.Replace(signature, "v1", "v2", 1)), body, now,
			signed.ErrForged},
		"an empty signature":       {header(id, timestamp, "v1,"), body, now, signed.ErrForged},
		"no signature":             {header(id, timestamp, ""), body, now, signed.ErrNoSignature},
		"no id":                    {header("", timestamp, signature), body, now, signed.ErrNoSignature},
		"no time":                  {header(id, "", signature), body, now, signed.ErrNoSignature},
		"a time that is none":      {header(id, "soon", signature), body, now, signed.ErrNoSignature},
		"a time that overflows":    {header(id, "9223372036854775807", signature), body, now, signed.ErrTooOld},
		"a time that overflows up": {header(id, "-9223372036854775808", signature), body, now, signed.ErrTooOld},
	} {
		if err := signed.Verify(key, c.header, []byte(c.body), c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	other, err := signed.ParseSecret("whsec_" +
		base64.StdEncoding.EncodeToString([]byte("another secret of 32 bytes, long")))
	testenv.Must(t, err)
	if err := signed.Verify(other, header(id, timestamp, signature), []byte(body), now); !errors.Is(err,
		signed.ErrForged) {
		t.Errorf("another key: %v", err)
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	of := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for _, good := range []string{of(24), of(32), of(64)} {
		if key, err := signed.ParseSecret(good); err != nil || len(key) < 24 {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "hunter2", "whsec_", "whsec_hunter2", of(23), of(65),
		strings.TrimPrefix(of(32), "whsec_"), of(32) + "!"} {
		if _, err := signed.ParseSecret(bad); !errors.Is(err, signed.ErrBadSecret) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"https://pay.example", "https://user:hunter2@pay.example:8443/x?y=z", "http://localhost:9",
		"http://127.0.0.1/p", "http://[::1]:9/p", "http://127.8.8.8/",
	} {
		if err := signed.CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "pay.example", "http://pay.example", "http://10.0.0.1/hunter2", "http://localhost.evil.example",
		"ftp://pay.example", "https://", "https://a/#b", "://hunter2",
		"http://127.0.0.1.evil.example", "http://0.0.0.0",
	} {
		if err := signed.CheckURL(bad); !errors.Is(err, signed.ErrBadURL) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
