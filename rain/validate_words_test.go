package rain_test

import (
	"slices"
	"testing"

	"redrain/rain"
)

// TestFaultsSayWhatIsAllowed: once for each fault, with the limit.
func TestFaultsSayWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*rain.Spec){
		"name: is required: 1 to 200 bytes of UTF-8":             func(s *rain.Spec) { s.Name = "" },
		"sponsor: is 1 to 64 bytes":                              func(s *rain.Spec) { s.Sponsor = "" },
		"sponsor: holds letters, digits, and - _ . only":         func(s *rain.Spec) { s.Sponsor = "a b" },
		"budget: is required: 1 to 1000000000000000 minor units": func(s *rain.Spec) { s.Budget = 0 },
		"packets: is required: 1 to 100000000":                   func(s *rain.Spec) { s.Packets = 0 },
		"wins_per_user: is 1 to 1000000":                         func(s *rain.Spec) { s.WinsPerUser = 0 },
		"capacity: is 0 (no limit) to 100000000":                 func(s *rain.Spec) { s.Capacity = -1 },
		"admit_per_second: is 0 (all at once) to 1000000": func(s *rain.Spec) {
			s.AdmitPerSecond = -1
		},
		"taps_per_user: is 0 (no limit) to 1000000":                        func(s *rain.Spec) { s.TapsPerUser = -1 },
		"shards: is 1 to 256":                                              func(s *rain.Spec) { s.Shards = 0 },
		"expires_in_ms: is 1,000 to 31622400000":                           func(s *rain.Spec) { s.ExpiresInMS = 0 },
		"split: is one of double_mean, low_variance, gaussian, even, list": func(s *rain.Spec) { s.Split = "?" },
		"amounts: goes with the split \"list\" only": func(s *rain.Spec) {
			s.Amounts = []rain.Money{1}
		},
		"min: is 1 to 1000000000000000 minor units": func(s *rain.Spec) { s.Min = 0 },
		"max: is less than min": func(s *rain.Spec) {
			s.Max = new(rain.Money(0))
		},
		"budget: is less than packets × min (10 × 101)": func(s *rain.Spec) { s.Min = 101 },
		"budget: is more than packets × max (10 × 99)": func(s *rain.Spec) {
			s.Max = new(rain.Money(99))
		},
		"amounts: holds 2 amounts for 3 packets": func(s *rain.Spec) {
			list(400,
				600)(s)
			s.Packets = 3
		},
		"amounts: add up to 1001, not to the budget":               list(400, 601),
		"amounts: amount 2 of the list, 0, is outside min and max": list(1_000, 0),
		"amounts: amount 1 of the list, 1000000000000001, is outside min and max": func(s *rain.Spec) {
			list(rain.MaxBudget+1, 1)(s)
		},
		"amounts: amount 2 of the list, 600, is outside min and max": func(s *rain.Spec) {
			list(400, 600)(s)
			s.Max = new(rain.Money(599))
		},
	} {
		s := spec(rain.DoubleMean, 1_000, 10, 1, nil)
		change(&s)
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, change := range map[string]func(*rain.RainSpec){
		"starts_in_ms: is 0 to 604800000, seven days": func(r *rain.RainSpec) { r.StartsInMS = new(int64(-1)) },
		"drops_per_second: is 1 to 400":               func(r *rain.RainSpec) { r.DropsPerSecond = 0 },
	} {
		r := rain.DefaultRain()
		change(&r)
		if err := r.Validate(now); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestASplitAloneIsValidated: by the rules of the campaign that it will belong to, and with its defaults.
func TestASplitAloneIsValidated(t *testing.T) {
	t.Parallel()
	s := rain.DefaultSplit()
	if s.Split != rain.DoubleMean || s.Min != 1 || s.Max != nil || s.Amounts != nil {
		t.Errorf("the default is %+v", s)
	}
	if got := fields(t, s.Validate()); !slices.Equal(got, []string{"budget", "packets"}) {
		t.Errorf("required are %v", got)
	}
	s.Budget, s.Packets = 10, 10
	must(t, s.Validate())
}
