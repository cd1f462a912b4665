//go:build linux

package main

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sys/unix"

	"redrain/internal/bench"
	"redrain/internal/wire"
)

const droppedMetric = "redrain_fanout_dropped_total"

func measureStalled(r *run) {
	const (
		rate    = 2000 // taps/s: so few that only the fan-out could delay them
		stalled = players / 20
	)
	ours := r.gatewayAlone(r.scope)
	p99 := line{What: "p99 from tap to result with 5 % of 1,000 members stalled, ms", Than: "none stalled",
		Goal: atMost(1.1)}
	last := line{What: "– until the last of the others has a wave, median wave, ms", Than: "none stalled"}
	for range r.rounds {
		for _, n := range []int{stalled, 0} {
			report := r.stall(ours, n, rate)
			put(n > 0, &p99, millis(report, 99))
			put(n > 0, &last, float64(report.WaveSpreads[len(report.WaveSpreads)/2].Microseconds())/1000)
		}
	}
	r.add(p99, last)
}

// stall measures a room of which so many members read nothing, under the densest rain.
func (r *run) stall(c *contestant, stalled int, rate float64) *bench.Report {
	const fills = 15 * time.Second // until the stalled members' sockets are full, at 7 KB a second
	campaign := c.open(packets)
	crowd, leave := r.gather(c, campaign, players-stalled)
	defer leave()
	silent := make([]*websocket.Conn, stalled)
	for i := range silent {
		silent[i] = r.deaf(c, campaign, players+i)
	}
	defer func() {
		for _, conn := range silent {
			_ = conn.Close() // its turn is over
		}
	}()
	c.rain(campaign, falling(time.Minute, 400, 20*time.Second))
	r.play(crowd, bench.Plan{Duration: fills, Watch: true})
	before := c.metric(r.scope, droppedMetric)
	report, _ := r.play(crowd, bench.Plan{Duration: window, Rate: rate}, c.process, self())
	r.won(c, report)
	dropped := c.metric(r.scope, droppedMetric) - before
	r.Logf("  %d stalled: p50 %.2f p99 %.2f ms; the last has a wave after %v; %.0f waves dropped", stalled,
		millis(report, 50), millis(report, 99),
		report.WaveSpreads[len(report.WaveSpreads)/2], dropped)
	if stalled > 0 && dropped == 0 {
		r.Fatalf("the sockets of the stalled members never filled up")
	}
	return report
}

// deaf lets a player join who reads nothing after the welcome. The receive buffer is small: with the default one of a
// loopback connection, the kernel would take megabytes before the server noticed anything.
func (r *run) deaf(c *contestant, campaign string, player int) *websocket.Conn {
	narrow := net.Dialer{Control: func(_, _ string, line syscall.RawConn) error {
		var failed error
		err := line.Control(func(fd uintptr) {
			failed = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536))
		})
		return errors.Join(err, failed)
	}}
	dialer := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}, NetDialContext: narrow.DialContext}
	conn, _, err := dialer.DialContext(r.ctx, c.socket(), nil) //nolint:bodyclose // it is empty after an upgrade
	r.check("a stalled member", err)
	signed, err := token(nameOf(player))
	r.check("a token", err)
	r.check("hello", conn.WriteJSON(map[string]any{"type": wire.TypeHello, "id": 1, "token": signed,
		"campaign": campaign}))
	_, _, err = conn.ReadMessage() // the welcome
	r.check("welcome", err)
	return conn
}
