package gateway

import (
	"sync"
	"time"

	"redrain/grab"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// tapped is a tap of a session that waits for its result. What is asked for is kept in it, not beside it: one
// allocation for each tap.
type tapped struct {
	grab.Tap

	session *session
	seat    seat
	began   time.Time
	id      [wire.MaxID]byte
	idLen   int
}

// tap answers a player's tap, now or later.
func (s *session) tap(m wire.Tap) {
	drop, ok := rain.ParseDrop(m.Drop)
	if !ok {
		s.noSuchDrop(m)
		return
	}
	t := &tapped{session: s, seat: s.seat, began: time.Now()}
	t.User, t.Drop, t.Asker, t.Ref = s.user, drop, s.g, t
	t.idLen = copy(t.id[:], m.ID)
	if r, known := t.seat.gate.Tap(&t.Tap); known {
		s.member.Send(t.result(make([]byte, 0, usualResult), r))
		t.counted(r.Outcome, time.Since(t.began))
	}
}

// noSuchDrop answers a tap whose drop has not even the form of one.
func (s *session) noSuchDrop(m wire.Tap) {
	began := time.Now()
	s.send(wire.Result{Type: wire.TypeResult, ID: wire.ID(m.ID), Drop: string(m.Drop), Outcome: string(grab.UnknownDrop)})
	(&tapped{session: s, seat: s.seat}).counted(grab.UnknownDrop, time.Since(began))
}

// result writes the tap's result.
func (t *tapped) result(b []byte, r grab.Result) []byte {
	m := wire.TapResult{
		ID: t.id[:t.idLen], Drop: t.Drop, Outcome: string(r.Outcome), Campaign: t.seat.campaign, Packet: r.Packet,
		Amount: r.Amount,
	}
	return m.Append(b)
}

func (t *tapped) counted(o grab.Outcome, took time.Duration) {
	t.seat.count.Tap(o, took)
	t.session.g.metrics.tap(o, took)
}

const (
	// usualResult is what most results fit into, in bytes.
	usualResult = 160
	// slab is how much room the results of a batch are written into at a time. More would be less work; but who
	// does not read what they are sent holds all of it for one result.
	slab = 4 << 10
)

// Answer hands the results of a batch to those who tapped. It is what a grab.Asker does.
func (g *Gateway) Answer(taps []*grab.Tap) {
	out := bundles.Get().(*room.Bundle) //nolint:forcetypeassert // New makes nothing else
	defer bundles.Put(out)
	var text []byte
	now := time.Now()
	for i, tap := range taps {
		t := tap.Ref.(*tapped) //nolint:forcetypeassert // the gateway asks with nothing else
		if cap(text)-len(text) < usualResult {
			text = make([]byte, 0, min(slab, (len(taps)-i)*usualResult))
		}
		from := len(text)
		text = t.result(text, tap.Result())
		out.Add(t.session.member, text[from:len(text):len(text)])
		t.counted(tap.Result().Outcome, now.Sub(t.began))
	}
	g.o.Lobby.Deliver(out)
}

// bundles are what batches go out in.
var bundles = sync.Pool{New: func() any { return &room.Bundle{} }}
