package bench

import (
	"bytes"

	"redrain/internal/wire"
	"redrain/rain"
)

// wave is a wave of a campaign, read once for all players of a loop.
type wave struct {
	n, at       int64 // at in ms of the server
	drops       []prize
	raw         []byte // as it came
	first, last int64  // when the first and the last player of the loop got it, ns
	gone        int64  // when its last drop has landed, ms of the server
}

// prize is a drop that pays.
type prize struct {
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
			w.drops = append(w.drops, prize{int32(d[0]), int32(d[3])}) //nolint:gosec // 400 drops a second, 20 s
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
