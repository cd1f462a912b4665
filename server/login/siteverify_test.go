package login_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redrain/server/login"
)

func TestSiteverify(t *testing.T) {
	var asked map[string]string
	var status int
	var body string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s, %v", r.Method, err)
		}
		asked = map[string]string{}
		for k, v := range r.PostForm {
			asked[k] = strings.Join(v, "|")
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(service.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s := login.Turnstile
	s.Endpoint = service.URL
	v := login.NewSiteverify(s, "site", "0x1", transport)

	for _, c := range []struct {
		status int
		body   string
		want   error // nil: a fault, nothing is decided
		good   bool
	}{
		{200, `{"success":true,"hostname":"redrain.example"}`, nil, true},
		{200, `{"success":false,"error-codes":["timeout-or-duplicate"]}`, login.ErrProofFailed, false},
		{400, `{"success":false,"error-codes":["invalid-input-response"]}`, login.ErrProofFailed, false},
		{200, `{"success":false,"error-codes":["invalid-input-secret"]}`, nil, false},
		{200, `{"success":"true"}`, nil, false},
		{200, `{}`, nil, false},
		{500, `oops`, nil, false},
		{302, ``, nil, false},
		{200, `{"x":"` + strings.Repeat("a", 1<<20) + `","success":true}`, nil, false},
	} {
		status, body = c.status, c.body
		err := v.Check(t.Context(), "192.0.2.1", "proof")
		decided := err == nil || errors.Is(err, login.ErrProofFailed)
		if (err == nil) != c.good || decided != (c.good || c.want != nil) {
			t.Errorf("%d %.60s: %v, want %v", c.status, c.body, err, c.want)
		}
		if asked["secret"] != "0x1" || asked["response"] != "proof" || asked["remoteip"] != "192.0.2.1" {
			t.Errorf("asked %v", asked)
		}
	}
	asked, status, body = nil, 200, `{"success":true}`
	if err := v.Check(t.Context(), "a", ""); !errors.Is(err, login.ErrProofMissing) || asked != nil {
		t.Errorf("none: %v, asked %v", err, asked)
	}
	huge := strings.Repeat("x", 5000)
	if err := v.Check(t.Context(), "a", huge); !errors.Is(err, login.ErrProofFailed) || asked != nil {
		t.Errorf("a huge one: %v, asked %v", err, asked)
	}
	if err := v.Check(t.Context(), "2001:db8:1:2::", "proof"); err != nil || asked["remoteip"] != "" {
		t.Errorf("a network as an address: %v, asked %v", err, asked)
	}
	service.Close()
	if err := v.Check(t.Context(), "a", "proof"); err == nil || errors.Is(err, login.ErrProofFailed) {
		t.Errorf("away: %v", err)
	}
}
