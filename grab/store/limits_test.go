package store_test

import (
	"strings"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

func TestAllowIsABucketForAllNodes(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{NotOpen: true})
		other := gm.Node()
		who := testenv.Namespace(t)
		const perSecond, burst = 0.01, 6.0 // one in 100 s: none comes back during the test
		for i := range 6 {
			g := gm.G
			if i%2 == 1 {
				g = other
			}
			if ok, wait, err := g.Allow(t.Context(), "hello", who, perSecond, burst); err != nil || !ok ||
				wait != 0 {
				t.Fatalf("%d: %v, %v, %v", i, ok, wait, err)
			}
		}
		ok, wait, err := other.Allow(t.Context(), "hello", who, perSecond, burst)
		if err != nil || ok || wait > 100*time.Second || wait < 90*time.Second {
			t.Errorf("the seventh: %v, %v, %v; want to wait 100 s", ok, wait, err)
		}
		for who, want := range map[string]int64{who: 0, who + "y": burst} {
			for range 2 { // Left takes no token
				testenv.Got(gm.G.Left(t.Context(), "hello", who, perSecond, burst)).Want(t, want, "left of %s", who)
			}
		}
		for _, c := range []struct{ name, key string }{{"guest", who}, {"hello", who + "x"}} {
			if ok, _, err := gm.G.Allow(t.Context(), c.name, c.key, perSecond, burst); err != nil || !ok {
				t.Errorf("%v: %v, %v", c, ok, err)
			}
		}
		ttl := rdb.PTTL(t.Context(), gm.G.BucketKey("hello", who)).Val()
		if ttl < 590*time.Second || ttl > 601*time.Second {
			t.Errorf("the bucket is kept for %v, want until it is full: 600 s", ttl)
		}

		// Tokens come back with the time.
		const fast = 5.0
		who = testenv.Namespace(t)
		for {
			ok, wait, err := gm.G.Allow(t.Context(), "fast", who, fast, 3)
			testenv.Must(t, err)
			if !ok {
				if wait < time.Millisecond || wait > 200*time.Millisecond {
					t.Errorf("wait %v for one of 5 in a second", wait)
				}
				break
			}
		}
		testenv.Eventually(t, 5*time.Second, "a token comes back", func() bool {
			ok, _, err := gm.G.Allow(t.Context(), "fast", who, fast, 3)
			return err == nil && ok
		})

		// After an hour a bucket is full and no more; and parts of a token count.
		key := gm.G.BucketKey("hello", who)
		rdb.HSet(t.Context(), key, "tokens", 0, "at", (gm.Options.Clock()-3_600_000)*1000)
		for i := range 4 {
			if ok, _, err := gm.G.Allow(t.Context(), "hello", who, 0.1, 3); err != nil || ok != (i < 3) {
				t.Errorf("%d after an hour: %v, %v", i, ok, err)
			}
		}
		rdb.HSet(t.Context(), key, "tokens", "0.6", "at", (gm.Options.Clock()+1_000)*1000)
		for range 2 {
			// The bucket was counted a second ahead of now: a clock that was set back takes nothing away.
			if ok, wait, err := gm.G.Allow(t.Context(), "hello", who, 0.01, 3); err != nil || ok ||
				wait > 40*time.Second || wait < 30*time.Second {
				t.Errorf("with 0.6 of a token: %v, %v, %v; want to wait 40 s", ok, wait, err)
			}
		}

		for _, bad := range [][2]float64{{0, 1}, {-1, 1}, {1, 0.5}} {
			if ok, _, err := gm.G.Allow(t.Context(), "bad", who, bad[0], bad[1]); err == nil || ok ||
				!strings.Contains(err.Error(), "a rate above 0 and a burst of at least 1") {
				t.Errorf("rate and burst %v: %v, %v", bad, ok, err)
			}
		}
	})
}

func TestReportsKeepTheNewestOfEachNode(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm := grabtest.New(t, rdb, grabtest.Setup{NotOpen: true})
		now := gm.Options.Clock()
		report := func(node string, rev int64, r store.NodeReport) {
			t.Helper()
			testenv.Must(t, gm.G.Report(t.Context(), gm.C.ID, node, rev, r))
		}
		a := store.NodeReport{
			T: now, Online: 3, Taps: 7, GrabsPerSecond: 1.5,
			Outcomes: outcome.Counts{outcome.Won: 3, outcome.Empty: 4},
			Latency:  map[int]int64{40: 6, 101: 1},
		}
		report("a", 2, a)
		report("a", 1, store.NodeReport{T: now, Online: 99}) // late
		report("a", 2, store.NodeReport{T: now, Online: 99}) // again
		report("r:a", 1, store.NodeReport{T: now, Online: 1})
		testenv.Got(gm.G.Reports(t.Context(), gm.C.ID)).Want(t, map[string]store.NodeReport{"a": a, "r:a": {T: now,
			Online: 1}}, "reports")
		testenv.Got(gm.G.Reports(t.Context(), "nothing")).Want(t, nil, "a campaign without reports")
	})
}
