package bench

import (
	"bytes"
	"math/bits"

	"redrain/internal/wire"
	"redrain/rain"
)

// wave is a wave of a campaign, read once for all players of a loop.
type wave struct {
	n, at       int64 // at in ms of the server
	drops       []drop
	raw         []byte // as it came
	first, last int64  // when the first and the last player of the loop got it, ns
	gone        int64  // when its last drop has landed, ms of the server
}

// drop is one that pays.
type drop struct {
	k    int32
	fall int32 // ms
}

// view is what a loop knows of a campaign: its waves and rains. All players of the loop share it.
type view struct {
	waves map[int64]*wave
	rains map[string]*shower
	told  []byte  // the last message about a rain, as it came
	tells *shower // what it says
	phase rain.Phase
}

func newView() *view { return &view{waves: map[int64]*wave{}, rains: map[string]*shower{}} }

// wave finds the wave of a message. Only the first of its players has it read; fresh tells that. It is nil where
// the message is no wave, or another one of the same number.
func (s *view) wave(line []byte) (w *wave, fresh bool) {
	if n, ok := scanWaveNumber(line); ok {
		if known := s.waves[n]; known != nil {
			if bytes.Equal(known.raw, line) {
				return known, false
			}
			return nil, false
		}
	}
	m, ok := readWave(line)
	if !ok {
		return nil, false
	}
	w = s.waves[m.N]
	if w != nil {
		return w, false // in a spelling that the scanner does not know
	}
	w = &wave{n: m.N, at: m.At, raw: bytes.Clone(line)}
	for _, d := range m.Drops {
		if d[2] == int(rain.Packet) { // a person sees that a decoy is none
			w.drops = append(w.drops, drop{int32(d[0]), int32(d[3])}) //nolint:gosec // 400 drops a second, 20 s
			w.gone = max(w.gone, m.At+int64(d[3]))
		}
	}
	s.waves[m.N] = w
	return w, true
}

// shower is what is known of a rain without its seed: when its waves come.
type shower struct {
	rain  rain.Rain
	full  []int64 // the numbers of the waves that are not empty
	ended int64   // ms of the server
}

func (s *view) shower(r *wire.Rain) *shower {
	if r == nil {
		return nil
	}
	w := s.rains[r.ID]
	if w == nil {
		w = &shower{rain: rain.Rain{
			ID: r.ID, StartsAt: r.StartsAt, DurationMS: r.DurationMS, DropsPerSecond: r.DropsPerSecond,
			FallMS: r.FallMS, FirstWave: r.FirstWave,
		}}
		for n := r.FirstWave; n < r.FirstWave+w.rain.Waves(); n++ {
			if len(w.rain.Wave(n).Drops) > 0 {
				w.full = append(w.full, n)
			}
		}
		s.rains[r.ID] = w
	}
	w.ended = r.EndsAt
	return w
}

// tell takes in how a rain stands; line is the message, or nil where it came with something else.
func (s *view) tell(r *wire.Rain, line []byte) {
	s.told, s.tells, s.phase = line, s.shower(r), ""
	if r != nil {
		s.phase = r.Phase
	}
}

// due counts the waves from number first whose moment is before until, a time of the server in ms.
func (w *shower) due(first, until int64) int64 {
	count := int64(0)
	for _, n := range w.full {
		if n >= first && w.rain.WaveAt(n) < until {
			count++
		}
	}
	return count
}

// presence is the time that a player sees one rain without interruption: which of its waves should have come, and
// which have. A wave is expected if its moment, when it appears at the top of the screen, is in that time.
type presence struct {
	shower *shower // nil: it does not rain for the player
	first  int64   // the first wave that is expected
}

// waveWindow holds the waves that a player has received: the highest number, and a bit for it and each of the 63
// before it.
type waveWindow struct {
	last   int64
	recent uint64
	count  int64 // since the presence began, of the waves that it expects or that are to come
}

// hear notes a wave, and tells whether it is new to the player.
func (e *waveWindow) hear(n, first int64) bool {
	switch d := n - e.last; {
	case e.recent == 0 || d >= 64:
		e.recent, e.last = 1, n
	case d > 0:
		e.recent, e.last = e.recent<<d|1, n
	case d > -64 && e.recent&(1<<-d) == 0:
		e.recent |= 1 << -d
	default:
		return false
	}
	if n >= first {
		e.count++
	}
	return true
}

// from counts the waves heard of whose number is n or above, as far back as the window reaches.
func (e *waveWindow) from(n int64) int64 {
	switch d := e.last - n; {
	case d < 0 || e.recent == 0:
		return 0
	case d >= 63:
		return int64(bits.OnesCount64(e.recent))
	default:
		return int64(bits.OnesCount64(e.recent & (1<<(d+1) - 1)))
	}
}

// begin opens a presence at a time of the server.
func (p *presence) begin(s *shower, now int64, e *waveWindow) {
	p.shower = s
	if s == nil {
		return
	}
	p.first = s.rain.FirstWave
	if late := now - s.rain.StartsAt; late > 0 {
		p.first += (late + rain.WaveMS - 1) / rain.WaveMS
	}
	e.count = e.from(p.first)
}

// end closes it and tells how many waves were expected and have come.
func (p *presence) end(now int64, e *waveWindow) (expected, received int64) {
	s := p.shower
	if s == nil {
		return 0, 0
	}
	p.shower = nil
	until := min(now, s.ended)
	expected = s.due(p.first, until)
	received = e.count
	next := s.rain.FirstWave // the first wave that is not expected any more
	if d := until - s.rain.StartsAt; d > 0 {
		next += (d + rain.WaveMS - 1) / rain.WaveMS
	}
	received -= e.from(max(next, p.first))
	return expected, received
}
