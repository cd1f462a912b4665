package rain

// TapClass is what the schedule alone says of a tap, without I/O.
type TapClass int

// The classes of a tap.
const (
	InAir       TapClass = iota // a packet in the air: the grab script decides who gets it
	IsDecoy                     // a decoy in the air
	UnknownDrop                 // the drop does not exist, or has not appeared yet
	TooLate                     // the drop has landed, or is one of an earlier rain
	NotOpen                     // no rain falls: there is none, it counts down, is paused or has ended
)

// Classify looks a tap up in the schedule: whether the drop exists, and whether it is in the air at now,
// the cluster's time. paused tells whether the campaign is paused. A nil rain is NotOpen.
func (r *Rain) Classify(id DropID, now int64, paused bool) TapClass {
	if r == nil || paused || now < r.StartsAt || now >= r.TapsUntil() {
		return NotOpen
	}
	if id.N < r.FirstWave {
		return TooLate
	}
	if id.K >= r.drops(id.N) || now < r.WaveAt(id.N) {
		return UnknownDrop
	}
	d := r.drop(id.N, id.K)
	if now >= r.WaveAt(id.N)+d.FallMS+GraceMS {
		return TooLate
	}
	if d.Kind == Decoy {
		return IsDecoy
	}
	return InAir
}
