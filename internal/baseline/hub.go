package baseline

import (
	"context"
	"encoding/json"
	"time"

	"redrain/rain"
)

// waveLeadMS is how long before its moment a wave is sent; the same as redrain's.
const waveLeadMS = 500

// hub is the room of one campaign. The goroutine of run owns the map of its members.
type hub struct {
	campaign string
	rain     *rain.Rain // nil where none falls

	joining   chan *client
	leaving   chan *client
	broadcast chan []byte
	ended     chan struct{} // closed when run has returned
}

func newHub(campaign string, r *rain.Rain) *hub {
	return &hub{campaign: campaign, rain: r, joining: make(chan *client), leaving: make(chan *client),
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
		case c := <-h.joining:
			members[c] = struct{}{}
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

// fall sends the waves of the rain, each when it is due.
func (h *hub) fall(ctx context.Context) {
	if h.rain == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := range h.rain.Waves() {
		timer.Reset(time.Duration(h.rain.WaveAt(n)-waveLeadMS-time.Now().UnixMilli()) * time.Millisecond)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		select {
		case <-ctx.Done():
			return
		case h.broadcast <- h.wave(n):
		}
	}
}

func (h *hub) wave(n int64) []byte {
	w := h.rain.Wave(n)
	m := wave{Type: "wave", Rain: h.rain.ID, N: w.N, At: w.At, Drops: make([][4]int, len(w.Drops))}
	for i, d := range w.Drops {
		m.Drops[i] = [4]int{d.K, d.X, int(d.Kind), int(d.FallMS)}
	}
	return encode(m)
}

// inAir are the waves that somebody who comes now has missed.
func (h *hub) inAir(now int64) []json.RawMessage {
	if h.rain == nil {
		return nil
	}
	var waves []json.RawMessage
	for n := range h.rain.Waves() {
		if at := h.rain.WaveAt(n); at-waveLeadMS <= now && now < at+h.rain.FallMS {
			waves = append(waves, h.wave(n))
		}
	}
	return waves
}
