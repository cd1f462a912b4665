package clientip_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"redrain/internal/testenv"
	"redrain/server/clientip"
)

func proxies(t *testing.T, list ...string) clientip.Proxies {
	t.Helper()
	all, err := clientip.ParseProxies(list)
	testenv.Must(t, err)
	return all
}

// TestForwardedFor: who is calling is the right-most address that is not a trusted proxy's, and whatever somebody else
// says is not believed.
func TestForwardedFor(t *testing.T) {
	trusted := proxies(t, "10.0.0.0/8", "fd00::/8", "192.0.2.7")
	for name, c := range map[string]struct {
		peer string
		said []string
		want string
	}{
		"nobody in between":        {"203.0.113.9:4000", nil, "203.0.113.9:4000"},
		"a stranger's word":        {"203.0.113.9:4000", []string{"198.51.100.1"}, "203.0.113.9:4000"},
		"a proxy's word":           {"10.1.2.3:4000", []string{"198.51.100.1"}, "198.51.100.1:0"},
		"a proxy that says none":   {"10.1.2.3:4000", nil, "10.1.2.3:4000"},
		"a chain of proxies":       {"10.1.2.3:4000", []string{"198.51.100.1, 10.9.9.9", "10.8.8.8"}, "198.51.100.1:0"},
		"what the client has said": {"10.1.2.3:4000", []string{"1.1.1.1, 198.51.100.1, 10.9.9.9"}, "198.51.100.1:0"},
		"proxies only":             {"10.1.2.3:4000", []string{"10.7.7.7, 10.9.9.9"}, "10.7.7.7:0"},
		"what is no address":       {"10.1.2.3:4000", []string{"1.1.1.1, unknown, 10.9.9.9"}, "10.9.9.9:0"},
		"nothing but that":         {"10.1.2.3:4000", []string{"unknown"}, "10.1.2.3:4000"},
		"with a port":              {"192.0.2.7:4000", []string{"198.51.100.1:555"}, "198.51.100.1:0"},
		"IPv6":                     {"[fd00::1]:4000", []string{"2001:db8::5"}, "[2001:db8::5]:0"},
		"IPv6 in brackets":         {"[fd00::1]:4000", []string{"[2001:db8::5]:555"}, "[2001:db8::5]:0"},
		"IPv4 in IPv6":             {"[::ffff:10.1.2.3]:4000", []string{"::ffff:198.51.100.1"}, "198.51.100.1:0"},
		"a neighbour of a proxy":   {"192.0.2.8:4000", []string{"198.51.100.1"}, "192.0.2.8:4000"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.said
		got := ""
		trusted.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = r.RemoteAddr
		})).ServeHTTP(httptest.NewRecorder(), r)
		testenv.Equal(t, got, c.want, "%s", name)
	}
}

func TestWhatIsNoNetwork(t *testing.T) {
	for _, text := range []string{"", "10.0.0.0/33", "proxy.example", "10.0.0.0-10.0.0.9"} {
		if all, err := clientip.ParseProxies([]string{"10.0.0.1", text}); err == nil {
			t.Errorf("%q is taken for %v", text, all)
		}
	}
}
