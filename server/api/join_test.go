package api

import (
	"net/http"
	"testing"
)

func TestJoinURL(t *testing.T) {
	const lan = "http://192.168.1.20:8080"
	for _, c := range []struct{ name, remote, host, lan, want string }{
		{"the screen runs on the server", "127.0.0.1:50000", "localhost:8080", lan, lan + "/"},
		{"the same by number", "127.0.0.1:50000", "127.0.0.1:8080", lan, lan + "/"},
		{"the same over IPv6", "[::1]:50000", "[::1]:8080", lan, lan + "/"},
		{"the server listens on this machine only", "127.0.0.1:50000", "localhost:8080", "", ""},
		{"the page has an address that phones know", "127.0.0.1:50000", "rain.example.com", lan, ""},
		{"somebody else who says localhost", "192.168.1.7:50000", "localhost:8080", lan, ""},
	} {
		a := New(Options{JoinURL: func() string { return c.lan }})
		if got := a.joinURL(&http.Request{RemoteAddr: c.remote, Host: c.host}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"} {
			passed := http.Header{}
			passed.Set(header, "203.0.113.7")
			if got := a.joinURL(&http.Request{RemoteAddr: c.remote, Host: c.host, Header: passed}); got != "" {
				t.Errorf("%s, passed on with %s: %q", c.name, header, got)
			}
		}
	}
}
