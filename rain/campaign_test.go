package rain_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

const now = int64(1_763_712_000_000)

// campaign is one in a status, with a rain that falls from now-1s to now+13s unless it is loading.
func campaign(status rain.Status) *rain.Campaign {
	c := &rain.Campaign{ID: "c1", Spec: spec(rain.Even, 100, 10, 1, nil), Status: status, Revision: 4}
	if status != rain.Loading {
		r := testRain()
		r.StartsAt = now - 1_000
		c.Rains = []rain.Rain{r}
	}
	return c
}

// TestTransitions is the whole table: every status and every action.
func TestTransitions(t *testing.T) {
	t.Parallel()
	actions := map[string]func(*rain.Campaign) error{
		"stocked": func(c *rain.Campaign) error { c.Stocked(); return nil },
		"pause":   (*rain.Campaign).Pause,
		"resume":  (*rain.Campaign).Resume,
		"close":   func(c *rain.Campaign) error { return c.Close(now) },
		"add while one falls": func(c *rain.Campaign) error {
			_, err := c.AddRain("r3", rain.DefaultRain(), seedOf(1), now)
			return err
		},
		"stop": func(c *rain.Campaign) error { _, err := c.StopRain("r2", now); return err },
	}
	statuses := []rain.Status{rain.Loading, rain.Open, rain.Paused, rain.Closed}
	none := []error{nil, nil, nil, nil}
	started := []error{rain.ErrNotStocked, nil, nil, rain.ErrClosed}
	for name, want := range map[string]struct {
		becomes []rain.Status // from each status
		err     []error
		stops   []rain.Status // from these the action stops the rain
	}{
		"stocked": {[]rain.Status{rain.Open, rain.Open, rain.Paused, rain.Closed}, none, nil},
		"pause":   {[]rain.Status{rain.Loading, rain.Paused, rain.Paused, rain.Closed}, started, nil},
		"resume":  {[]rain.Status{rain.Loading, rain.Open, rain.Open, rain.Closed}, started, nil},
		"close": {[]rain.Status{rain.Loading, rain.Closed, rain.Closed, rain.Closed},
			[]error{rain.ErrNotStocked, nil, nil, nil}, statuses[1:3]},
		"add while one falls": {statuses,
			[]error{rain.ErrNotStocked, rain.ErrRainRunning, rain.ErrRainRunning, rain.ErrClosed}, nil},
		// a closed campaign's rain has ended in truth; see TestCloseEndsTheRain
		"stop": {statuses, []error{rain.ErrUnknownRain, nil, nil, nil}, statuses[1:]},
	} {
		for i, status := range statuses {
			c := campaign(status)
			rains := len(c.Rains)
			if err := actions[name](c); !errors.Is(err, want.err[i]) || (err == nil) != (want.err[i] == nil) {
				t.Errorf("%s, %s: the error is %v, want %v", name, status, err, want.err[i])
			}
			// The revision is the ledger's to raise.
			if c.Status != want.becomes[i] || len(c.Rains) != rains || c.Revision != 4 {
				t.Errorf("%s, %s: status %s, %d rains, revision %d", name, status, c.Status, len(c.Rains), c.Revision)
			}
			if r := c.Current(); r != nil && (r.StoppedAt == now) != slices.Contains(want.stops, status) {
				t.Errorf("%s, %s: the rain was stopped at %d", name, status, r.StoppedAt)
			}
		}
	}
}

func TestCloseEndsTheRain(t *testing.T) {
	t.Parallel()
	c := campaign(rain.Open)
	for range 2 { // the second changes nothing
		testenv.Must(t, c.Close(now))
		if c.Status != rain.Closed || c.Current().StoppedAt != now {
			t.Fatalf("%s, stopped at %d", c.Status, c.Current().StoppedAt)
		}
		testenv.Equal(t, testenv.Got(c.StopRain("r2", now+50)).Must(t).StoppedAt, now,
			"a stop after the close moved the end to")
	}
}

func TestCloseLeavesAnEndedRainAlone(t *testing.T) {
	t.Parallel()
	c := campaign(rain.Open)
	end := c.Current().EndsAt()
	if err := c.Close(end); err != nil || c.Current().StoppedAt != 0 {
		t.Errorf("the ended rain was stopped at %d (%v)", c.Current().StoppedAt, err)
	}
	none := campaign(rain.Open)
	none.Rains = nil
	if err := none.Close(now); err != nil || none.Status != rain.Closed {
		t.Errorf("a campaign without rains: %v, %s", err, none.Status)
	}
}

func TestStopRain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ now, want int64 }{
		"in the countdown": {now - 2_000, now - 2_000},
		"falling":          {now, now},
		"last moment":      {now + 13_000 - 1, now + 13_000 - 1},
		"ended":            {now + 13_000, 0},
	} {
		c := campaign(rain.Open)
		testenv.Equal(t, testenv.Got(c.StopRain("r2", tc.now)).Must(t).StoppedAt, tc.want, "%s: stopped at", name)
	}
	c := campaign(rain.Open)
	if r, err := c.StopRain("r9", now); !errors.Is(err, rain.ErrUnknownRain) || r != nil {
		t.Errorf("an unknown rain: %v, %v", r, err)
	}
}

func TestAddRainNumbersOn(t *testing.T) {
	t.Parallel()
	c := campaign(rain.Open) // its rain has the waves 40 to 79
	end := c.Current().EndsAt()
	if _, err := c.AddRain("r3", rain.DefaultRain(), seedOf(1), end-1); !errors.Is(err, rain.ErrRainRunning) {
		t.Fatalf("a ms before the end: %v", err)
	}
	spec := rain.RainSpec{Settings: rain.Settings{DurationMS: 1_100, DropsPerSecond: 5, FallMS: 600, DecoyPercent: 7,
		Pacing: rain.PacingEven}}
	r, err := c.AddRain("r3", spec, seedOf(9), end)
	testenv.Must(t, err)
	want := rain.Rain{
		ID: "r3", Campaign: "c1", StartsAt: end + rain.DefaultStartsInMS, Settings: spec.Settings, FirstWave: 80,
		Seed: seedOf(9),
	}
	if *r != want || c.Current() != r {
		t.Errorf("added %+v, want %+v", *r, want)
	}
	testenv.WantErr(t, testenv.Err(c.AddRain("r4", spec, seedOf(1), end)), rain.ErrRainRunning,
		"a second one in the countdown")
	// A stopped rain keeps the numbers of the waves that never fell.
	testenv.Must(t, testenv.Err(c.StopRain("r3", end+1)))
	testenv.Equal(t, testenv.Got(c.AddRain("r4", spec, seedOf(1), end+1)).Must(t).FirstWave, 85,
		"the next first wave")
	for _, id := range []string{"r2", "r3", "r4"} {
		testenv.Equal(t, testenv.Got(c.Rain(id)).Must(t).ID, id, "rain")
	}
	testenv.WantErr(t, testenv.Err(c.Rain("r5")), rain.ErrUnknownRain, "rain r5")
}

func TestAddRainStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in, at *int64
		want   int64
	}{
		"nothing said": {nil, nil, now + 3_000},
		"at once":      {new(int64), nil, now},
		"in a minute":  {new(int64(60_000)), nil, now + 60_000},
		"at a moment":  {nil, new(now + 5), now + 5},
	} {
		c := &rain.Campaign{ID: "c", Status: rain.Paused} // a paused campaign may plan its next rain
		s := rain.DefaultRain()
		s.StartsInMS, s.StartsAt = tc.in, tc.at
		r, err := c.AddRain("r", s, seedOf(1), now)
		if err != nil || r.StartsAt != tc.want || r.FirstWave != 0 {
			t.Errorf("%s: starts at %d, first wave %d, want %d (%v)", name, r.StartsAt, r.FirstWave, tc.want, err)
		}
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	ended := campaign(rain.Open).Current().EndsAt()
	for _, tc := range []struct {
		status rain.Status
		now    int64
		want   string
	}{
		{rain.Loading, now, "loading"},
		{rain.Open, now - 1_001, "ready"}, // the countdown
		{rain.Open, now - 1_000, "raining"},
		{rain.Open, ended - 1, "raining"},
		{rain.Open, ended, "ready"},
		{rain.Paused, now, "paused"},
		{rain.Paused, ended, "paused"},
		{rain.Closed, now, "closed"},
	} {
		testenv.Equal(t, campaign(tc.status).State(tc.now), tc.want, "%s at now%+d", tc.status, tc.now-now)
	}
	testenv.Equal(t, (&rain.Campaign{Status: rain.Open}).State(now), "ready", "open without a rain")
}

func TestCloneIsNotTouchedByTransitions(t *testing.T) {
	t.Parallel()
	c := campaign(rain.Open)
	d := c.Clone()
	testenv.Must(t, c.Close(now))
	if d.Status != rain.Open || d.Current().StoppedAt != 0 {
		t.Errorf("the clone is %s, its rain stopped at %d", d.Status, d.Current().StoppedAt)
	}
	if _, err := d.AddRain("r3", rain.DefaultRain(), seedOf(1), d.Current().EndsAt()); err != nil || len(c.Rains) != 1 {
		t.Errorf("a rain of the clone reached the original: %d (%v)", len(c.Rains), err)
	}
}

// TestAnyLifeOfACampaign runs random actions and checks what must hold after each of them.
func TestAnyLifeOfACampaign(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &rain.Campaign{ID: "c", Status: rain.Loading}
		clock, added := now, 0
		var closed bool
		t.Repeat(map[string]func(*rapid.T){
			"wait":    func(t *rapid.T) { clock += rapid.Int64Range(0, 20_000).Draw(t, "ms") },
			"stocked": func(*rapid.T) { c.Stocked() },
			"pause":   func(*rapid.T) { _ = c.Pause() },
			"resume":  func(*rapid.T) { _ = c.Resume() },
			"close":   func(*rapid.T) { closed = c.Close(clock) == nil || closed },
			"add": func(*rapid.T) {
				if _, err := c.AddRain(string(rune('a'+added)), rain.DefaultRain(), seedOf(added), clock); err == nil {
					added++
				}
			},
			"stop": func(t *rapid.T) {
				_, _ = c.StopRain(string(rune('a'+rapid.IntRange(0, added).Draw(t, "rain"))), clock)
			},
			"": func(t *rapid.T) {
				if len(c.Rains) != added {
					t.Fatalf("%d rains, %d were added", len(c.Rains), added)
				}
				if closed && (c.Status != rain.Closed || (added > 0 && c.Current().EndsAt() > clock)) {
					t.Fatalf("closed, yet %s with a rain until %d at %d", c.Status, c.Current().EndsAt(), clock)
				}
				for i := 1; i < len(c.Rains); i++ {
					last, next := &c.Rains[i-1], &c.Rains[i]
					if next.Has(last.FirstWave) || last.Has(next.FirstWave) || next.FirstWave < last.FirstWave {
						t.Fatalf("two rains share a wave: %+v", c.Rains)
					}
					if next.StartsAt < last.EndsAt() {
						t.Fatalf("two rains fall at the same time: %+v", c.Rains)
					}
				}
				if state := c.State(clock); state == rain.StateRaining &&
					classify(c.Current(), rain.DropID{}, clock, false) == rain.NotOpen {
					t.Fatalf("raining, yet taps are not open")
				}
			},
		})
	})
}
