package pipeline

import (
	"time"
)

// ripeTogether is how much younger than the oldest one wins may be that are posted with it: it waits that much longer.
const ripeTogether = 250 * time.Millisecond

// ripening is what of some entries is to be posted together, and for how long it has to wait before, so that no win is
// younger than least. Messages come in the order of their wins, more or less; one that comes again is older. What is
// dated into the future waits no longer than a win of now.
func ripening(of []delivery, now int64, least time.Duration) (batch []delivery, wait time.Duration) {
	if least <= 0 {
		return of, 0
	}
	now -= least.Milliseconds() // wins of before are old enough
	youngest := max(of[0].wonAt(), now)
	until := min(youngest, now+least.Milliseconds()) + ripeTogether.Milliseconds()
	n := 1
	for ; n < len(of) && of[n].wonAt() <= until; n++ {
		youngest = max(youngest, of[n].wonAt())
	}
	return of[:n], min(time.Duration(youngest-now)*time.Millisecond, least)
}

// wonAt is when the wins of an entry were won, Unix ms. What holds none is as old as can be.
func (d *delivery) wonAt() int64 {
	if len(d.entry.Wins) == 0 {
		return 0
	}
	at, _, _ := d.entry.Ref.Position() // decoding has seen that there is one
	return at
}
