package clientip_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/pires/go-proxyproto"

	"redrain/internal/testenv"
	"redrain/server/clientip"
)

// TestPROXYHeader: a header gives the client's address, of IPv4 or IPv6. Without a header a trusted proxy's own address
// counts. A header from an untrusted peer is invalid HTTP.
func TestPROXYHeader(t *testing.T) {
	header := func(version byte, source string) []byte {
		var b bytes.Buffer
		from, err := net.ResolveTCPAddr("tcp", source)
		testenv.Must(t, err)
		h := proxyproto.HeaderProxyFromAddrs(version, from, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80})
		if from.IP.To4() == nil {
			h = proxyproto.HeaderProxyFromAddrs(version, from, &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 80})
		}
		testenv.Must(t, testenv.Err(h.WriteTo(&b)))
		return b.Bytes()
	}
	var local bytes.Buffer
	testenv.Must(t, testenv.Err((&proxyproto.Header{Version: 2, Command: proxyproto.LOCAL}).WriteTo(&local)))
	long := header(2, "198.51.100.1:5000")
	long[14], long[15] = 0xff, 0xff // says that it goes on and on
	for name, c := range map[string]struct {
		trusted string
		header  []byte
		want    string // "": no answer but 400
	}{
		"version 1":          {"127.0.0.0/8", header(1, "198.51.100.1:5000"), "198.51.100.1:5000"},
		"version 1, unknown": {"127.0.0.0/8", []byte("PROXY UNKNOWN\r\n"), "127.0.0.1"},
		"version 2":          {"127.0.0.0/8", header(2, "198.51.100.1:5000"), "198.51.100.1:5000"},
		"version 2, IPv6":    {"127.0.0.0/8", header(2, "[2001:db8::5]:5000"), "[2001:db8::5]:5000"},
		"a health check":     {"127.0.0.0/8", local.Bytes(), "127.0.0.1"},
		"without a header":   {"127.0.0.0/8", nil, "127.0.0.1"},
		"of a stranger":      {"10.0.0.0/8", header(1, "198.51.100.1:5000"), ""},
		"that is broken":     {"127.0.0.0/8", []byte("PROXY TCP4 nobody\r\n"), ""},
		"that is too long":   {"127.0.0.0/8", long, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			testenv.Must(t, err)
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, r.RemoteAddr)
			})}
			var serving sync.WaitGroup
			serving.Go(func() { _ = server.Serve(proxies(t, c.trusted).Listener(inner)) })
			defer serving.Wait()
			defer func() { _ = server.Close() }()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", inner.Addr().String())
			testenv.Must(t, err)
			defer func() { _ = conn.Close() }()
			request := "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
			testenv.Must(t, testenv.Err(conn.Write(append(c.header, request...))))
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if c.want == "" {
				if err == nil && answer.StatusCode != http.StatusBadRequest {
					t.Errorf("answered: %s", answer.Status)
				}
				return
			}
			testenv.Must(t, err)
			got, err := io.ReadAll(answer.Body)
			if err != nil || !bytes.HasPrefix(got, []byte(c.want)) {
				t.Errorf("the client is %s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

func proxies(t *testing.T, list ...string) clientip.Proxies {
	t.Helper()
	all, err := clientip.ParseProxies(list)
	testenv.Must(t, err)
	return all
}

// TestForwardedFor: the caller is the right-most address that is not a trusted proxy's. Addresses before it are
// ignored, and so is the header of an untrusted peer.
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
