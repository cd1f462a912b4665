package pipeline

import (
	"fmt"
	"testing"
	"time"

	"redrain/payout/paytest"
	"redrain/rain"
)

// deliveriesAt makes entries with a win each, by the times of their ids and the time of their seals. A time of 0
// makes an entry without wins.
func deliveriesAt(sealedAt int64, times ...int64) (of []delivery) {
	for _, ms := range times {
		var d delivery
		d.entry.SealedAt = sealedAt
		if d.entry.Ref.ID = "1-0"; ms > 0 {
			d.entry.Ref.ID, d.entry.Wins = fmt.Sprintf("%d-0", ms), []rain.Win{{User: "u"}}
		}
		of = append(of, d)
	}
	return of
}

// Wins that become ripe together are posted together. No win waits much longer than necessary. Reclaims do not wait,
// and ids in the future wait no longer than a win of now.
func TestRipening(t *testing.T) {
	t.Parallel()
	const now, future = 1_000_000, 1_099_000
	for name, tc := range map[string]struct {
		times []int64
		least time.Duration
		n     int
		wait  time.Duration
	}{
		"nothing waits":             {[]int64{now, now}, 0, 2, 0},
		"old enough":                {[]int64{now - 9000, now - 2000}, 2 * time.Second, 2, 0},
		"a win of now":              {[]int64{now}, 2 * time.Second, 1, 2 * time.Second},
		"old ones, and a young one": {[]int64{now - 9000, now - 2000, now - 1000}, 2 * time.Second, 2, 0},
		"young ones of a moment": {[]int64{now - 1500, now - 1300, now - 1200}, 2 * time.Second, 2,
			700 * time.Millisecond},
		"one that has come again": {[]int64{now - 1500, now - 9000, now - 1500}, 2 * time.Second, 3,
			500 * time.Millisecond},
		"of the future":             {[]int64{future}, 2 * time.Second, 1, 2 * time.Second},
		"of the future, and of now": {[]int64{future, now}, 2 * time.Second, 2, 2 * time.Second},
		"of now, and of the future": {[]int64{now, future}, 2 * time.Second, 2, 2 * time.Second},
		"all of the future": {[]int64{future, future + 9000, future + 300}, 2 * time.Second, 3,
			2 * time.Second},
		"of the future, among old ones": {[]int64{now - 9000, future, now - 9000}, 2 * time.Second, 1, 0},
		"of the future, before old ones": {[]int64{future, now - 9000, future + 1, 0}, 2 * time.Second, 4,
			2 * time.Second},
		"what holds no wins":         {[]int64{0, 0}, 2 * time.Second, 2, 0},
		"with one that holds no win": {[]int64{0, now - 1900, 0}, 2 * time.Second, 3, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, wait := ripening(deliveriesAt(future, tc.times...), now, tc.least)
			if len(got) != tc.n || wait != tc.wait {
				t.Errorf("%d of %d in %v, want %d in %v", len(got), len(tc.times), wait, tc.n, tc.wait)
			}
		})
	}
}

// If an id is in the future, the win has the age of its seal. An outbox continues from its newest id while the clock
// of a Redis is behind it.
func TestWinsWithIDsOfTheFutureAreAsOldAsTheirSeals(t *testing.T) {
	t.Parallel()
	const now, future, least = 1_000_000, 1_099_000, 2 * time.Second
	for sealedAt, want := range map[int64]time.Duration{
		now - 9000: 0, now - 2000: 0, now - 500: 1500 * time.Millisecond, now: least, now + 60_000: least,
	} {
		got, wait := ripening(deliveriesAt(sealedAt, future, future+9000, future+300), now, least)
		if len(got) != 3 || wait != want {
			t.Errorf("sealed at %d: %d of 3 in %v, want all in %v", sealedAt, len(got), wait, want)
		}
	}
	if got, wait := ripening(deliveriesAt(now-9000, now-500, now-500), now, least); len(got) != 2 ||
		wait != 1500*time.Millisecond {
		t.Errorf("%d of 2 with ids of before in %v", len(got), wait)
	}
}

// No win is posted before it has the settler's least age, for any number of workers.
func TestWinsWaitBeforeTheyArePosted(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	const least, wins = 200 * time.Millisecond, 8
	p.OpenCampaign(t, "c1", rain.Spec{Budget: 40 * wins * paytest.CrowdAmount, Packets: 40 * wins})
	all, _ := paytest.Crowd("c1", 40, wins)
	clock := func() int64 { return time.Now().UnixMilli() }
	ages := make(chan time.Duration, 10*len(all))
	between := &between{p.Poster, func(entries []rain.Entry) error {
		for _, e := range entries {
			at, _, err := e.Ref.Position()
			if err != nil {
				return err
			}
			ages <- time.Duration(clock()-at) * time.Millisecond
		}
		return nil
	}}
	p.run(t, p.settlerOn(between, SettlerOptions{Clock: clock, Wait: least}))
	for i := range all {
		all[i].Ref.ID = fmt.Sprintf("%d-%d", clock(), i)
		p.publish(t, 1, all[i])
	}
	for range all {
		if age := <-ages; age < least {
			t.Errorf("a win was posted after %v", age)
		}
	}
}
