package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
)

const (
	dialWithin = 10 * time.Second
	// PerAddress players come from one address of this machine. It stays far below the ports that an address has
	// (28,000 by default), and below what the server grants to one address in a moment.
	PerAddress = 1000
)

// dial opens a connection to a target and upgrades it. What the server has sent behind its answer is not lost: it comes
// with the first Read.
func dial(ctx context.Context, target string, player int, header http.Header) (net.Conn, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	var line *untilBody
	wrap := func(conn net.Conn, err error) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		line = &untilBody{Conn: conn}
		return line, nil
	}
	plain := func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: SourceAddress(address, player)}
		return d.DialContext(ctx, network, address)
	}
	d := websocket.Dialer{
		Subprotocols: []string{wire.Subprotocol}, ReadBufferSize: 1024, WriteBufferSize: 1024,
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return wrap(plain(ctx, network, address))
		},
		NetDialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := plain(ctx, network, address)
			if err != nil {
				return nil, err
			}
			host, _, err := net.SplitHostPort(address)
			secure := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
			if err == nil {
				err = secure.HandshakeContext(ctx)
			}
			if err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return wrap(secure, nil)
		},
	}
	_, resp, err := d.DialContext(ctx, target, header) //nolint:bodyclose // of an upgraded connection it holds nothing
	if err != nil {
		if resp != nil {
			err = fmt.Errorf("%s answers %s: %w", target, resp.Status, err)
			if after, ok := retryAfter(resp); ok {
				err = &LaterError{After: after, Err: err}
			}
			return nil, nil, err
		}
		return nil, nil, err
	}
	if err := line.SetDeadline(time.Time{}); err != nil {
		return nil, nil, errors.Join(err, line.Close())
	}
	return line.Conn, line.rest, nil
}

// LaterError is a refusal of a server that says when to come back. Options.Token may return one.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error is the refusal.
func (e *LaterError) Error() string { return e.Err.Error() }

// Unwrap is the refusal.
func (e *LaterError) Unwrap() error { return e.Err }

// retryAfter is the seconds of a Retry-After; redrain sends no dates.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil && seconds > 0
}

// SourceAddress is the address of this machine that a player comes from: where the target is this machine itself,
// one of 127.0.0.1, 127.0.0.2 and so on, else nil for the system's choice. With one address alone the ports would
// run out before the files.
func SourceAddress(target string, player int) net.Addr {
	host, _, err := net.SplitHostPort(target)
	if err != nil || runtime.GOOS != "linux" { // elsewhere only 127.0.0.1 is there without being set up
		return nil
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || ip.To4() == nil || !ip.IsLoopback()) {
		return nil
	}
	n := 1 + player/PerAddress
	return &net.TCPAddr{IP: net.IPv4(127, 0, byte(n>>8), byte(n))} //nolint:gosec // two bytes hold 65 million players
}

// untilBody gives the reader of an answer's head no byte more than the head, and keeps the rest: the server may
// speak at once, and gorilla would keep that in a buffer of its own.
type untilBody struct {
	net.Conn
	head []byte // read already, to be given out
	seen []byte // all that was read
	rest []byte
	over bool
}

// Read gives out the head.
func (u *untilBody) Read(b []byte) (int, error) {
	if u.over {
		return u.Conn.Read(b)
	}
	if len(u.head) == 0 {
		var buf [4096]byte
		n, err := u.Conn.Read(buf[:])
		if n == 0 {
			return n, err
		}
		before := len(u.seen)
		u.seen = append(u.seen, buf[:n]...)
		u.head = u.seen[before:]
		if end := bytes.Index(u.seen, []byte("\r\n\r\n")); end >= 0 {
			u.head, u.rest = u.seen[before:end+4], u.seen[end+4:]
		}
	}
	n := copy(b, u.head)
	u.head = u.head[n:]
	u.over = len(u.head) == 0 && u.rest != nil
	return n, nil
}
