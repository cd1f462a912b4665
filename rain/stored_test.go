package rain_test

import (
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestCheckStored: what redrain stores passes, and each number or word that nothing may be computed from is named.
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
