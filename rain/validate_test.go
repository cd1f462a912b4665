package rain_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// fields are the names of the fields that an error complains of, in order.
func fields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var faults rain.Invalid
	if !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("the error is %v (%T), not an Invalid with faults", err, err)
	}
	var names []string
	for _, f := range faults {
		if f.Message == "" || !strings.Contains(err.Error(), f.Field+": "+f.Message) {
			t.Errorf("the error %q does not report %+v", err, f)
		}
		names = append(names, f.Field)
	}
	return names
}

func TestDefaultsAreTheContracts(t *testing.T) {
	t.Parallel()
	s := rain.DefaultSpec()
	if s.Split != "double_mean" || s.Min != 1 || s.Max != nil || s.Amounts != nil || s.WinsPerUser != 1 ||
		s.TapsPerUser != 0 || s.Shards != 1 || s.ExpiresInMS != 86_400_000 {
		t.Errorf("campaign: %+v", s)
	}
	testenv.Equal(t, fields(t, s.Validate()), []string{"name", "sponsor", "budget", "packets"}, "required are")
	r := rain.DefaultRain()
	if r.DurationMS != 10_000 || r.DropsPerSecond != 8 || r.FallMS != 4_000 || r.DecoyPercent != 0 ||
		r.Pacing != "none" {
		t.Errorf("rain: %+v", r)
	}
	testenv.WantErr(t, r.Validate(now), nil, "the default rain is refused")
}

// bound is a number of a request, and the fault that names its limits.
type bound[S any] struct {
	set         func(*S, int64)
	least, most int64
	fault       string
}

// checkBounds tries each number at its limits and beyond.
func checkBounds[S any](t *testing.T, valid func() S, validate func(*S) error, bounds []bound[S]) {
	t.Helper()
	for _, b := range bounds {
		for v, good := range map[int64]bool{math.MinInt64: false, b.least - 1: false, b.least: true, b.most: true,
			b.most + 1: false, math.MaxInt64: false} {
			s := valid()
			b.set(&s, v)
			err := validate(&s)
			text := fmt.Sprint(err)
			same := text == b.fault || v == math.MaxInt64 && strings.HasPrefix(text, b.fault)
			if (err == nil) != good || !good && !same {
				t.Errorf("%d: %v, want valid %t or %q", v, err, good, b.fault)
			}
		}
	}
}

func plain() rain.Spec { return spec(rain.DoubleMean, 1_000, 10, 1, nil) }

// TestNumbersOfACampaignHaveLimits has one field for each kind of tag. TestOpenAPIHasTheLimitsOfRequests in package
// docs has every field.
func TestNumbersOfACampaignHaveLimits(t *testing.T) {
	t.Parallel()
	checkBounds(t, plain, (*rain.Spec).Validate, []bound[rain.Spec]{
		{func(s *rain.Spec, v int64) { s.Packets, s.Budget = 1, rain.Money(v) }, 1, int64(rain.MaxBudget),
			"budget: is required: 1 to 1000000000000000 minor units"},
		{func(s *rain.Spec, v int64) { s.Budget, s.Packets = rain.MaxBudget, int(v) }, 1, rain.MaxPackets,
			"packets: is required: 1 to 100000000"},
		{func(s *rain.Spec, v int64) { s.Budget, s.Packets, s.Min = rain.MaxBudget, 1, rain.Money(v) }, 1,
			int64(rain.MaxBudget), "min: is 1 to 1000000000000000 minor units"},
		{func(s *rain.Spec, v int64) { s.WinsPerUser = int(v) }, 1, 1_000_000, "wins_per_user: is 1 to 1000000"},
		{func(s *rain.Spec, v int64) { s.TapsPerUser = int(v) }, 0, 1_000_000,
			"taps_per_user: is 0 (no limit) to 1000000"},
		{func(s *rain.Spec, v int64) { s.ExpiresInMS = v }, 1_000, 366 * 86_400_000,
			"expires_in_ms: is 1,000 to 31622400000"},
	})
}

func name(text string) func(*rain.Spec)    { return func(s *rain.Spec) { s.Name = text } }
func sponsor(text string) func(*rain.Spec) { return func(s *rain.Spec) { s.Sponsor = text } }

// least and most bound the packets of a campaign of ten packets with 1,000.
func least(m rain.Money) func(*rain.Spec) { return func(s *rain.Spec) { s.Min = m } }
func most(m rain.Money) func(*rain.Spec)  { return func(s *rain.Spec) { s.Max = &m } }

// list makes a spec one of given amounts, with a budget of 1,000.
func list(amounts ...rain.Money) func(*rain.Spec) {
	return func(s *rain.Spec) {
		s.Split, s.Packets, s.Budget, s.Amounts = rain.List, max(len(amounts), 1), 1_000, amounts
	}
}

// both makes two changes.
func both(a, b func(*rain.Spec)) func(*rain.Spec) { return func(s *rain.Spec) { a(s); b(s) } }

func packets(n int) func(*rain.Spec) { return func(s *rain.Spec) { s.Packets = n } }

func TestValidateSpec(t *testing.T) {
	t.Parallel()
	alike := func(n int, budget rain.Money) func(*rain.Spec) {
		return func(s *rain.Spec) {
			list(slices.Repeat([]rain.Money{rain.MaxBudget}, n)...)(s)
			s.Budget = budget
		}
	}
	const letters = "sponsor: holds letters, digits, and - _ . only"
	for want, changes := range map[string][]func(*rain.Spec){
		"": {
			func(*rain.Spec) {}, name(strings.Repeat("n", 200)), name("红包雨"), name("❤️ 👨‍👩‍👧"), sponsor("azAZ09-_."),
			sponsor(strings.Repeat("a", 64)), sponsor("商家-２０26"), sponsor(strings.Repeat("商", 21) + "a"),
			func(s *rain.Spec) { s.Budget = 10 }, least(100), most(100), both(least(100), most(100)),
			most(math.MaxInt64), func(s *rain.Spec) { s.Split = rain.Even }, list(400, 600),
			both(list(400, 600), most(600)), func(s *rain.Spec) { s.Shards = 11 },
			func(s *rain.Spec) { s.Packets, s.Shards = 1, 256 },
		},
		"name: is required: 1 to 200 bytes of UTF-8": {name(""), name(strings.Repeat("n", 201)), name("a\xff")},
		"name: has no control characters": {name("a\x00"), name("\x1b[31m"), name("a\nb"), name("a\u2028b"),
			name("\u202eevil"), name("a\u2066b\u2069"), name("a\u200f"), name("\u061ca")},
		"sponsor: is 1 to 64 bytes": {sponsor(""), sponsor(strings.Repeat("a", 65)),
			sponsor(strings.Repeat("商", 22))},
		letters: {sponsor("user:1"), sponsor("a/b"), sponsor("a "), sponsor("a\u3164"), sponsor("a\u200db"),
			sponsor("a\xff")},
		"budget: is less than packets × min (10 × 1)":   {func(s *rain.Spec) { s.Budget = 9 }},
		"budget: is less than packets × min (2 × 1)":    {func(s *rain.Spec) { s.Budget, s.Packets = 1, 2 }},
		"budget: is less than packets × min (1 × 1001)": {both(packets(1), least(1_001))},
		"budget: is less than packets × min (10 × 101)": {least(101)},
		"budget: is less than packets × min (9224 × 1000000000000000)": { // overflows
			both(packets(9_224), least(rain.MaxBudget))},
		"budget: is more than packets × max (10 × 99)":  {most(99)},
		"budget: is more than packets × max (10 × 100)": {both(most(100), func(s *rain.Spec) { s.Budget++ })},
		"max: is less than min":                         {both(least(50), most(49)), most(0), most(-1)},
		"split: is one of double_mean, low_variance, gaussian, even, list": {
			func(s *rain.Spec) { s.Split = "" }, func(s *rain.Spec) { s.Split = "fair" }},
		"amounts: goes with the split \"list\" only": {func(s *rain.Spec) {
			s.Amounts = []rain.Money{1_000}
		}},
		"amounts: holds 0 amounts for 1 packets":                                  {list()},
		"amounts: holds 1 amounts for 2 packets":                                  {both(list(1_000), packets(2))},
		"amounts: holds 2 amounts for 1 packets":                                  {both(list(400, 600), packets(1))},
		"amounts: add up to 1001, not to the budget":                              {list(400, 601)},
		"amounts: add up to 999, not to the budget":                               {list(400, 599)},
		"amounts: amount 1 of the list, 0, is outside min and max":                {list(0, 1_000)},
		"amounts: amount 2 of the list, -1, is outside min and max":               {list(1_001, -1)},
		"amounts: amount 1 of the list, 400, is outside min and max":              {both(list(400, 600), least(401))},
		"amounts: amount 2 of the list, 600, is outside min and max":              {both(list(400, 600), most(599))},
		"amounts: amount 1 of the list, 1000000000000001, is outside min and max": {list(rain.MaxBudget+1, 1)},
		// A sum that wraps round to the budget is refused like any other that does not fit.
		"amounts: " + rain.ErrMoneyOverflow.Error(): {alike(10_000, rain.MaxBudget), alike(20_000, 1_000_000)},
	} {
		for i, change := range changes {
			s := plain()
			change(&s)
			text := ""
			if err := s.Validate(); err != nil {
				text = err.Error()
			}
			testenv.Equal(t, text, want, "change %d", i)
			if _, err := s.Cut(seedOf(0)); (err == nil) != (want == "") {
				t.Errorf("%q, change %d: Cut does not agree: %v", want, i, err)
			}
		}
	}
}

func TestValidateSpecNamesEveryFault(t *testing.T) {
	t.Parallel()
	s := rain.DefaultSpec()
	s.Min, s.Max, s.WinsPerUser, s.TapsPerUser, s.Split = 0, new(rain.Money(1)), -1, -1, "?"
	want := []string{"name", "sponsor", "budget", "packets", "wins_per_user", "taps_per_user", "split", "min"}
	if got := fields(t, s.Validate()); !slices.Equal(got, want) {
		t.Errorf("faults in %v, want %v", got, want)
	}
}

// TestASplitAloneIsValidated: by the rules of the campaign that it will belong to, and with its defaults.
func TestASplitAloneIsValidated(t *testing.T) {
	t.Parallel()
	s := rain.DefaultSplit()
	if s.Split != rain.DoubleMean || s.Min != 1 || s.Max != nil || s.Amounts != nil {
		t.Errorf("the default is %+v", s)
	}
	testenv.Equal(t, fields(t, s.Validate()), []string{"budget", "packets"}, "required are")
	s.Budget, s.Packets = 10, 10
	testenv.Must(t, s.Validate())
}

func TestValidateRain(t *testing.T) {
	t.Parallel()
	const week = int64(7 * 86_400_000)
	validate := func(r *rain.RainSpec) error { return r.Validate(now) }
	checkBounds(t, rain.DefaultRain, validate, []bound[rain.RainSpec]{
		{func(r *rain.RainSpec, v int64) { r.StartsInMS = &v }, 0, week, "starts_in_ms: is 0 to 604800000, seven days"},
		{func(r *rain.RainSpec, v int64) { r.StartsAt = &v }, now, now + week,
			fmt.Sprintf("starts_at: is from now (%d) to seven days ahead", now)},
		{func(r *rain.RainSpec, v int64) { r.DurationMS = v }, 1_000, 600_000, "duration_ms: is 1,000 to 600,000"},
		{func(r *rain.RainSpec, v int64) { r.DropsPerSecond = int(v) }, 1, rain.MaxDropsPerSecond,
			"drops_per_second: is 1 to 400"},
		{func(r *rain.RainSpec, v int64) { r.BeatMS = v }, rain.WaveMS, 10_000, "beat_ms: is 250 to 10,000"},
	})
	for pacing, want := range map[rain.Pacing][]string{rain.PacingNone: nil, rain.PacingEven: nil, "": {"pacing"},
		"fast": {"pacing"}} {
		r := rain.DefaultRain()
		r.Pacing = pacing
		testenv.Equal(t, fields(t, r.Validate(now)), want, "pacing %q: faults in", pacing)
	}
	twice := rain.DefaultRain()
	twice.StartsAt, twice.StartsInMS = new(now), new(int64(0))
	if got := fields(t, twice.Validate(now)); !slices.Equal(got, []string{"starts_at"}) {
		t.Errorf("two starts: faults in %v", got)
	}
	bad := rain.DefaultRain()
	bad.StartsInMS, bad.DurationMS, bad.BeatMS, bad.Pacing = new(int64(-1)), 0, 0, ""
	if got := fields(t, bad.Validate(now)); !slices.Equal(got,
		[]string{"starts_in_ms", "duration_ms", "beat_ms", "pacing"}) {
		t.Errorf("the bad rain is faulty in %v", got)
	}
}

// TestCheckStored: records that redrain stores pass. Each unusable number or word is named.
func TestCheckStored(t *testing.T) {
	t.Parallel()
	stored := func() *rain.Campaign {
		spec := rain.DefaultSpec()
		spec.Name, spec.Sponsor, spec.Budget, spec.Packets = "Gala", "acme", 100, 10
		c := &rain.Campaign{ID: "c1", Spec: spec, Status: rain.Open, Revision: 1}
		testenv.Must(t, testenv.Err(c.AddRain("r1", rain.DefaultRain(), seedOf(1), 1)))
		return c
	}
	testenv.WantErr(t, stored().CheckStored(), nil, "as stored")
	for what, change := range map[string]func(c *rain.Campaign){
		"packets":          func(c *rain.Campaign) { c.Packets = -1000 },
		"capacity":         func(c *rain.Campaign) { c.Capacity = -1 },
		"admit_per_second": func(c *rain.Campaign) { c.AdmitPerSecond = -1 },
		"shards":           func(c *rain.Campaign) { c.Shards = 1 << 40 },
		"budget":           func(c *rain.Campaign) { c.Budget = -1 },
		"split":            func(c *rain.Campaign) { c.Split = "mine" },
		"amounts":          func(c *rain.Campaign) { c.Split = rain.List },
		"min":              func(c *rain.Campaign) { c.Min = 0 },
		"wins_per_user":    func(c *rain.Campaign) { c.WinsPerUser = -1 },
		"status":           func(c *rain.Campaign) { c.Status = "mine" },
		"created_at":       func(c *rain.Campaign) { c.ExpiresAt = -1 },
		"name":             func(c *rain.Campaign) { c.Name = "\xff" },
		"duration":         func(c *rain.Campaign) { c.Rains[0].DurationMS = 1 << 60 },
		"decoy_percent":    func(c *rain.Campaign) { c.Rains[0].DecoyPercent = 101 },
		"drops_per_second": func(c *rain.Campaign) { c.Rains[0].DropsPerSecond = -1 },
		"pacing":           func(c *rain.Campaign) { c.Rains[0].Pacing = "mine" },
		"odds_record":      func(c *rain.Campaign) { c.Rains[0].OddsRecord = "x" },
		"first_wave":       func(c *rain.Campaign) { c.Rains[0].FirstWave = -1 },
		"has no valid id":  func(c *rain.Campaign) { c.Rains[0].ID = "" },
	} {
		c := stored()
		change(c)
		if err := c.CheckStored(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
