package rain

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Settings are an operator's choices for a rain, apart from its start. Times are in milliseconds. The JSON names are
// also the columns of the ledger.
//
// The tags of a field are the only place of its limits and its default. The tag range holds the least and the most, as
// an error message shows them. The tag zero says the meaning of 0.
type Settings struct {
	DurationMS     int64  `default:"10000"      json:"duration_ms"      range:"1,000..600,000"`
	DropsPerSecond int    `default:"8"          json:"drops_per_second" range:"1..400"`
	FallMS         int64  `default:"4000"       json:"fall_ms"          range:"500..20,000"`
	DecoyPercent   int    `json:"decoy_percent" range:"0..100"`
	Pacing         Pacing `default:"none"       json:"pacing"`
	Odds           Odds   `json:"odds"` // of a player's draw in a beat; 1: there are no draws
	BeatMS         int64  `default:"1000"       json:"beat_ms"          range:"250..10,000"`
}

// bounds are the limits of a whole number in a struct, from its tags.
type bounds struct {
	field       int
	name        string // in JSON
	least, most int64
	rule        string // "is 0 (no limit) to 100"
}

// The limits of requests.
var (
	settingsBounds = boundsOf[Settings]()
	specBounds     = boundsOf[Spec]()
)

// boundsOf reads the tags range and zero of a struct's fields.
func boundsOf[T any]() (all []bounds) {
	for f := range reflect.TypeFor[T]().Fields() {
		least, most, found := strings.Cut(f.Tag.Get("range"), "..")
		if !found {
			continue
		}
		b := bounds{field: f.Index[0], name: f.Tag.Get("json"), least: number(least), most: number(most)}
		if zero := f.Tag.Get("zero"); zero != "" {
			least += " (" + zero + ")"
		}
		b.rule = "is " + least + " to " + most
		all = append(all, b)
	}
	return all
}

// number parses a number of a tag. Commas may separate its thousands.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// checkBounds records a fault of each number in a struct that is outside its limits. A stored number has one limit: it
// is not below 0.
func (e *Invalid) checkBounds(of any, all []bounds, stored bool) {
	v := reflect.Indirect(reflect.ValueOf(of))
	for _, b := range all {
		if stored {
			b.least, b.most, b.rule = 0, math.MaxInt64, "is not below 0"
		}
		between(e, b.name, v.Field(b.field).Int(), b.least, b.most, "%s", b.rule)
	}
}

// withDefaults returns a T with the default of each field, from its tag.
func withDefaults[T any]() (t T) {
	v := reflect.ValueOf(&t).Elem()
	for f := range v.Type().Fields() {
		value, found := f.Tag.Lookup("default")
		switch field := v.FieldByIndex(f.Index); {
		case found && field.CanInt():
			field.SetInt(number(value))
		case found:
			field.SetString(value)
		}
	}
	return t
}
