package bench

import "time"

// pace is an open loop's timetable: taps at even distances, whether or not the server keeps up with them. The zero
// pace has none.
type pace struct {
	every float64 // ns between two taps of this loop; 0: no taps
	start int64   // ns
	count int64   // of taps that were due
	turn  int     // the player whose turn it is
}

// newPace is the timetable of a loop that has some of all players.
func newPace(rate float64, players, all int, start int64) pace {
	return pace{every: float64(time.Second) * float64(all) / (rate * float64(players)), start: start}
}

// due is when the next tap is to be sent.
func (c *pace) due() int64 { return c.start + int64(c.every*float64(c.count)) }
