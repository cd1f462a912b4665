package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/rain"
)

// rig is a loop without a network: the test is its clock and its server. The server's clock is the loop's.
type rig struct {
	*loop
	t     *testing.T
	clock int64 // ns
	sent  []sentTap
}

// sentTap is a tap that the server has got.
type sentTap struct {
	at     int64
	player int
	req    wire.Request
}

func newRig(t *testing.T, players int) *rig {
	t.Helper()
	r := &rig{t: t, clock: int64(time.Second)}
	crowd := &Crowd{
		options: Options{Players: players, Campaigns: []string{"c1"}, Targets: []string{"ws://test/ws"},
			Log: slog.New(slog.DiscardHandler), Arrived: func() {}},
		clock: func() int64 { return r.clock }, news: make(chan struct{}), failed: map[string]int{},
	}
	crowd.ctx, crowd.stop = context.WithCancel(t.Context())
	crowd.stop() // nobody comes back
	t.Cleanup(crowd.work.Wait)
	r.loop = &loop{options: &crowd.options, clock: crowd.clock, door: crowd, poller: noPoller{},
		views: map[string]*view{"c1": newView()}, clocks: make([]offset, 1), tally: newTally(), now: r.clock}
	r.clocks[0] = offset{rtt: 1}
	for i := range players {
		p := &player{id: i, view: r.views["c1"], joined: true}
		p.sock = &tapeSocket{r, p}
		r.players = append(r.players, p)
	}
	return r
}

// at is a time of the server, in ms, on the loop's clock.
func (r *rig) at(ms int64) { r.clock, r.now = ms*int64(time.Millisecond), ms*int64(time.Millisecond) }

// tell sends messages to a player, in one frame.
func (r *rig) tell(p int, messages ...any) {
	r.t.Helper()
	lines := make([][]byte, len(messages))
	for i, m := range messages {
		lines[i] = wire.Encode(m)
	}
	r.heard(r.players[p], serverFrame(bytes.Join(lines, []byte("\n"))), nil)
}

// serverFrame is a text frame as a server sends it.
func serverFrame(body []byte) []byte {
	return append(ws.AppendHeader(nil, ws.OpText, len(body)), body...)
}

// answer answers the n-th tap that was sent.
func (r *rig) answer(n int, outcome string) {
	r.t.Helper()
	s := r.sent[n]
	r.tell(s.player, wire.Result{Type: wire.TypeResult, ID: s.req.ID, Drop: s.req.Drop, Outcome: outcome})
}

// drops are what has been tapped, in order.
func (r *rig) drops() []string {
	all := make([]string, len(r.sent))
	for i, s := range r.sent {
		all[i] = s.req.Drop
	}
	return all
}

// aWave is wave n, which appears at n·250 ms, with drops of these fall times; less than 0 is a decoy's.
func aWave(n int64, falls ...int) wire.Wave {
	w := wire.Wave{Type: wire.TypeWave, Rain: "r1", N: n, At: n * rain.WaveMS, Drops: [][4]int{}}
	for k, fall := range falls {
		kind := rain.Packet
		if fall < 0 {
			kind, fall = rain.Decoy, -fall
		}
		w.Drops = append(w.Drops, [4]int{k, 0, int(kind), fall})
	}
	return w
}

type noPoller struct{}

func (noPoller) add(net.Conn, func([]byte, error)) (socket, error) {
	return nil, errors.New("no network")
}
func (noPoller) wait(int64, int64) error { return errors.New("nothing to wait for") }
func (noPoller) wake()                   {}
func (noPoller) close() error            { return nil }

// tapeSocket notes the taps.
type tapeSocket struct {
	rig *rig
	p   *player
}

func (s *tapeSocket) write(b []byte) error {
	b = bytes.Clone(b)
	b[1] &^= 0x80 // the mask of zeros is then the first part of the body
	body := b[2:]
	if int(b[1]) != len(body)-4 {
		return fmt.Errorf("a frame of %d bytes says %d", len(body)-4, b[1])
	}
	req, err := wire.ParseRequest(body[4:])
	if err != nil {
		return err
	}
	s.rig.sent = append(s.rig.sent, sentTap{s.rig.now, s.p.id, req})
	return nil
}
func (s *tapeSocket) mute() error  { return nil }
func (s *tapeSocket) close() error { return nil }
