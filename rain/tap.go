package rain

import (
	"errors"
	"slices"
	"sync/atomic"
)

// TapClass is the outcome of a tap as far as the schedule decides it, without I/O.
type TapClass int

// The classes of a tap.
const (
	InAir       TapClass = iota // a packet in the air: the grab script decides who gets it
	IsDecoy                     // a decoy in the air
	UnknownDrop                 // the drop does not exist, or has not appeared yet
	TooLate                     // the drop has landed, or belongs to an earlier rain
	NotOpen                     // no rain falls: it counts down, is paused, has ended, or does not exist
)

// classifyWave applies the rules that hold for all drops of a wave. It returns InAir if the drop decides.
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

// sealSlackMS is the time for which a tap may have waited before it was sealed, in milliseconds. The nodes' clocks
// differ by less.
const sealSlackMS = 10_000

// SealWithinMS is the time within which a tap must be sealed after it arrived, in milliseconds. CheckTicket may
// refuse a later seal, and a win that a player was notified of must be paid. So it leaves room for clocks that
// differ.
const SealWithinMS = sealSlackMS / 2

// Errors of CheckTicket.
var (
	errNoDrop   = errors.New("no rain of the campaign had such a drop")
	errNoBeat   = errors.New("no rain of the campaign had such a beat")
	errNotInAir = errors.New("the drop was not in the air when the tap was sealed")
	errBeatGone = errors.New("no packet of the beat was in the air when the tap was sealed")
	errIsDecoy  = errors.New("the drop was a decoy")
	errNeedBeat = errors.New("players have draws in the beats of this rain, and no drop wins by itself")
	errNoDraws  = errors.New("players have no draws in this rain: its drops win")
	errUnlucky  = errors.New("the rain's seed did not let the player win in that beat")
)

// CheckTicket returns an error unless a player may have won with a ticket when a gateway sealed their tap, at being
// its time. It allows for clocks that differ, taps that wait, and odds that a node had not received. It does not
// check whether the rain was stopped or the campaign paused: nodes receive these changes one after the other.
func (c *Campaign) CheckTicket(user, ticket string, at int64) error {
	t, ok := ParseTicket(ticket)
	if !ok {
		return errNoDrop
	}
	if t.IsBeat() {
		r, err := c.drawIn(user, t)
		if err != nil {
			return err
		}
		if !r.beatInAir(t, at) {
			return errBeatGone
		}
		return nil
	}
	r := c.rainOf(t.N)
	if r == nil || t.K >= r.drops(t.N) {
		return errNoDrop
	}
	d := r.drop(t.N, t.K)
	switch {
	case r.Draws():
		return errNeedBeat
	case d.Kind == Decoy:
		return errIsDecoy
	case !r.sealedInAir(t.N, d.FallMS, at):
		return errNotInAir
	}
	return nil
}

// CheckLuck returns an error if a player was paid for a losing ticket. A beat without luck loses. So does a single drop
// in a rain with draws. It accepts any other ticket. While the campaign is not closed, it also accepts a beat whose
// odds may have been set since the campaign was read.
func (c *Campaign) CheckLuck(user, ticket string) error {
	t, ok := ParseTicket(ticket)
	switch r := c.rainOf(t.N); {
	case !ok:
		return nil
	case t.IsBeat():
		if r != nil && r.Odds == OddsAuto && c.Status != Closed {
			if last, _ := r.LastOdds(); r.Beat(t.N) > last.Beat {
				return nil
			}
		}
		_, err := c.drawIn(user, t)
		return err
	case r != nil && r.Draws():
		return errNeedBeat
	}
	return nil
}

// drawIn returns the rain in which a player has won the draw of a beat.
func (c *Campaign) drawIn(user string, t Ticket) (*Rain, error) {
	r := c.rainOf(t.N)
	if r == nil || r.Draws() && r.firstWaveOf(r.Beat(t.N)) != t.N {
		return nil, errNoBeat
	}
	if !r.Draws() {
		return nil, errNoDraws
	}
	beat := r.Beat(t.N)
	if !r.staleOdds(beat, laneOf(user)).below(Luck(r.Seed, user, beat)) {
		return nil, errUnlucky
	}
	return r, nil
}

// rainOf returns the rain of a wave; nil if there is none.
func (c *Campaign) rainOf(wave int64) *Rain {
	i := slices.IndexFunc(c.Rains, func(r Rain) bool { return r.Has(wave) })
	if i < 0 {
		return nil
	}
	return &c.Rains[i]
}

// sealedInAir reports whether a tap on a drop may have been sealed at a time.
func (r *Rain) sealedInAir(wave, fallMS, at int64) bool {
	appears := r.WaveAt(wave)
	return at >= appears-sealSlackMS && at < appears+fallMS+GraceMS+sealSlackMS
}

// beatInAir reports whether a packet of a beat was in the air, so that a tap on it may have been sealed at a time.
func (r *Rain) beatInAir(t Ticket, at int64) bool {
	for n := t.N; r.Has(n) && r.Beat(n) == r.Beat(t.N); n++ {
		for k := range r.drops(n) {
			if d := r.drop(n, k); d.Kind == Packet && r.sealedInAir(n, d.FallMS, at) {
				return true
			}
		}
	}
	return false
}

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
