package pipeline

import (
	"time"
)

// ripeTogether is how much younger than the oldest one wins may be that are posted with it: it waits that much longer.
const ripeTogether = 250 * time.Millisecond

// ripening is what of some entries is to be posted together, and for how long it has to wait before, so that no win is
// younger than least. Messages come in the order of their wins, more or less; one that comes again is older.
func ripening(of []delivery, now int64, least time.Duration) (batch []delivery, wait time.Duration) {
	if least <= 0 {
		return of, 0
	}
	ripe := now - least.Milliseconds() // wins of before are old enough
	youngest := max(of[0].wonAt(now), ripe)
	until := youngest + ripeTogether.Milliseconds()
	n := 1
	for ; n < len(of) && of[n].wonAt(now) <= until; n++ {
		youngest = max(youngest, of[n].wonAt(now))
	}
	return of[:n], time.Duration(youngest-ripe) * time.Millisecond
}

// wonAt is when the wins of an entry were won, Unix ms. What holds none is as old as can be.
//
// Where its id is of the future, because the clock of a Redis was ahead for a while (see [Relay]), the time counts at
// which its taps were sealed. Nothing is younger than now, so all that is of the future is of one moment.
func (d *delivery) wonAt(now int64) int64 {
	if len(d.entry.Wins) == 0 {
		return 0
	}
	at, _, _ := d.entry.Ref.Position() // decoding has seen that there is one
	if at > now {
		at = min(d.entry.SealedAt, now)
	}
	return at
}
