// Package outcome names the outcomes of a tap. The wire, the metrics and the reports share one table of names; inside
// the process an outcome is a number.
package outcome

import (
	"encoding/json"

	"redrain/rain"
)

// Outcome is the result of a tap. The zero value is Unavailable: nothing is known to be decided.
type Outcome uint8

// The outcomes.
const (
	Unavailable Outcome = iota // nothing is known to be decided: to be tapped again
	Won
	Already     // the player has all the wins allowed
	SoldOut     // nothing is left of the campaign for the player
	NotOpen     // no rain, countdown, paused or ended
	Limited     // the player's taps are used up, or the quota of their address
	Empty       // a decoy; or nothing could be had just now, by the pacing or because stock is in flight
	Late        // the drop has landed
	UnknownDrop // there is no such drop, or not yet
	TooFast     // more taps per second than allowed
)

// Count is the number of outcomes. They are the numbers below it.
const Count = len(names)

// names are the outcomes' names, which the protocol, the metrics and the reports share.
var names = [...]string{
	Unavailable: "unavailable", Won: "won", Already: "already", SoldOut: "sold_out", NotOpen: "not_open",
	Limited: "limited", Empty: "empty", Late: "late", UnknownDrop: "unknown_drop", TooFast: "too_fast",
}

// All returns every outcome there is.
func All() []Outcome {
	all := make([]Outcome, Count)
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// Decided returns the outcomes that are results of the game: all but Unavailable.
func Decided() []Outcome { return All()[1:] }

// String returns the outcome's name.
func (o Outcome) String() string { return names[o] }

// MarshalText makes the outcome its name in JSON, also as the key of a map.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Counts are the numbers of taps by outcome.
type Counts map[Outcome]int64

// UnmarshalJSON reads counts by the outcomes' names. It ignores unknown names: while an update rolls through, another
// version of this program may count more.
func (c *Counts) UnmarshalJSON(data []byte) error {
	var named map[string]int64
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	*c = make(Counts, len(named))
	for _, o := range All() {
		if n, there := named[o.String()]; there {
			(*c)[o] = n
		}
	}
	return nil
}

// Result is the answer to a tap. Packet and Amount are those of a win; with any other outcome they are zero.
type Result struct {
	Outcome Outcome
	Packet  int
	Amount  rain.Money
}
