package rain

import (
	"fmt"
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
	if s.Name == "" || len(s.Name) > MaxNameLen || !utf8.ValidString(s.Name) {
		e.add("name", "is required: 1 to %d bytes of UTF-8", MaxNameLen)
	}
	if err := CheckSponsor(s.Sponsor); err != nil {
		e.add("sponsor", "%s", err)
	}
	split := s.SplitSpec()
	split.validateSize(&e)
	e.checkBounds(s, specBounds)
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
	if s.StartsAt != nil && s.StartsInMS != nil {
		e.add("starts_at", "goes without starts_in_ms")
	} else {
		s.validateStart(&e, now)
	}
	e.checkBounds(&s.Settings, settingsBounds)
	if s.Pacing != PacingNone && s.Pacing != PacingEven {
		e.add("pacing", "is %s or %s", PacingEven, PacingNone)
	}
	if !s.Odds.valid() {
		e.add("odds", oddsRule)
	}
	return e.orNil()
}

func (s *RainSpec) validateStart(e *Invalid, now int64) {
	if s.StartsInMS != nil {
		between(e, "starts_in_ms", *s.StartsInMS, 0, MaxAheadMS, "is 0 to %d, seven days", int64(MaxAheadMS))
	}
	if s.StartsAt != nil {
		between(e, "starts_at", *s.StartsAt, now, now+MaxAheadMS, "is from now (%d) to seven days ahead", now)
	}
}
