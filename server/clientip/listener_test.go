package clientip_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/pires/go-proxyproto"

	"redrain/internal/testenv"
)

// TestPROXYHeader: a request that comes behind a header is the client's, of one address or another; a proxy without a
// header speaks for itself; and a header of somebody who is not trusted is no HTTP.
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
		want    string // "" where there is no answer but 400
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
