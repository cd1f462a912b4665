package rain

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// defaultBeatMS is the length of a beat in a rain that was made without one.
const defaultBeatMS = 1_000

// Draws reports whether players have one draw in each beat of the rain. Without draws, every drop that holds a packet
// can win.
func (r *Rain) Draws() bool { return r.Odds != OddsCertain }

// Beat returns the number of the beat that a wave belongs to. Beats count from 0 at the rain's start; each is BeatMS
// long.
func (r *Rain) Beat(wave int64) int64 { return (wave - r.FirstWave) * WaveMS / r.beatMS() }

// beatMS returns BeatMS, or its default for a rain that was made without one.
func (r *Rain) beatMS() int64 {
	if r.BeatMS <= 0 {
		return defaultBeatMS
	}
	return r.BeatMS
}

// Beats returns the number of beats of the rain if it is not stopped.
func (r *Rain) Beats() int64 { return r.Beat(r.FirstWave+r.Waves()-1) + 1 }

// BeatOf returns the number of the beat at a time; below 0 before the rain.
func (r *Rain) BeatOf(at int64) int64 {
	ms := r.beatMS()
	beat := (at - r.StartsAt) / ms
	if r.BeatAt(beat) > at {
		beat--
	}
	return beat
}

// BeatAt returns the time at which a beat begins.
func (r *Rain) BeatAt(beat int64) int64 { return r.StartsAt + beat*r.beatMS() }

// firstWaveOf returns the first wave of a beat. Each beat has one, because no beat is shorter than the interval
// between waves.
func (r *Rain) firstWaveOf(beat int64) int64 { return r.FirstWave + (beat*r.beatMS()+WaveMS-1)/WaveMS }

// TicketOf returns the ticket for a tap on a drop: the drop, or its beat if players have draws.
func (r *Rain) TicketOf(drop DropID) Ticket {
	if r == nil || !r.Draws() || !r.Has(drop.N) {
		return drop.Ticket()
	}
	return beatTicket(r.firstWaveOf(r.Beat(drop.N)))
}

// Luck is a player's draw in a beat of the rain with the seed: an unpredictable number, all 64 bits equally likely.
// It is the first eight bytes, big-endian, of a SHA-256. The hash covers "redrain luck v1", a zero byte, the rain's
// seed, the beat as a big-endian 64-bit number, and the player's id. The draw wins if it is below odds × 2^64.
func Luck(seed Seed, user string, beat int64) uint64 {
	const label = "redrain luck v1\x00"
	var room [len(label) + 32 + 8 + MaxUserLen]byte
	in := append(append(room[:0], label...), seed[:]...)
	in = binary.BigEndian.AppendUint64(in, uint64(beat)) //nolint:gosec // not negative
	sum := sha256.Sum256(append(in, user...))
	return binary.BigEndian.Uint64(sum[:])
}

// Lucky reports whether a player's draw of a ticket wins. A ticket that is a drop needs no luck.
func (r *Rain) Lucky(user string, ticket Ticket) bool {
	if !ticket.IsBeat() {
		return true
	}
	return r.LuckyIn(user, r.Beat(ticket.N))
}

// LuckyIn is Lucky for a beat.
func (r *Rain) LuckyIn(user string, beat int64) bool {
	return r.OddsOf(beat, laneOf(user)).below(Luck(r.Seed, user, beat))
}

// laneOf returns the lane whose odds apply to a player. If the campaign has one lane, the record has the same odds
// for all.
func laneOf(user string) Lane {
	if IsGuest(user) {
		return LaneGuests
	}
	return LanePlayers
}

// OddsFor returns the odds of a beat for a player.
func (r *Rain) OddsFor(user string, beat int64) Odds { return r.OddsOf(beat, laneOf(user)) }

// OddsOf returns the odds of a beat in a lane.
func (r *Rain) OddsOf(beat int64, lane Lane) Odds {
	switch r.Odds {
	case OddsCertain:
		return OddsOne
	case OddsAuto:
		if is, _, ok := r.OddsRecord.before(beat); ok {
			return is.in(lane)
		}
		return OddsStart
	}
	return r.Odds
}

// staleOdds returns the best odds that a node may have used in a beat: those of the beat, or earlier ones. The earlier
// ones ended less than oddsLateMS before it.
func (r *Rain) staleOdds(beat int64, lane Lane) Odds {
	best := r.OddsOf(beat, lane)
	if r.Odds != OddsAuto {
		return best
	}
	since := beat - (oddsLateMS+r.beatMS()-1)/r.beatMS()
	for rest, at := r.OddsRecord, beat; ; {
		is, before, ok := rest.before(at)
		if !ok {
			return max(best, OddsStart)
		}
		if best = max(best, is.in(lane)); is.Beat <= since {
			return best
		}
		rest, at = before, is.Beat-1
	}
}

// LastOdds returns the odds that were set last; ok is false if none were set.
func (r *Rain) LastOdds() (last OddsFrom, ok bool) {
	last, _, ok = r.OddsRecord.before(r.Beats())
	return last, ok
}

// SetOdds sets the odds of a rain with OddsAuto from a beat on. The beat must begin OddsLeadMS after now, the
// cluster's time, and after the beats whose odds are set already. Otherwise it changes nothing and returns an error.
func (r *Rain) SetOdds(from OddsFrom, now int64) error {
	switch last, set := r.LastOdds(); {
	case r.Odds != OddsAuto:
		return errors.New("the odds of the rain are fixed")
	case from.Odds < 1 || from.Odds > OddsOne || from.Guests < 0 || from.Guests > OddsOne:
		return errors.New("odds are above 0 and up to 1")
	case from.Beat < 0 || from.Beat >= r.Beats() || r.BeatAt(from.Beat) < now+OddsLeadMS:
		return errors.New("the beat has begun, or begins before every node has received its odds")
	case set && from.Beat <= last.Beat:
		return errors.New("the odds of the beat are set")
	}
	r.OddsRecord = r.OddsRecord.with(from)
	return nil
}
