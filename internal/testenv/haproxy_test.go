package testenv

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHAProxyPassesRequestsOn(t *testing.T) {
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For"))
	}))
	t.Cleanup(behind.Close)
	front := StartHAProxy(t, "  mode http\n  option forwardfor\n  server a "+behind.Listener.Addr().String())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+front.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "127.0.0.1" {
		t.Errorf("%q, %v", text, err)
	}
}
