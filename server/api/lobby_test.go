package api

import (
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestFrontDoor: the front door leads to where it rains, else to where it will, else to what is ready, else to the
// demo; in whatever order the campaigns are found.
func TestFrontDoor(t *testing.T) {
	const now = 1_000_000
	campaign := func(id string, status rain.Status, created int64, starts ...int64) *rain.Campaign {
		c := &rain.Campaign{ID: id, Status: status, CreatedAt: created, ExpiresAt: now + 1}
		for _, at := range starts {
			c.Rains = append(c.Rains, rain.Rain{StartsAt: at, DurationMS: 1_000, FallMS: 500})
		}
		return c
	}
	expired := campaign("expired", rain.Open, 9, now-100)
	expired.ExpiresAt = now
	// Each is wanted more than all that follow.
	order := []*rain.Campaign{
		campaign("falls since now", rain.Open, 1, now),
		campaign("falls since long", rain.Open, 2, now-5_000, now-1_400),
		campaign("starts soon", rain.Open, 1, now+10),
		campaign("starts later", rain.Open, 9, now-1_400, now+10_000),
		campaign("new", rain.Open, 8),
		campaign("older, and has rained", rain.Open, 7, now-1_500),
		campaign("same age, a", rain.Open, 3),
		campaign("same age, b", rain.Open, 3),
		campaign("demo", rain.Open, 9, now-100),
		campaign("paused in its rain", rain.Paused, 9, now-100),
	}
	never := []*rain.Campaign{campaign("loading", rain.Loading, 9), campaign("closed", rain.Closed, 9, now-100),
		expired}
	random := testenv.Random(t)
	for i, want := range order {
		live := append(append([]*rain.Campaign{}, order[i:]...), never...)
		for range 10 {
			random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
			if got := frontDoor(live, "demo", now); got != want {
				t.Fatalf("%s is wanted before %s", got.ID, want.ID)
			}
		}
	}
	if got := frontDoor(never, "", now); got != nil {
		t.Errorf("%s is wanted, and nobody can play it", got.ID)
	}
}

// TestStartsIn: a countdown is told as long as it lasts.
func TestStartsIn(t *testing.T) {
	t.Parallel()
	c := &rain.Campaign{Status: rain.Open}
	if got := startsIn(c, 5); got != 0 {
		t.Errorf("no rain in %d ms", got)
	}
	c.Rains = []rain.Rain{{StartsAt: 1_000, DurationMS: 1_000, FallMS: 500}}
	for now, want := range map[int64]int64{5: 995, 999: 1, 1_000: 0, 9_000: 0} {
		if got := startsIn(c, now); got != want {
			t.Errorf("at %d in %d ms, want %d", now, got, want)
		}
	}
}
