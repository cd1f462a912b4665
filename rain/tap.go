package rain

import (
	"errors"
	"slices"
)

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
	if class := r.classifyWave(id, now, paused); class != InAir {
		return class
	}
	d := r.drop(id.N, id.K)
	return r.classifyDrop(id.N, d.FallMS, d.Kind == Decoy, now)
}

// classifyWave looks at what the rain says of all drops of a wave; InAir where it depends on the drop.
func (r *Rain) classifyWave(id DropID, now int64, paused bool) TapClass {
	switch {
	case r == nil, paused, now < r.StartsAt, now >= r.TapsUntil():
		return NotOpen
	case id.N < r.FirstWave:
		return TooLate
	case id.K < 0, id.K >= r.drops(id.N), now < r.WaveAt(id.N):
		return UnknownDrop
	case now >= r.WaveAt(id.N)+r.FallMS+GraceMS: // no drop falls longer
		return TooLate
	}
	return InAir
}

// classifyDrop looks at when a drop has landed.
func (r *Rain) classifyDrop(wave, fallMS int64, decoy bool, now int64) TapClass {
	switch {
	case now >= r.WaveAt(wave)+fallMS+GraceMS:
		return TooLate
	case decoy:
		return IsDecoy
	}
	return InAir
}

// sealSlackMS is how much later than its time a tap may have been sealed, in milliseconds: it waited for its turn. The
// nodes' clocks differ by less.
const sealSlackMS = 10_000

// SealWithinMS is how long after it came a tap may be sealed, in milliseconds. What is sealed later may be refused by
// CheckDrop, and what a player is told must be paid; so there is room for clocks that differ.
const SealWithinMS = sealSlackMS / 2

// Errors of CheckDrop.
var (
	errNoDrop   = errors.New("no rain of the campaign had such a drop")
	errNotInAir = errors.New("the drop was not in the air when the tap was sealed")
	errIsDecoy  = errors.New("the drop was a decoy")
)

// CheckDrop returns an error unless a drop may have won when a gateway sealed a tap on it, at being its time. It allows
// for clocks that differ and taps that wait. That the rain was stopped, or the campaign paused, is not looked at: nodes
// hear of that one after the other.
func (c *Campaign) CheckDrop(drop string, at int64) error {
	id, ok := ParseDrop(drop)
	if !ok {
		return errNoDrop
	}
	i := slices.IndexFunc(c.Rains, func(r Rain) bool { return r.Has(id.N) })
	if i < 0 || id.K >= c.Rains[i].drops(id.N) {
		return errNoDrop
	}
	r := &c.Rains[i]
	d := r.drop(id.N, id.K)
	switch appears := r.WaveAt(id.N); {
	case d.Kind == Decoy:
		return errIsDecoy
	case at < appears-sealSlackMS || at >= appears+d.FallMS+GraceMS+sealSlackMS:
		return errNotInAir
	}
	return nil
}
