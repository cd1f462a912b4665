package bench

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
)

// view holds the waves and rains of a campaign for its players. Each message is decoded once for all.
type view struct {
	mu       sync.Mutex
	messages map[string]*wave   // by the JSON of the message
	waves    map[int64]*wave    // by number
	showers  map[string]*shower // by the rain's id
}

func newView() *view {
	return &view{messages: map[string]*wave{}, waves: map[int64]*wave{}, showers: map[string]*shower{}}
}

// wave is a wave of a campaign.
type wave struct {
	n, at  int64 // at in ms of the server
	drops  []packet
	landed int64 // landing of its last drop, ms of the server

	first time.Time    // first arrival at a player
	last  atomic.Int64 // last arrival at a player, ns after first
}

// packet is a drop that may pay.
type packet struct {
	k      int
	fallMS int
}

var (
	errShape   = errors.New("a message of another shape")
	errDiffers = errors.New("a wave that differs from what others got")
)

// readWave returns the wave of a message that arrived at now. All players get the same wave under a number.
func (v *view) readWave(body []byte, now time.Time) (*wave, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w := v.messages[string(body)]; w != nil {
		return w, nil
	}
	var m wire.Wave
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, errShape
	}
	w := &wave{n: m.N, at: m.At, first: now}
	for _, d := range m.Drops {
		if d[2] == int(rain.Packet) { // a person sees that a decoy is not a packet
			w.drops = append(w.drops, packet{d[0], d[3]})
			w.landed = max(w.landed, m.At+int64(d[3]))
		}
	}
	if known := v.waves[m.N]; known != nil {
		if known.at != w.at || !slices.Equal(known.drops, w.drops) {
			return nil, errDiffers
		}
		w = known // in another encoding
	}
	v.waves[m.N], v.messages[string(body)] = w, w
	return w, nil
}

// noteLast records that a player got the wave.
func (w *wave) noteLast(now time.Time) {
	after := int64(now.Sub(w.first))
	last := w.last.Load()
	for after > last && !w.last.CompareAndSwap(last, after) {
		last = w.last.Load()
	}
}

// spreads returns the times between the first and the last arrival of a wave, for the waves since a moment.
func (v *view) spreads(since time.Time) []time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []time.Duration
	for _, w := range v.waves {
		if last := w.last.Load(); !w.first.Before(since) && last > 0 {
			all = append(all, time.Duration(last))
		}
	}
	return all
}

// shower holds the times of a rain's waves, which are known without its seed.
type shower struct {
	rain rain.Rain
	full []int64      // the numbers of the waves that are not empty
	ends atomic.Int64 // ms of the server
}

// rain returns the shower of a rain; nil for none.
func (v *view) rain(r *wire.Rain) *shower {
	if r == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.showers[r.ID]
	if s == nil {
		s = &shower{rain: rain.Rain{ID: r.ID, StartsAt: r.StartsAt, Settings: r.Settings, FirstWave: r.FirstWave}}
		for n := r.FirstWave; n < r.FirstWave+s.rain.Waves(); n++ {
			if len(s.rain.Wave(n).Drops) > 0 {
				s.full = append(s.full, n)
			}
		}
		v.showers[r.ID] = s
	}
	s.ends.Store(r.EndsAt)
	return s
}

// waveSet is a set of waves' numbers, a bit for each.
type waveSet []uint64

// add adds a wave, and reports whether it is new.
func (s *waveSet) add(n int64) bool {
	for int64(len(*s)) <= n/64 {
		*s = append(*s, 0)
	}
	if s.has(n) {
		return false
	}
	(*s)[n/64] |= 1 << (n % 64)
	return true
}

func (s *waveSet) has(n int64) bool { return int64(len(*s)) > n/64 && (*s)[n/64]&(1<<(n%64)) != 0 }

// presence is the time for which a player sees one rain without interruption. A wave is expected if its moment, the
// appearance at the top of the screen, is in that time.
type presence struct {
	shower *shower // nil: no rain
	from   int64   // ms of the server
}

// end ends the presence, and counts the expected waves and the received ones among them.
func (p *presence) end(now int64, seen *waveSet) (expected, received int64) {
	s := p.shower
	if s == nil {
		return 0, 0
	}
	p.shower = nil
	until := min(now, s.ends.Load())
	for _, n := range s.full {
		if at := s.rain.WaveAt(n); at >= p.from && at < until {
			expected++
			if seen.has(n) {
				received++
			}
		}
	}
	return expected, received
}

// serverClock is an estimate of a server's clock.
type serverClock struct {
	mu     sync.Mutex
	offset int64         // the server's time minus ours, ns
	rtt    time.Duration // round-trip time of the sample, which bounds its error; 0: no sample
}

// sample adds a sample of the server's clock, if it is better than the last one.
func (c *serverClock) sample(sent, received time.Time, serverMS int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rtt := max(received.Sub(sent), 1)
	if c.rtt > 0 && rtt > c.rtt {
		return
	}
	// The server's time is truncated to milliseconds.
	c.offset = serverMS*int64(time.Millisecond) + int64(time.Millisecond)/2 - sent.Add(rtt/2).UnixNano()
	c.rtt = rtt
}

// serverMS converts a moment to the server's clock.
func (c *serverClock) serverMS(at time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (at.UnixNano() + c.offset) / int64(time.Millisecond)
}
