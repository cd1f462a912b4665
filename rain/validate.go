package rain

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of the contract that are not tags of a field.
const (
	MaxPackets     = 100_000_000
	MaxShards      = 256
	MaxNameLen     = 200 // bytes
	MaxSponsorLen  = 64  // bytes
	maxExpiresInMS = 366 * 24 * 3_600_000
	MaxAheadMS     = 7 * 24 * 3_600_000
)

// FieldError is one fault of a request and the field that has it.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Invalid is every fault of a request at once.
type Invalid []FieldError

// Error joins the faults.
func (e Invalid) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.Field + ": " + f.Message
	}
	return strings.Join(parts, "; ")
}

// add records a fault.
func (e *Invalid) add(field, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// between records a fault of a number that is not least to most.
func between[N ~int | ~int64](e *Invalid, field string, v, least, most N, rule string, args ...any) {
	if v < least || v > most {
		e.add(field, rule, args...)
	}
}

// orNil returns a nil error if there is no fault; an empty Invalid would be a non-nil error.
func (e Invalid) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// DefaultSpec returns a campaign with the contract's defaults, to be decoded into.
func DefaultSpec() Spec { return withDefaults[Spec]() }

// DefaultSplit returns the split of DefaultSpec, to be decoded into.
func DefaultSplit() SplitSpec {
	s := DefaultSpec()
	return s.SplitSpec()
}

// CheckSponsor returns an error unless an id can be a sponsor's: letters and digits of any script. The id becomes
// part of an account's id and of a URL path.
func CheckSponsor(id string) error {
	if id == "" || len(id) > MaxSponsorLen {
		return fmt.Errorf("is 1 to %d bytes", MaxSponsorLen)
	}
	for _, r := range id {
		seen := r != utf8.RuneError && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
		if !seen || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r) {
			return fmt.Errorf("holds letters, digits, and - _ . only")
		}
	}
	return nil
}

// Validate returns an Invalid that names every faulty field, or nil.
func (s *Spec) Validate() error {
	var e Invalid
	if err := CheckText(s.Name, MaxNameLen); err != nil {
		e.add("name", "%s", err)
	}
	if err := CheckSponsor(s.Sponsor); err != nil {
		e.add("sponsor", "%s", err)
	}
	split := s.SplitSpec()
	split.validateSize(&e)
	e.checkBounds(s, specBounds, false)
	if s.Players != nil {
		if err := CheckList(s.Players.List); err != nil {
			e.add("players.list", "%s", err)
		}
	}
	s.validateLanes(&e)
	split.validateBounds(&e)
	return e.orNil()
}

// Validate returns an Invalid that names every faulty field, or nil, as Spec.Validate does.
func (s *SplitSpec) Validate() error {
	var e Invalid
	s.validateSize(&e)
	s.validateBounds(&e)
	return e.orNil()
}

func (s *SplitSpec) validateSize(e *Invalid) {
	between(e, "budget", s.Budget, 1, MaxBudget, "is required: 1 to %d minor units", int64(MaxBudget))
	between(e, "packets", s.Packets, 1, MaxPackets, "is required: 1 to %d", MaxPackets)
}

const splitRule = "is one of double_mean, low_variance, gaussian, even, list"

// validateBounds checks the bounds of the packets against the budget. It compares by division, because
// packets × min may overflow.
func (s *SplitSpec) validateBounds(e *Invalid) {
	switch s.Split {
	case DoubleMean, LowVariance, Gaussian, Even:
		if s.Amounts != nil {
			e.add("amounts", "goes with the split %q only", List)
		}
	case List:
		s.validateList(e)
	default:
		e.add("split", splitRule)
	}
	if s.Min < 1 || s.Min > MaxBudget {
		e.add("min", "is 1 to %d minor units", MaxBudget)
		return
	}
	if s.Max != nil && *s.Max < s.Min {
		e.add("max", "is less than min")
		return
	}
	if s.Packets < 1 || s.Budget < 1 {
		return // reported by validateSize
	}
	if s.Budget/Money(s.Packets) < s.Min {
		e.add("budget", "is less than packets × min (%d × %d)", s.Packets, s.Min)
	}
	if s.Max != nil && (s.Budget-1)/Money(s.Packets) >= *s.Max {
		e.add("budget", "is more than packets × max (%d × %d)", s.Packets, *s.Max)
	}
}

func (s *SplitSpec) validateList(e *Invalid) {
	if len(s.Amounts) != s.Packets {
		e.add("amounts", "holds %d amounts for %d packets", len(s.Amounts), s.Packets)
		return
	}
	for i, a := range s.Amounts {
		if a < s.Min || a > MaxBudget || (s.Max != nil && a > *s.Max) {
			e.add("amounts", "amount %d of the list, %d, is outside min and max", i+1, a)
			return
		}
	}
	switch total, err := Sum(s.Amounts); {
	case err != nil:
		e.add("amounts", "%s", err)
	case total != s.Budget:
		e.add("amounts", "add up to %d, not to the budget", total)
	}
}

// Validate returns an Invalid that names every faulty field, or nil. now is the cluster's time.
func (s *RainSpec) Validate(now int64) error {
	var e Invalid
	switch {
	case s.StartsAt != nil && s.StartsInMS != nil:
		e.add("starts_at", "goes without starts_in_ms")
	case s.StartsInMS != nil:
		between(&e, "starts_in_ms", *s.StartsInMS, 0, MaxAheadMS, "is 0 to %d, seven days", int64(MaxAheadMS))
	case s.StartsAt != nil:
		between(&e, "starts_at", *s.StartsAt, now, now+MaxAheadMS, "is from now (%d) to seven days ahead", now)
	}
	e.checkBounds(&s.Settings, settingsBounds, false)
	if s.Pacing != PacingNone && s.Pacing != PacingEven {
		e.add("pacing", "is %s or %s", PacingEven, PacingNone)
	}
	if !s.Odds.valid() {
		e.add("odds", oddsRule)
	}
	return e.orNil()
}

// CheckStored returns the faults of a campaign that was read from a database, or nil. Every row that redrain stores
// passes, so a faulty row was tampered with. It must not be computed with: numbers outside their limits make endless
// loops and slices of a negative length. SplitSpec.Validate checks that given amounts add up to the budget, because
// it reads each of them.
func (c *Campaign) CheckStored() error {
	var e Invalid
	split := c.SplitSpec()
	split.validateSize(&e)
	switch {
	case !slices.Contains(SplitKinds(), c.Split):
		e.add("split", splitRule)
	case c.Split == List && len(c.Amounts) != c.Packets:
		e.add("amounts", "holds %d amounts for %d packets", len(c.Amounts), c.Packets)
	}
	if c.Min < 1 || c.Max != nil && *c.Max < c.Min {
		e.add("min", "is above 0 and not above max")
	}
	between(&e, "shards", c.Shards, 1, MaxShards, "is 1 to %d", MaxShards)
	c.validateLanes(&e)
	e.checkBounds(&c.Spec, specBounds, true)
	if c.Players != nil && CheckList(c.Players.List) != nil {
		e.add("players.list", "%q is not the name of a list", c.Players.List)
	}
	if !slices.Contains([]Status{Loading, Open, Paused, Closed}, c.Status) {
		e.add("status", "%q is not a status", c.Status)
	}
	if c.CreatedAt < 0 || c.ExpiresAt < 0 || c.Revision < 0 {
		e.add("created_at", "created_at, expires_at and revision are not below 0")
	}
	if !utf8.ValidString(c.ID + c.Name + c.Sponsor) {
		e.add("name", "the id, the name and the sponsor are UTF-8")
	}
	for i := range c.Rains {
		c.Rains[i].checkStored(i, &e)
	}
	return e.orNil()
}

// checkStored is CheckStored of the i-th rain.
func (r *Rain) checkStored(i int, e *Invalid) {
	field := fmt.Sprintf("rains[%d]", i)
	if r.ID == "" || !utf8.ValidString(r.ID) {
		e.add(field, "has no valid id")
	}
	if r.DurationMS < 0 || r.DurationMS > maxExpiresInMS || r.FallMS < 1 || r.FallMS > maxExpiresInMS ||
		r.DropsPerSecond < 1 || r.DropsPerSecond > MaxDropsPerSecond || r.DecoyPercent < 0 || r.DecoyPercent > 100 {
		e.add(field, "has a duration_ms, drops_per_second, fall_ms or decoy_percent out of bounds")
	}
	if r.Pacing != PacingNone && r.Pacing != PacingEven {
		e.add(field, "has an unknown pacing, %q", r.Pacing)
	}
	if _, ok := r.OddsRecord.List(); !ok || !r.Odds.valid() || r.Draws() && r.BeatMS < WaveMS {
		e.add(field, "has invalid odds, beat_ms or odds_record")
	}
	if r.StartsAt < 0 || r.StoppedAt < 0 || r.FirstWave < 0 {
		e.add(field, "starts_at, stopped_at and first_wave are not below 0")
	}
}
