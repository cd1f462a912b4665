package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// culprits hold connections for nothing, all from one address.
type culprits struct {
	t        *testing.T
	n        *node
	from     string
	campaign string
	stop     chan struct{}
	working  sync.WaitGroup
}

func newCulprits(t *testing.T, n *node, from, campaign string) *culprits {
	t.Helper()
	c := &culprits{t: t, n: n, from: from, campaign: campaign, stop: make(chan struct{})}
	t.Cleanup(func() { close(c.stop); c.working.Wait() })
	return c
}

// dialer connects from their address, with a small buffer for unread bytes.
func (c *culprits) dialer() *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}, Timeout: 30 * time.Second}
}

func (c *culprits) dial() (net.Conn, error) {
	return c.dialer().DialContext(c.t.Context(), "tcp", strings.TrimPrefix(c.n.url, "http://"))
}

// hold keeps a connection until the end of the test, and sends a byte of the text every second. It reads nothing if
// reads is false.
func (c *culprits) hold(conn net.Conn, what string, reads bool) {
	if reads {
		c.working.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	}
	c.working.Go(func() {
		defer func() { _ = conn.Close() }()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-c.stop:
				return
			case <-tick.C:
			}
			if what != "" {
				_, _ = io.WriteString(conn, what[:1]) // the node may have ended it
				what = what[1:]
			}
		}
	})
}

// slowBody sends a byte of a body each second.
func (c *culprits) slowBody(i int) error {
	conn, err := c.dial()
	if err != nil {
		return err
	}
	head := "POST /api/v1/guests HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n"
	if i%2 == 1 {
		head = "POST /api/v1/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + operatorToken +
			"\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
	}
	_, err = io.WriteString(conn, head)
	c.hold(conn, strings.Repeat(" ", 4000), true)
	return err
}

// slowReader asks for a page again and again, and reads none of the answers.
func (c *culprits) slowReader(int) error {
	conn, err := c.dial()
	if err != nil {
		return err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok || tcp.SetReadBuffer(4096) != nil {
		return fmt.Errorf("no small buffer for %T", conn)
	}
	_, err = io.WriteString(conn, strings.Repeat("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n", 100))
	c.hold(conn, "", false)
	return err
}

// halfFrame plays, and then sends the first half of a frame; or does so before it has said who it is.
func (c *culprits) halfFrame(i int) error {
	socket, err := c.upgrade()
	if err != nil {
		return err
	}
	if i%2 == 1 {
		hello := map[string]any{"type": "hello", "id": 1, "token": token(c.t, "half-"+strconv.Itoa(i)),
			"campaign": c.campaign}
		if err := socket.WriteJSON(hello); err != nil {
			return err
		}
	}
	_, err = socket.NetConn().Write([]byte{0x81, 0x85, 0, 0})
	c.hold(socket.NetConn(), "", true)
	return err
}

// silent connects, and says nothing: at all, after the upgrade, in the middle of a header, or after a request.
func (c *culprits) silent(i int) error {
	if i%4 == 0 {
		socket, err := c.upgrade()
		if err == nil {
			c.hold(socket.NetConn(), "", true)
		}
		return err
	}
	conn, err := c.dial()
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, []string{"", "GET / HTTP/1.1\r\nHo",
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"}[i%4-1])
	c.hold(conn, "", true)
	return err
}

func (c *culprits) upgrade() (*websocket.Conn, error) {
	dialer := websocket.Dialer{NetDialContext: c.dialer().DialContext, Subprotocols: []string{wire.Subprotocol}}
	socket, answer, err := dialer.DialContext(c.t.Context(), c.n.ws(), nil)
	if answer != nil {
		_ = answer.Body.Close()
	}
	return socket, err
}

// failuresInARow are the checks that a load balancer forgives. If connections come faster than a busy machine reads
// from them, the one with the longest wait for a request is given up. It may be the one of a check.
const failuresInARow = 3

// checkHealth asks /healthz over a new connection each time, until the test ends. It counts the checks that passed.
func checkHealth(t *testing.T, n *node) (checks *atomic.Int64) {
	t.Helper()
	checks, stop, done := &atomic.Int64{}, make(chan struct{}), make(chan struct{})
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		failed := 0
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if err := healthy(&client, n.url); err != nil {
				if failed++; failed == failuresInARow {
					t.Errorf("%d health checks in a row failed after %d: %v", failed, checks.Load(), err)
				}
				continue
			}
			failed = 0
			checks.Add(1)
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return checks
}

func healthy(client *http.Client, url string) error {
	answer, err := client.Get(url + "/healthz")
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// TestSlowAndSilent: a node may have 400 files open, and six hundred connections send, read or say too little. It
// answers health checks and a player's taps. All those connections end, and another player comes in.
func TestSlowAndSilent(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Medium)
	p := startProcessWith(t, processOptions{files: 400, log: io.Discard})
	c := createCampaign(t, p.client, fund(t, p.node, "slow", 1_000, 10))
	startRain(t, p.client, c.ID, longRain(16))
	honest := join(t, p.node, "honest", c.ID)
	checks := checkHealth(t, p.node)
	open := func() (sum float64) {
		for line := range strings.Lines(metricsOf(t, p.node)) {
			if strings.HasPrefix(line, "redrain_open_sockets{") {
				count, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:len(line)-1], 64)
				testenv.Must(t, err)
				sum += count
			}
		}
		return sum
	}
	without := open()
	for i := range 6 {
		c := newCulprits(t, p.node, fmt.Sprintf("127.9.8.%d", i+1), c.ID)
		for k := range 100 {
			hold := []func(int) error{c.silent, c.slowBody, c.slowReader, c.halfFrame}[k%4]
			_ = hold(k / 4) // a connection that is refused is not held
		}
	}
	before := checks.Load()
	testenv.Eventually(t, time.Minute, "health is checked", func() bool { return checks.Load() > before+10 })
	honest.answered(t, honest.tap(honest.freshDrop(t)))
	testenv.Eventually(t, 2*time.Minute, "the culprits are gone", func() bool { return open() <= without })
	honest.answered(t, honest.tap(honest.freshDrop(t)))
	join(t, p.node, "late", c.ID)
}
