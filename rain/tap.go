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
// CheckTicket, and what a player is told must be paid; so there is room for clocks that differ.
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

// CheckTicket returns an error unless a player may have won with a ticket when a gateway sealed their tap, at being its
// time. It allows for clocks that differ, taps that wait, and odds that a node had not heard of. That the rain was
// stopped, or the campaign paused, is not looked at: nodes hear of that one after the other.
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

// CheckLuck returns an error where a player was paid for a ticket with which no seed has let them win: a beat without
// luck, or a drop of a rain in which players have draws. Of any other ticket it has nothing to say; nor, as long as the
// campaign is not closed, of a beat whose odds may have been set since it was read.
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

// drawIn is the rain in which a player has won the draw of a beat.
func (c *Campaign) drawIn(user string, t Ticket) (*Rain, error) {
	r := c.rainOf(t.N)
	if r == nil || r.Draws() && r.firstWaveOf(r.Beat(t.N)) != t.N {
		return nil, errNoBeat
	}
	if !r.Draws() {
		return nil, errNoDraws
	}
	beat := r.Beat(t.N)
	if !r.oddsHeardOf(beat, laneOf(user)).below(Luck(r.Seed, user, beat)) {
		return nil, errUnlucky
	}
	return r, nil
}

// rainOf is the rain that a wave is of; nil where it is of none.
func (c *Campaign) rainOf(wave int64) *Rain {
	i := slices.IndexFunc(c.Rains, func(r Rain) bool { return r.Has(wave) })
	if i < 0 {
		return nil
	}
	return &c.Rains[i]
}

// sealedInAir tells whether a tap on a drop may have been sealed at a time.
func (r *Rain) sealedInAir(wave, fallMS, at int64) bool {
	appears := r.WaveAt(wave)
	return at >= appears-sealSlackMS && at < appears+fallMS+GraceMS+sealSlackMS
}

// beatInAir tells whether a packet of a beat was in the air so that a tap on it may have been sealed at a time.
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
