package rain

// Clock returns Unix milliseconds on the cluster's clock, never on the machine's (see store.Clock). Tests pass a fake.
type Clock func() int64

// Pacing is the release of the stock over a rain's duration.
type Pacing string

// The pacings.
const (
	PacingNone Pacing = "none" // all of it from the first moment
	PacingEven Pacing = "even" // in proportion to the time that has passed
)

// Phase is the stage of a rain's life; doc.go draws it.
type Phase string

// The phases of a rain.
const (
	PhaseCountdown Phase = "countdown"
	PhaseFalling   Phase = "falling"
	PhasePaused    Phase = "paused"
	PhaseEnded     Phase = "ended"
)

// GraceMS is the time after a drop has landed for which a tap on it still counts, in milliseconds. It allows for the
// network.
const GraceMS = 500

// RainSpec is a rain as an operator requests it. Decode JSON into DefaultRain, which holds the default of each
// optional field. Times are in milliseconds; StartsAt is Unix time on the cluster's clock.
type RainSpec struct {
	StartsInMS *int64 `json:"starts_in_ms,omitempty"`
	StartsAt   *int64 `json:"starts_at,omitempty"`
	Settings
}

// DefaultRain returns a RainSpec with the API's defaults. Decode JSON into it.
func DefaultRain() RainSpec { return RainSpec{Settings: withDefaults[Settings]()} }

// DefaultStartsInMS is the countdown of a rain that names no start.
const DefaultStartsInMS = 3_000

// Rain is one fall of packets. Times are Unix milliseconds on the cluster's clock.
type Rain struct {
	ID       string
	Campaign string
	StartsAt int64
	Settings
	OddsRecord OddsRecord // with OddsAuto: the odds set so far
	FirstWave  int64
	Seed       Seed
	StoppedAt  int64 // 0: it was not stopped
}

// at makes the rain and fixes its start; now is the cluster's time.
func (s RainSpec) at(now int64) Rain {
	start := now + DefaultStartsInMS
	switch {
	case s.StartsAt != nil:
		start = *s.StartsAt
	case s.StartsInMS != nil:
		start = now + *s.StartsInMS
	}
	return Rain{StartsAt: start, Settings: s.Settings}
}

// Matches reports whether the rain has the settings of the spec. A relative start (StartsInMS) matches any start,
// because it depends on the time of the request.
func (r *Rain) Matches(s RainSpec) bool {
	return r.Settings == s.Settings && (s.StartsAt == nil || r.StartsAt == *s.StartsAt)
}

// landedAt returns the time at which the last drop lands if the rain is not stopped before.
func (r *Rain) landedAt() int64 { return r.StartsAt + r.DurationMS + r.FallMS }

// EndsAt returns the end of the rain: the landing of the last drop, or the time at which it was stopped.
func (r *Rain) EndsAt() int64 {
	if r.StoppedAt != 0 {
		return r.StoppedAt
	}
	return r.landedAt()
}

// TapsUntil returns the moment from which taps no longer count: the end, or GraceMS later if the rain was not
// stopped.
func (r *Rain) TapsUntil() int64 {
	if r.StoppedAt != 0 {
		return r.StoppedAt
	}
	return r.landedAt() + GraceMS
}

// Phase returns the rain's phase at a time; paused says whether its campaign is paused.
func (r *Rain) Phase(now int64, paused bool) Phase {
	switch {
	case now >= r.EndsAt():
		return PhaseEnded
	case paused:
		return PhasePaused
	case now < r.StartsAt:
		return PhaseCountdown
	default:
		return PhaseFalling
	}
}

func (r *Rain) stop(now int64) {
	if now < r.EndsAt() {
		r.StoppedAt = now
	}
}
