package baseline

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
)

// waveLeadMS is the lead of a wave before its time, as in redrain.
const waveLeadMS = 500

// hub is the room of one campaign. The goroutine of run owns the map of its members.
type hub struct {
	campaign string
	rain     atomic.Pointer[rain.Rain] // nil before the first rain

	joining   chan newcomer
	leaving   chan *client
	broadcast chan []byte
	ended     chan struct{} // closed when run has returned
}

// newcomer is a client that has said hello, with the id of its hello.
type newcomer struct {
	*client

	hello json.RawMessage
}

func newHub(campaign string) *hub {
	return &hub{campaign: campaign, joining: make(chan newcomer), leaving: make(chan *client),
		broadcast: make(chan []byte, 16), ended: make(chan struct{})}
}

// run serves the room until ctx ends.
func (h *hub) run(ctx context.Context) {
	defer close(h.ended)
	members := map[*client]struct{}{}
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-h.joining:
			// Greeted here, between two broadcasts, so that it misses none.
			if h.greet(n) {
				members[n.client] = struct{}{}
			}
		case c := <-h.leaving:
			delete(members, c)
		case message := <-h.broadcast:
			for c := range members {
				select {
				case c.send <- message:
				default: // too slow: it may come again
					delete(members, c)
					c.close()
				}
			}
		}
	}
}

// greet queues the welcome and the waves that have been missed; false where the connection has ended. A connection
// is new: its queue has room.
func (h *hub) greet(n newcomer) bool {
	now := time.Now().UnixMilli()
	if !n.queue(encode(welcome{
		Type: "welcome", ID: n.hello, User: n.user, ServerTime: now, Campaign: wire.Campaign{ID: h.campaign},
		Rain: wire.RainOf(h.rain.Load(), now, false), Claims: []wire.Claim{},
	})) {
		return false
	}
	for _, w := range h.inAir(now) {
		if !n.queue(w) {
			return false
		}
	}
	return true
}

// fall lets a rain fall: it sends the waves, each when it is due.
func (h *hub) fall(ctx context.Context, r *rain.Rain) {
	h.rain.Store(r)
	change := wire.RainChange{Type: wire.TypeRain, Rain: wire.RainOf(r, time.Now().UnixMilli(), false)}
	if !h.sendAll(ctx, encode(change)) {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := range r.Waves() {
		timer.Reset(time.Duration(r.WaveAt(n)-waveLeadMS-time.Now().UnixMilli()) * time.Millisecond)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !h.sendAll(ctx, encodeWave(r, n)) {
			return
		}
	}
}

// sendAll sends a message to all members. It returns false if the hub has ended.
func (h *hub) sendAll(ctx context.Context, message []byte) bool {
	select {
	case <-ctx.Done():
		return false
	case h.broadcast <- message:
		return true
	}
}

func encodeWave(r *rain.Rain, n int64) []byte {
	w := r.Wave(n)
	m := wave{Type: "wave", Rain: r.ID, N: w.N, At: w.At, Drops: make([][4]int, len(w.Drops))}
	for i, d := range w.Drops {
		m.Drops[i] = [4]int{d.K, d.X, int(d.Kind), int(d.FallMS)}
	}
	return encode(m)
}

// inAir are the waves that a member who comes now has missed.
func (h *hub) inAir(now int64) [][]byte {
	r := h.rain.Load()
	if r == nil {
		return nil
	}
	var waves [][]byte
	for n := range r.Waves() {
		if at := r.WaveAt(n); at-waveLeadMS <= now && now < at+r.FallMS {
			waves = append(waves, encodeWave(r, n))
		}
	}
	return waves
}
