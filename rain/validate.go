package rain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of the contract.
const (
	MaxPackets      = 100_000_000
	MaxShards       = 256
	MaxNameLen      = 200 // bytes
	MaxSponsorLen   = 64  // bytes
	maxPerUser      = 1_000_000
	maxCapacity     = 100_000_000
	maxExpiresInMS  = 366 * 24 * 3_600_000
	MaxAheadMS      = 7 * 24 * 3_600_000
	DefaultExpiryMS = 24 * 3_600_000

	maxAdmitPerSecond = 1_000_000
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

// orNil returns a nil error if there is no fault; an empty Invalid would be a non-nil error.
func (e Invalid) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// DefaultSpec returns a campaign with the contract's defaults, to be decoded into.
func DefaultSpec() Spec {
	return Spec{Split: DoubleMean, Min: 1, WinsPerUser: 1, Shards: 1, ExpiresInMS: DefaultExpiryMS}
}

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
	if s.WinsPerUser < 1 || s.WinsPerUser > maxPerUser {
		e.add("wins_per_user", "is 1 to %d", maxPerUser)
	}
	if s.TapsPerUser < 0 || s.TapsPerUser > maxPerUser {
		e.add("taps_per_user", "is 0 (no limit) to %d", maxPerUser)
	}
	if s.Shards < 1 || s.Shards > MaxShards {
		e.add("shards", "is 1 to %d", MaxShards)
	}
	if s.Capacity < 0 || s.Capacity > maxCapacity {
		e.add("capacity", "is 0 (no limit) to %d", maxCapacity)
	}
	if s.AdmitPerSecond < 0 || s.AdmitPerSecond > maxAdmitPerSecond {
		e.add("admit_per_second", "is 0 (all at once) to %d", maxAdmitPerSecond)
	}
	if s.Players != nil {
		if err := CheckList(s.Players.List); err != nil {
			e.add("players.list", "%s", err)
		}
	}
	s.validateLanes(&e)
	if s.ExpiresInMS < 1_000 || s.ExpiresInMS > maxExpiresInMS {
		e.add("expires_in_ms", "is 1,000 to %d", int64(maxExpiresInMS))
	}
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
	if s.Budget < 1 || s.Budget > MaxBudget {
		e.add("budget", "is required: 1 to %d minor units", MaxBudget)
	}
	if s.Packets < 1 || s.Packets > MaxPackets {
		e.add("packets", "is required: 1 to %d", MaxPackets)
	}
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
	if s.DurationMS < 1_000 || s.DurationMS > 600_000 {
		e.add("duration_ms", "is 1,000 to 600,000")
	}
	if s.DropsPerSecond < 1 || s.DropsPerSecond > MaxDropsPerSecond {
		e.add("drops_per_second", "is 1 to %d", MaxDropsPerSecond)
	}
	if s.FallMS < 500 || s.FallMS > 20_000 {
		e.add("fall_ms", "is 500 to 20,000")
	}
	if s.DecoyPercent < 0 || s.DecoyPercent > 100 {
		e.add("decoy_percent", "is 0 to 100")
	}
	if s.Pacing != PacingNone && s.Pacing != PacingEven {
		e.add("pacing", "is %s or %s", PacingEven, PacingNone)
	}
	if !s.Odds.valid() {
		e.add("odds", oddsRule)
	}
	if s.BeatMS < MinBeatMS || s.BeatMS > MaxBeatMS {
		e.add("beat_ms", "is %d to 10,000", MinBeatMS)
	}
	return e.orNil()
}

func (s *RainSpec) validateStart(e *Invalid, now int64) {
	if s.StartsInMS != nil && (*s.StartsInMS < 0 || *s.StartsInMS > MaxAheadMS) {
		e.add("starts_in_ms", "is 0 to %d, seven days", int64(MaxAheadMS))
	}
	if s.StartsAt != nil && (*s.StartsAt < now || *s.StartsAt > now+MaxAheadMS) {
		e.add("starts_at", "is from now (%d) to seven days ahead", now)
	}
}
