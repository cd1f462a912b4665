package rain_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

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
			t.Errorf("the error %q does not tell of %+v", err, f)
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
	if got := fields(t, s.Validate()); !slices.Equal(got, []string{"name", "sponsor", "budget", "packets"}) {
		t.Errorf("required are %v", got)
	}
	r := rain.DefaultRain()
	if r.DurationMS != 10_000 || r.DropsPerSecond != 8 || r.FallMS != 4_000 || r.DecoyPercent != 0 ||
		r.Pacing != "none" {
		t.Errorf("rain: %+v", r)
	}
	if err := r.Validate(now); err != nil {
		t.Errorf("the default rain is refused: %v", err)
	}
}

func TestValidateSpec(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*rain.Spec)
		want   string // the faulty field; "" where the spec is fine
	}{
		{"unchanged", func(*rain.Spec) {}, ""},

		{"no name", func(s *rain.Spec) { s.Name = "" }, "name"},
		{"longest name", func(s *rain.Spec) { s.Name = strings.Repeat("n", 200) }, ""},
		{"longer name", func(s *rain.Spec) { s.Name = strings.Repeat("n", 201) }, "name"},
		{"name in Chinese", func(s *rain.Spec) { s.Name = "红包雨" }, ""},
		{"name not UTF-8", func(s *rain.Spec) { s.Name = "a\xff" }, "name"},

		{"no sponsor", func(s *rain.Spec) { s.Sponsor = "" }, "sponsor"},
		{"all letters of a sponsor", func(s *rain.Spec) { s.Sponsor = "azAZ09-_." }, ""},
		{"longest sponsor", func(s *rain.Spec) { s.Sponsor = strings.Repeat("a", 64) }, ""},
		{"longer sponsor", func(s *rain.Spec) { s.Sponsor = strings.Repeat("a", 65) }, "sponsor"},
		{"sponsor with a colon", func(s *rain.Spec) { s.Sponsor = "user:1" }, "sponsor"},
		{"sponsor with a slash", func(s *rain.Spec) { s.Sponsor = "a/b" }, "sponsor"},
		{"sponsor with a space", func(s *rain.Spec) { s.Sponsor = "a " }, "sponsor"},
		{"sponsor in Chinese", func(s *rain.Spec) { s.Sponsor = "商家-２０26" }, ""},
		{"longest sponsor in Chinese", func(s *rain.Spec) { s.Sponsor = strings.Repeat("商", 21) + "a" }, ""},
		{"longer sponsor in Chinese", func(s *rain.Spec) { s.Sponsor = strings.Repeat("商", 22) }, "sponsor"},
		{"sponsor that is not seen", func(s *rain.Spec) { s.Sponsor = "a\u3164" }, "sponsor"},
		{"sponsor with a joiner", func(s *rain.Spec) { s.Sponsor = "a\u200db" }, "sponsor"},
		{"sponsor that is no text", func(s *rain.Spec) { s.Sponsor = "a\xff" }, "sponsor"},

		{"no budget", func(s *rain.Spec) { s.Budget = 0 }, "budget"},
		{"negative budget", func(s *rain.Spec) { s.Budget = -1 }, "budget"},
		{"smallest number as budget", func(s *rain.Spec) { s.Budget = math.MinInt64 }, "budget"},
		{"largest budget", func(s *rain.Spec) { s.Budget = rain.MaxBudget }, ""},
		{"larger budget", func(s *rain.Spec) { s.Budget = rain.MaxBudget + 1 }, "budget"},
		{"largest number as budget", func(s *rain.Spec) { s.Budget = math.MaxInt64 }, "budget"},

		{"no packets", func(s *rain.Spec) { s.Packets = 0 }, "packets"},
		{"negative packets", func(s *rain.Spec) { s.Packets = -5 }, "packets"},
		{"most packets", func(s *rain.Spec) { s.Packets, s.Budget = rain.MaxPackets, rain.MaxPackets }, ""},
		{"more packets", func(s *rain.Spec) { s.Packets, s.Budget = rain.MaxPackets+1, rain.MaxBudget }, "packets"},

		{"a minor unit for each", func(s *rain.Spec) { s.Budget = 10 }, ""},
		{"less than that", func(s *rain.Spec) { s.Budget = 9 }, "budget"},
		{"one for two", func(s *rain.Spec) { s.Budget, s.Packets = 1, 2 }, "budget"},
		{"no minimum", func(s *rain.Spec) { s.Min = 0 }, "min"},
		{"negative minimum", func(s *rain.Spec) { s.Min = -1 }, "min"},
		{"minimum above all budgets", func(s *rain.Spec) { s.Min = rain.MaxBudget + 1 }, "min"},
		{"largest number as minimum", func(s *rain.Spec) { s.Min = math.MaxInt64 }, "min"},
		{"minimum above the budget", func(s *rain.Spec) { s.Min = rain.MaxBudget }, "budget"},
		{"minimum times packets overflows", func(s *rain.Spec) { s.Min, s.Packets = rain.MaxBudget, 9_224 }, "budget"},
		{"minimum is the mean", func(s *rain.Spec) { s.Min = 100 }, ""},
		{"minimum above the mean", func(s *rain.Spec) { s.Min = 101 }, "budget"},

		{"maximum is the mean", func(s *rain.Spec) { s.Max = new(rain.Money(100)) }, ""},
		{"maximum below the mean", func(s *rain.Spec) { s.Max = new(rain.Money(99)) }, "budget"},
		{"maximum below the mean by a fraction", func(s *rain.Spec) { s.Budget, s.Max = 1_001, new(rain.Money(100)) },
			"budget"},
		{"maximum is the minimum", func(s *rain.Spec) { s.Min, s.Max = 100, new(rain.Money(100)) }, ""},
		{"maximum below the minimum", func(s *rain.Spec) { s.Min, s.Max = 50, new(rain.Money(49)) }, "max"},
		{"maximum of nothing", func(s *rain.Spec) { s.Max = new(rain.Money(0)) }, "max"},
		{"negative maximum", func(s *rain.Spec) { s.Max = new(rain.Money(-1)) }, "max"},
		{"largest number as maximum", func(s *rain.Spec) { s.Max = new(rain.Money(math.MaxInt64)) }, ""},

		{"even", func(s *rain.Spec) { s.Split = rain.Even }, ""},
		{"no split", func(s *rain.Spec) { s.Split = "" }, "split"},
		{"unknown split", func(s *rain.Spec) { s.Split = "fair" }, "split"},
		{"amounts without the split list", func(s *rain.Spec) { s.Amounts = []rain.Money{1_000} }, "amounts"},
		{"list", list(400, 600), ""},
		{"list without amounts", list(), "amounts"},
		{"list too short", func(s *rain.Spec) { list(1_000)(s); s.Packets = 2 }, "amounts"},
		{"list too long", func(s *rain.Spec) { list(400, 600)(s); s.Packets = 1 }, "amounts"},
		{"list with a cent too much", list(400, 601), "amounts"},
		{"list with a cent too little", list(400, 599), "amounts"},
		{"list with nothing in a packet", list(0, 1_000), "amounts"},
		{"list with a negative packet", list(-1, 1_001), "amounts"},
		{"list below the minimum", func(s *rain.Spec) { list(400, 600)(s); s.Min = 401 }, "amounts"},
		{"list above the maximum", func(s *rain.Spec) { list(400, 600)(s); s.Max = new(rain.Money(599)) }, "amounts"},
		{"list up to the maximum", func(s *rain.Spec) { list(400, 600)(s); s.Max = new(rain.Money(600)) }, ""},
		{"list with more than any budget", list(math.MaxInt64, 1), "amounts"},
		{"list whose sum wraps round to the budget", func(s *rain.Spec) {
			s.Split, s.Packets, s.Budget = rain.List, 20_000, 1_000_000
			s.Amounts = slices.Repeat([]rain.Money{rain.MaxBudget}, s.Packets)
		}, "amounts"},

		{"no wins", func(s *rain.Spec) { s.WinsPerUser = 0 }, "wins_per_user"},
		{"most wins", func(s *rain.Spec) { s.WinsPerUser = 1_000_000 }, ""},
		{"more wins", func(s *rain.Spec) { s.WinsPerUser = 1_000_001 }, "wins_per_user"},
		{"negative taps", func(s *rain.Spec) { s.TapsPerUser = -1 }, "taps_per_user"},
		{"most taps", func(s *rain.Spec) { s.TapsPerUser = 1_000_000 }, ""},
		{"most seats", func(s *rain.Spec) { s.Capacity = 100_000_000 }, ""},
		{"more seats", func(s *rain.Spec) { s.Capacity = 100_000_001 }, "capacity"},
		{"negative seats", func(s *rain.Spec) { s.Capacity = -1 }, "capacity"},
		{"most at once", func(s *rain.Spec) { s.AdmitPerSecond = 1_000_000 }, ""},
		{"more at once", func(s *rain.Spec) { s.AdmitPerSecond = 1_000_001 }, "admit_per_second"},
		{"negative rate", func(s *rain.Spec) { s.AdmitPerSecond = -1 }, "admit_per_second"},
		{"more taps", func(s *rain.Spec) { s.TapsPerUser = 1_000_001 }, "taps_per_user"},

		{"no shards", func(s *rain.Spec) { s.Shards = 0 }, "shards"},
		{"negative shards", func(s *rain.Spec) { s.Shards = -1 }, "shards"},
		{"a packet for each shard", func(s *rain.Spec) { s.Shards = 10 }, ""},
		{"more shards than packets", func(s *rain.Spec) { s.Shards = 11 }, ""},
		{"more shards than the only packet", func(s *rain.Spec) { s.Packets, s.Shards = 1, 256 }, ""},
		{"one packet below the minimum", func(s *rain.Spec) { s.Packets, s.Min = 1, 1_001 }, "budget"},
		{"most shards", func(s *rain.Spec) { s.Shards, s.Packets = 256, 1_000 }, ""},
		{"more shards", func(s *rain.Spec) { s.Shards, s.Packets = 257, 1_000 }, "shards"},

		{"shortest life", func(s *rain.Spec) { s.ExpiresInMS = 1_000 }, ""},
		{"shorter life", func(s *rain.Spec) { s.ExpiresInMS = 999 }, "expires_in_ms"},
		{"longest life", func(s *rain.Spec) { s.ExpiresInMS = 366 * 86_400_000 }, ""},
		{"longer life", func(s *rain.Spec) { s.ExpiresInMS = 366*86_400_000 + 1 }, "expires_in_ms"},
		{"life that overflows", func(s *rain.Spec) { s.ExpiresInMS = math.MaxInt64 }, "expires_in_ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := spec(rain.DoubleMean, 1_000, 10, 1, nil)
			tc.change(&s)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if got := fields(t, s.Validate()); !slices.Equal(slices.Compact(got), want) {
				t.Errorf("faults in %v, want %v: %v", got, want, s.Validate())
			}
			if s.Packets == rain.MaxPackets {
				return // TestCutAtTheLimits cuts that many
			}
			if _, err := s.Cut(seedOf(0)); (err == nil) != (tc.want == "") {
				t.Errorf("Cut does not agree: %v", err)
			}
		})
	}
}

// list makes a spec one of given amounts, with the budget that it has.
func list(amounts ...rain.Money) func(*rain.Spec) {
	return func(s *rain.Spec) {
		s.Split, s.Packets, s.Budget, s.Amounts = rain.List, max(len(amounts), 1), 1_000, amounts
	}
}

func TestValidateSpecNamesEveryFault(t *testing.T) {
	t.Parallel()
	s := rain.Spec{Max: new(rain.Money(1)), WinsPerUser: -1, TapsPerUser: -1, Split: "?"}
	want := []string{"name", "sponsor", "budget", "packets", "wins_per_user", "taps_per_user", "shards",
		"expires_in_ms", "split", "min"}
	if got := fields(t, s.Validate()); !slices.Equal(got, want) {
		t.Errorf("faults in %v, want %v", got, want)
	}
}

func TestValidateSaysThatAListOverflows(t *testing.T) {
	t.Parallel()
	s := spec(rain.List, rain.MaxBudget, 10_000, 1, nil)
	s.Amounts = slices.Repeat([]rain.Money{rain.MaxBudget}, s.Packets)
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), rain.ErrMoneyOverflow.Error()) {
		t.Errorf("the error is %v", err)
	}
}

func TestValidateRain(t *testing.T) {
	t.Parallel()
	const week = int64(7 * 86_400_000)
	for _, tc := range []struct {
		name   string
		change func(*rain.RainSpec)
		want   string
	}{
		{"unchanged", func(*rain.RainSpec) {}, ""},
		{"start at once", func(r *rain.RainSpec) { r.StartsInMS = new(int64(0)) }, ""},
		{"start in a week", func(r *rain.RainSpec) { r.StartsInMS = new(week) }, ""},
		{"start in more than a week", func(r *rain.RainSpec) { r.StartsInMS = new(week + 1) }, "starts_in_ms"},
		{"start a ms ago", func(r *rain.RainSpec) { r.StartsInMS = new(int64(-1)) }, "starts_in_ms"},
		{"start that overflows", func(r *rain.RainSpec) { r.StartsInMS = new(int64(math.MaxInt64)) }, "starts_in_ms"},
		{"start now", func(r *rain.RainSpec) { r.StartsAt = new(now) }, ""},
		{"start on a day in a week", func(r *rain.RainSpec) { r.StartsAt = new(now + week) }, ""},
		{"start on a later day", func(r *rain.RainSpec) { r.StartsAt = new(now + week + 1) }, "starts_at"},
		{"start in the past", func(r *rain.RainSpec) { r.StartsAt = new(now - 1) }, "starts_at"},
		{"start at the end of time", func(r *rain.RainSpec) { r.StartsAt = new(int64(math.MaxInt64)) }, "starts_at"},
		{"two starts", func(r *rain.RainSpec) { r.StartsAt, r.StartsInMS = new(now), new(int64(0)) }, "starts_at"},

		{"shortest", func(r *rain.RainSpec) { r.DurationMS = 1_000 }, ""},
		{"shorter", func(r *rain.RainSpec) { r.DurationMS = 999 }, "duration_ms"},
		{"longest", func(r *rain.RainSpec) { r.DurationMS = 600_000 }, ""},
		{"longer", func(r *rain.RainSpec) { r.DurationMS = 600_001 }, "duration_ms"},
		{"thinnest", func(r *rain.RainSpec) { r.DropsPerSecond = 1 }, ""},
		{"thinner", func(r *rain.RainSpec) { r.DropsPerSecond = 0 }, "drops_per_second"},
		{"densest", func(r *rain.RainSpec) { r.DropsPerSecond = 400 }, ""},
		{"denser", func(r *rain.RainSpec) { r.DropsPerSecond = 401 }, "drops_per_second"},
		{"fastest", func(r *rain.RainSpec) { r.FallMS = 500 }, ""},
		{"faster", func(r *rain.RainSpec) { r.FallMS = 499 }, "fall_ms"},
		{"slowest", func(r *rain.RainSpec) { r.FallMS = 20_000 }, ""},
		{"slower", func(r *rain.RainSpec) { r.FallMS = 20_001 }, "fall_ms"},
		{"all decoys", func(r *rain.RainSpec) { r.DecoyPercent = 100 }, ""},
		{"more than all", func(r *rain.RainSpec) { r.DecoyPercent = 101 }, "decoy_percent"},
		{"less than none", func(r *rain.RainSpec) { r.DecoyPercent = -1 }, "decoy_percent"},
		{"even", func(r *rain.RainSpec) { r.Pacing = rain.PacingEven }, ""},
		{"no pacing", func(r *rain.RainSpec) { r.Pacing = "" }, "pacing"},
		{"unknown pacing", func(r *rain.RainSpec) { r.Pacing = "fast" }, "pacing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := rain.DefaultRain()
			tc.change(&r)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if got := fields(t, r.Validate(now)); !slices.Equal(got, want) {
				t.Errorf("faults in %v, want %v", got, want)
			}
		})
	}
	all := rain.RainSpec{StartsInMS: new(int64(-1))}
	if got := fields(t, all.Validate(now)); !slices.Equal(got,
		[]string{"starts_in_ms", "duration_ms", "drops_per_second", "fall_ms", "pacing", "beat_ms"}) {
		t.Errorf("the empty rain is faulty in %v", got)
	}
}
