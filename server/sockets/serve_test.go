package sockets

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
)

// served is a table in front of a real HTTP server.
type served struct {
	*testing.T
	*Table
	addr    string
	release chan struct{} // lets the requests of /hang end
}

// serve serves /healthz, /hang, which does not answer before the test ends, /taken, which takes the connection over,
// and else says who is calling. Requests to it with the header X-Client come from there.
func serve(t *testing.T, o Options) *served {
	t.Helper()
	o.Registerer = prometheus.NewRegistry()
	o.Problem = func(w http.ResponseWriter, status int, code, detail string) {
		http.Error(w, code+": "+detail, status)
	}
	if o.Trusted == nil {
		o.Trusted = func(net.Addr) bool { return false }
	}
	s := &served{T: t, Table: New(o), release: make(chan struct{})}
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	s.addr = inner.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "lives") })
	mux.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) { <-s.release })
	mux.HandleFunc("/taken", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 taken\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}()
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) })
	named := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client := r.Header.Get("X-Client"); client != "" {
			r.RemoteAddr = net.JoinHostPort(client, "0")
		}
		s.Handler(mux).ServeHTTP(w, r)
	})
	server := &http.Server{Handler: named, ConnState: s.State, ConnContext: s.Table.Context,
		ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(s.Listener(inner)) }()
	t.Cleanup(func() {
		close(s.release)
		_ = server.Close()
		<-done
	})
	return s
}

// from connects from an address of this machine.
func (s *served) from(client string) net.Conn {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}
	conn, err := dialer.DialContext(s.T.Context(), "tcp", s.addr)
	testenv.Must(s, err)
	s.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask sends a request and does not wait for the answer.
func ask(t *testing.T, conn net.Conn, path string, headers ...string) {
	t.Helper()
	lines := append([]string{"GET " + path + " HTTP/1.1", "Host: x"}, headers...)
	testenv.Must(t, testenv.Err(io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n")))
}

// status waits for an answer; 0 where the connection was closed instead.
func status(t *testing.T, conn net.Conn) int {
	t.Helper()
	testenv.Must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as the connection returns it
		t.Fatal("neither an answer nor the end of the connection")
	}
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// is waits until so many connections are of a kind.
func (s *served) is(of kind, count int) {
	s.Helper()
	testenv.Eventually(s.T, 20*time.Second, fmt.Sprintf("%d connections of the kind %s", count, of),
		func() bool { return testutil.ToFloat64(s.metrics.open.WithLabelValues(string(of))) == float64(count) })
}

// An address gets so many connections, whatever they do; another one's are its own; and a place that is free again can
// be had again.
func TestPlacesOfAnAddress(t *testing.T) {
	s := serve(t, Options{PerAddress: 3})
	silent, taken, asking := s.from("127.0.0.1"), s.from("127.0.0.1"), s.from("127.0.0.1")
	s.is(kindNew, 3)
	ask(t, taken, "/taken")
	ask(t, asking, "/")
	if got := [2]int{status(t, taken), status(t, asking)}; got != [2]int{200, 200} {
		t.Fatal(got)
	}
	s.is(kindWebSocket, 1)
	s.is(kindIdle, 1)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	if fourth, err := dialer.DialContext(t.Context(), "tcp", s.addr); err == nil { // else it was closed before
		defer func() { _ = fourth.Close() }()
		testenv.Equal(t, status(t, fourth), 0, "the fourth")
	}
	other := s.from("127.0.0.2")
	ask(t, other, "/")
	testenv.Equal(t, status(t, other), 200, "another address")
	for _, leaver := range []net.Conn{silent, taken, asking} {
		_ = leaver.Close()
		testenv.Eventually(t, 20*time.Second, "a place is free", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.places["127.0.0.1"] == 2
		})
		again := s.from("127.0.0.1")
		ask(t, again, "/")
		testenv.Equal(t, status(t, again), 200, "a free place")
	}
	testenv.Equal(t, testutil.ToFloat64(s.metrics.refused.WithLabelValues(refusedAddress)), 1, "counted as refused")
}

// Behind a proxy the requests count, for the address that they come from, until they end; a WebSocket until it is
// closed. The proxy's own do not.
func TestPlacesBehindAProxy(t *testing.T) {
	s := serve(t, Options{PerAddress: 2, Trusted: func(a net.Addr) bool {
		return strings.HasPrefix(a.String(), "127.")
	}})
	request := func(path, client string) net.Conn {
		conn := s.from("127.0.0.1")
		headers := []string{}
		if client != "" {
			headers = append(headers, "X-Client: "+client)
		}
		ask(t, conn, path, headers...)
		return conn
	}
	request("/hang", "198.51.100.1")
	socket := request("/taken", "198.51.100.1")
	if got := status(t, socket); got != 200 {
		t.Fatal(got)
	}
	s.is(kindRequest, 1)
	s.is(kindWebSocket, 1)
	testenv.Equal(t, status(t, request("/", "198.51.100.1")), http.StatusServiceUnavailable, "one too many")
	for range 5 {
		testenv.Equal(t, [2]int{status(t, request("/", "198.51.100.2")), status(t, request("/healthz", ""))},
			[2]int{200, 200}, "another client, and the proxy itself")
	}
	_ = socket.Close()
	s.is(kindWebSocket, 0)
	testenv.Equal(t, status(t, request("/", "198.51.100.1")), 200, "after the socket has gone")
}

// Beyond the budget the connection goes that has waited for the longest; where all are busy, only monitoring is
// answered, however many come.
func TestTheBudgetOfDescriptors(t *testing.T) {
	s := serve(t, Options{Budget: 4})
	first, second := s.from("127.0.0.1"), s.from("127.0.0.1")
	s.is(kindNew, 2)
	busy := []net.Conn{s.from("127.0.0.2"), s.from("127.0.0.2")}
	for _, conn := range busy {
		ask(t, conn, "/hang")
	}
	s.is(kindRequest, 2)
	third := s.from("127.0.0.3")
	testenv.Equal(t, status(t, first), 0, "the oldest was answered")
	ask(t, second, "/")
	ask(t, third, "/")
	testenv.Equal(t, [2]int{status(t, second), status(t, third)}, [2]int{200, 200}, "the others")
	ask(t, second, "/hang")
	ask(t, third, "/hang")
	s.is(kindRequest, 4)
	var silent []net.Conn
	for i := range 3 * narrowMost {
		silent = append(silent, s.from(fmt.Sprintf("127.0.1.%d", i+1)))
	}
	for range 3 {
		check := s.from("127.0.0.9")
		ask(t, check, "/healthz")
		testenv.Equal(t, status(t, check), 200, "the health check")
		page := s.from("127.0.0.9")
		ask(t, page, "/")
		testenv.Equal(t, status(t, page), http.StatusServiceUnavailable, "a page")
	}
	testenv.Equal(t, status(t, silent[0]), 0, "a silent one")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.narrow.Len() > narrowMost || s.open > 4+narrowMost {
		t.Errorf("%d connections, %d of them beyond the budget", s.open, s.narrow.Len())
	}
}
