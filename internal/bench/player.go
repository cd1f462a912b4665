package bench

import (
	"bytes"
	"strconv"

	"redrain/internal/wire"
	"redrain/internal/ws"
)

// player is one simulated player. Its fields are the loop's, but for those that never change.
type player struct {
	id     int
	target int // changes only while the player is not connected
	view   *view
	token  string // asked for when it connects first

	sock    socket // nil: not connected
	in      []byte // the beginning of a frame whose rest has not come
	message []byte // the beginning of a message in fragments
	joined  bool
	coming  bool  // has never joined yet
	stalled bool  // reads nothing after it has joined
	saidAt  int64 // when hello was sent, ns
	cameAt  int64 // when the player came into the room, ms of the server
	attempt int   // how often in a row connecting has failed
	backMS  int64 // the server has asked to come back after so long; 0: it has not
	place   int   // in the waiting room, that it told with that; 0: none
	left    bool  // for good

	seen     waveWindow
	presence presence

	queue        []*wave // heard, and not tapped to the end; in rising order
	next         int     // the first drop of the first of them that was not looked at
	tapID        int64
	pending      []tap
	starvedSince int64 // closed loop: since when it has nothing to tap, ns; 0: it has
	alarmed      bool  // has an alarm set

	// Of a player with hands.
	reaction   int64         // to the next drop, ms
	restsUntil int64         // ns
	touched    map[*wave]int // how many drops of a wave were tapped, or have landed
}

// tap is one whose result has not come.
type tap struct {
	id int64
	at int64 // from when its time counts, ns
	n  int64 // the wave and the place in it that make its drop
	k  int32
}

// is tells whether the tap was on this drop.
func (t tap) is(drop []byte) bool {
	var space [32]byte
	return bytes.Equal(t.appendDrop(space[:0]), drop)
}

func (t tap) appendDrop(b []byte) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(b, t.n, 10), '.'), int64(t.k), 10)
}

// tappable finds the next drop that is in the air at a time of the server. Without one it tells when the next will
// come into the air, as far as a wave is known; 0: none is.
func (p *player) tappable(now int64) (w *wave, k int32, from int64) {
	for len(p.queue) > 0 {
		w := p.queue[0]
		if now < w.at+early {
			return nil, 0, w.at + early
		}
		for now < w.gone && p.next < len(w.drops) {
			d := w.drops[p.next]
			p.next++
			if now < w.at+int64(d.fall) {
				return w, d.k, 0
			}
		}
		p.queue = p.queue[1:]
		p.next = 0
	}
	p.queue = nil // so that what append makes next begins anew
	return nil, 0, 0
}

// early is how long after its moment a drop is tapped at the soonest, in ms: the server's time is known no better
// than that.
const early = 5

// appendTo appends the request of a tap as a frame.
func (t tap) appendTo(b []byte) []byte {
	var space [96]byte // longer than any request
	request := append(space[:0], `{"type":"tap","id":`...)
	request = strconv.AppendInt(request, t.id, 10)
	request = append(request, `,"drop":"`...)
	request = t.appendDrop(request)
	request = append(request, `"}`...)
	return ws.AppendClientFrame(b, ws.OpText, request)
}

// answered takes a tap off the list. ok is false for an id that waits for nothing.
func (p *player) answered(id int64) (t tap, ok bool) {
	for i, t := range p.pending {
		if t.id == id {
			last := len(p.pending) - 1
			p.pending[i] = p.pending[last]
			p.pending = p.pending[:last]
			return t, true
		}
	}
	return tap{}, false
}

// campaign is where the player plays: they are spread over the campaigns in turn.
func (p *player) campaign(of []string) string { return of[p.id%len(of)] }

// hello is the first message of a connection.
func (p *player) hello(campaigns []string) []byte {
	return ws.AppendClientFrame(nil, ws.OpText, wire.Encode(map[string]any{
		"type": wire.TypeHello, "id": 1, "token": p.token,
		"campaign": p.campaign(campaigns),
	}))
}
