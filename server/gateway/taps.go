package gateway

import (
	"sync"
	"time"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// Asked is what of a session's tap is needed to tell its result. It is kept in the tap, not beside it: one allocation
// for each tap.
type Asked struct {
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
	t := &grab.Tap[Asked]{User: s.user, Drop: drop, Caller: Asked{session: s, seat: s.seat, began: time.Now()}}
	a := &t.Caller
	a.idLen = copy(a.id[:], m.ID)
	if r, known := a.seat.gate.Tap(t); known {
		s.member.Send(a.result(make([]byte, 0, usualResult), drop, r))
		a.counted(r.Outcome, time.Since(a.began))
	}
}

// noSuchDrop answers a tap whose drop has not even the form of one.
func (s *session) noSuchDrop(m wire.Tap) {
	began := time.Now()
	s.send(
		wire.Result{
			Type:    wire.TypeResult,
			ID:      wire.ID(m.ID),
			Drop:    string(m.Drop),
			Outcome: outcome.UnknownDrop.String(),
		},
	)
	(&Asked{session: s, seat: s.seat}).counted(outcome.UnknownDrop, time.Since(began))
}

// result writes the tap's result.
func (a *Asked) result(b []byte, drop rain.DropID, r outcome.Result) []byte {
	m := wire.TapResult{
		ID: a.id[:a.idLen], Drop: drop, Outcome: r.Outcome.String(), Campaign: a.seat.campaign, Packet: r.Packet,
		Amount: r.Amount,
	}
	return m.Append(b)
}

func (a *Asked) counted(o outcome.Outcome, took time.Duration) {
	a.seat.count.Tap(o, took)
	a.session.g.metrics.tap(o, took)
}

const (
	// usualResult is what most results fit into, in bytes.
	usualResult = 160
	// slab is how much room the results of a batch are written into at a time. More would be less work; but who
	// does not read what they are sent holds all of it for one result.
	slab = 4 << 10
)

// Results hands the results of taps to those who tapped.
type Results struct{ Lobby *room.Lobby }

// Answer is a grab.Answer: it takes all results of a batch.
func (r Results) Answer(taps []*grab.Tap[Asked]) {
	out := bundles.Get().(*room.Bundle) //nolint:forcetypeassert // New makes nothing else
	defer bundles.Put(out)
	var text []byte
	now := time.Now()
	for i, t := range taps {
		if cap(text)-len(text) < usualResult {
			text = make([]byte, 0, min(slab, (len(taps)-i)*usualResult))
		}
		a, from := &t.Caller, len(text)
		text = a.result(text, t.Drop, t.Result())
		out.Add(a.session.member, text[from:len(text):len(text)])
		a.counted(t.Result().Outcome, now.Sub(a.began))
	}
	r.Lobby.Deliver(out)
}

// bundles are what batches go out in.
var bundles = sync.Pool{New: func() any { return &room.Bundle{} }}
