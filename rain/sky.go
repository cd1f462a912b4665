package rain

import "sync/atomic"

// Sky caches the drops of a rain that are in the air. So a drop is not hashed for each player who taps on it. It
// is safe for concurrent use.
type Sky struct {
	rain  *Rain                   // nil: there is none
	waves []atomic.Pointer[falls] // by their numbers, as many as are in the air at once
}

// falls caches the drops of a wave.
type falls struct {
	wave  int64
	drops []fall
}

type fall struct {
	ms    int32
	decoy bool
}

// NewSky makes the sky of a rain, which may be nil and must not change.
func NewSky(r *Rain) *Sky {
	if r == nil {
		return &Sky{}
	}
	return &Sky{rain: r, waves: make([]atomic.Pointer[falls], (r.FallMS+GraceMS)/WaveMS+1)}
}

// Classify looks a tap up in the schedule: whether the drop exists, and whether it is in the air at now, the
// cluster's time. The campaign may be paused. Without a rain it returns NotOpen.
func (s *Sky) Classify(id DropID, now int64, paused bool) TapClass {
	r := s.rain
	if class := r.classifyWave(id, now, paused); class != InAir {
		return class
	}
	slot := &s.waves[id.N%int64(len(s.waves))]
	known := slot.Load()
	if known == nil || known.wave != id.N {
		known = r.falls(id.N)
		slot.Store(known)
	}
	switch d := known.drops[id.K]; {
	case now >= r.WaveAt(id.N)+int64(d.ms)+GraceMS:
		return TooLate
	case d.decoy:
		return IsDecoy
	}
	return InAir
}

func (r *Rain) falls(wave int64) *falls {
	f := &falls{wave, make([]fall, r.drops(wave))}
	for k := range f.drops {
		d := r.drop(wave, k)
		f.drops[k] = fall{int32(d.FallMS), d.Kind == Decoy} //nolint:gosec // at most FallMS, some seconds
	}
	return f
}
