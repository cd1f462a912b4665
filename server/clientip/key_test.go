package clientip

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"redrain/internal/testenv"
)

func TestRequestKey(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1", "[2001:db8:1:2:3::4]:5": "2001:db8:1:2::", "[::1]:9": "::1", "odd": "odd",
		"[::ffff:192.0.2.1]:7": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[2001:db8:1:2:9::]:5": "2001:db8:1:2::",
		"[fe80::1%eth0]:5": "fe80::", "2001:db8:1:2::7": "2001:db8:1:2::", "": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		testenv.Equal(t, RequestKey(r), want, "%s", remote)
	}
}

func TestMain(m *testing.M) { testenv.Main(m) }
