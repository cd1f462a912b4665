package rain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Odds are the chance of a player's draw in a beat, in billionths, so that all checkers of a rain compute with the
// same integers. The zero value is the default: there are no draws, and every drop that holds a packet can win.
type Odds int64

// The special odds. They are not billionths.
const (
	OddsCertain Odds = 0
	OddsAuto    Odds = -1 // set while the rain falls, from the stock that is left and the players who are present
	oddsInvalid Odds = math.MinInt64
)

// OddsOne is the odds of a draw that always wins.
const OddsOne Odds = 1_000_000_000

// autoName is the text of OddsAuto.
const autoName = "auto"

// valid reports whether a rain may have the odds.
func (o Odds) valid() bool { return o == OddsCertain || o == OddsAuto || o > 0 && o < OddsOne }

// String returns the odds as an operator writes them: 1, 0.25, auto.
func (o Odds) String() string {
	switch {
	case o == OddsCertain || o == OddsOne:
		return "1"
	case o == OddsAuto:
		return autoName
	case o < 0 || o > OddsOne:
		return "invalid"
	}
	return "0." + strings.TrimRight(fmt.Sprintf("%09d", int64(o)), "0")
}

// ParseOdds is the inverse of String. RainSpec.Validate refuses invalid odds, among the other faults.
func ParseOdds(text string) Odds {
	if text == autoName {
		return OddsAuto
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(f > 0) || f > 1:
		return oddsInvalid
	case f == 1:
		return OddsCertain
	}
	switch o := Odds(math.Round(f * float64(OddsOne))); o {
	case 0:
		return oddsInvalid // less than a billionth
	case OddsOne:
		return OddsOne - 1
	default:
		return o
	}
}

// MarshalJSON writes a number, or "auto".
func (o Odds) MarshalJSON() ([]byte, error) {
	if o == OddsAuto {
		return json.Marshal(autoName)
	}
	if !o.valid() && o != OddsOne {
		return json.Marshal("invalid")
	}
	return []byte(o.String()), nil
}

// UnmarshalJSON reads a number, or "auto".
func (o *Odds) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil // as if it were left out
	}
	quoted := bytes.HasPrefix(text, []byte(`"`))
	if *o = ParseOdds(strings.Trim(string(text), `"`)); quoted != (*o == OddsAuto) {
		*o = oddsInvalid // "0.5" in quotes is not a number
	}
	return nil
}

// UnmarshalText reads the value of a flag.
func (o *Odds) UnmarshalText(text []byte) error {
	if *o = ParseOdds(string(text)); *o == oddsInvalid {
		return fmt.Errorf("%s", oddsRule)
	}
	return nil
}

// oddsRule describes valid odds to an operator.
const oddsRule = `is a number above 0 and up to 1, or "auto"`

// below reports whether a draw wins at the odds: whether the luck is in the lowest part of all 2^64 that the odds
// give.
func (o Odds) below(luck uint64) bool {
	if o >= OddsOne {
		return true
	}
	if o <= 0 {
		return false
	}
	threshold, _ := bits.Div64(uint64(o), 0, uint64(OddsOne)) // o × 2^64 / 10^9
	return luck < threshold
}

// OddsRecord holds the odds that a rain with OddsAuto has had: "<first beat>:<odds>" for each change, in the order of
// the beats, separated by spaces. With lanes a change is "<first beat>:<odds>:<guests' odds>". It is text because the
// rain stores it unchanged.
type OddsRecord string

// OddsStart applies to a rain with OddsAuto until its odds are set for the first time: it was scheduled too shortly
// before its start.
const OddsStart = OddsOne / 10

// OddsLeadMS is the time between setting odds and their first beat, in milliseconds. By then every node has received
// them.
const OddsLeadMS = 2_000

// oddsLateMS is the time for which a node may still use the odds before, in milliseconds: it had not received newer
// ones. A win at these odds is paid, because the player was notified of it.
const oddsLateMS = 10_000

// OddsFrom holds the odds from a beat on.
type OddsFrom struct {
	Beat   int64 `json:"beat"`
	Odds   Odds  `json:"odds"`
	Guests Odds  `json:"-"` // of the guests' lane; 0: the campaign has one lane
}

// in returns the odds in a lane.
func (f OddsFrom) in(lane Lane) Odds {
	if lane == LaneGuests && f.Guests != 0 {
		return f.Guests
	}
	return f.Odds
}

// parseOddsFrom parses one change of a record.
func parseOddsFrom(text string) (f OddsFrom, ok bool) {
	beat, odds, _ := strings.Cut(text, ":")
	odds, guests, lanes := strings.Cut(odds, ":")
	b, ok1 := ParseInt(beat)
	o, ok2 := ParseInt(odds)
	g, ok3 := int64(0), true
	if lanes {
		g, ok3 = ParseInt(guests)
		ok3 = ok3 && g > 0
	}
	f = OddsFrom{b, Odds(o), Odds(g)}
	return f, ok1 && ok2 && ok3 && o > 0 && f.Odds <= OddsOne && f.Guests <= OddsOne
}

// List parses the record. ok is false if the text is not a record.
func (r OddsRecord) List() (list []OddsFrom, ok bool) {
	if r == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(string(r), " ") {
		one, ok := parseOddsFrom(part)
		if !ok || len(list) > 0 && one.Beat <= list[len(list)-1].Beat {
			return nil, false
		}
		list = append(list, one)
	}
	return list, true
}

// Lists returns the changes of the players' odds, and of the guests' if these have their own lane.
func (r OddsRecord) Lists() (players, guests []OddsFrom) {
	players, _ = r.List() // the stored record was checked
	for _, one := range players {
		if one.Guests != 0 {
			guests = append(guests, OddsFrom{Beat: one.Beat, Odds: one.Guests})
		}
	}
	return players, guests
}

// OddsRecordOf is the inverse of OddsRecord.Lists. ok is false if the changes cannot be a record.
func OddsRecordOf(players, guests []OddsFrom) (r OddsRecord, ok bool) {
	if len(guests) > 0 && len(guests) != len(players) {
		return "", false
	}
	for i, one := range players {
		if one.Odds == OddsCertain {
			one.Odds = OddsOne // both are written 1
		}
		if len(guests) > 0 {
			if guests[i].Beat != one.Beat {
				return "", false
			}
			if one.Guests = guests[i].Odds; one.Guests == OddsCertain {
				one.Guests = OddsOne
			}
		}
		r = r.with(one)
	}
	_, ok = r.List()
	return r, ok
}

// with returns the record with one more change, of a beat after all others.
func (r OddsRecord) with(next OddsFrom) OddsRecord {
	text := strconv.FormatInt(next.Beat, 10) + ":" + strconv.FormatInt(int64(next.Odds), 10)
	if next.Guests != 0 {
		text += ":" + strconv.FormatInt(int64(next.Guests), 10)
	}
	if r == "" {
		return OddsRecord(text)
	}
	return r + " " + OddsRecord(text)
}

// before returns the last change of the record that begins at a beat or before it, and the text before that change.
// If there is none, ok is false. It reads from the end, because callers nearly always ask about recent beats.
func (r OddsRecord) before(beat int64) (is OddsFrom, rest OddsRecord, ok bool) {
	for rest = r; rest != ""; {
		var last string
		if i := strings.LastIndexByte(string(rest), ' '); i >= 0 {
			last, rest = string(rest[i+1:]), rest[:i]
		} else {
			last, rest = string(rest), ""
		}
		if is, ok = parseOddsFrom(last); ok && is.Beat <= beat {
			return is, rest, true
		}
	}
	return OddsFrom{}, "", false
}
