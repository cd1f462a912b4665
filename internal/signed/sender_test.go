package signed_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"redrain/internal/signed"
	"redrain/internal/testenv"
)

// TestTheNewestSecretSigns: a request is signed with the secret of its moment.
func TestTheNewestSecretSigns(t *testing.T) {
	t.Parallel()
	secret := func(letter byte) string {
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte{23: letter})
	}
	now := secret('a')
	var header http.Header
	var body []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer receiver.Close()
	sender, err := signed.NewSender(signed.SenderOptions{URL: receiver.URL, Secret: now, Most: 1 << 10,
		Clock: func() int64 { return time.Now().UnixMilli() }, NewSecret: func() string { return now }})
	testenv.Must(t, err)
	defer sender.Close()
	for _, now = range []string{now, secret('b')} {
		testenv.Must(t, testenv.Err(sender.Post(t.Context(), "w1", []byte("{}"), nil)))
		for _, key := range []string{secret('a'), secret('b')} {
			parsed, err := signed.ParseSecret(key)
			testenv.Must(t, err)
			err = signed.Verify(parsed, header, body, time.Now())
			testenv.Equal(t, err == nil, key == now, "signed by %s, checked with %s", now, key)
		}
	}
}
