package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// Only what is closed and paid is let go, and what Redis has lost is gone already.
func TestWhatIsLetGoIsOver(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{Shards: 2, Taps: 5})
	keys := func() (all []string) {
		return testenv.Got(rdb.Keys(t.Context(), "*").Result()).Must(t)
	}
	kept := func(when string) {
		t.Helper()
		testenv.WantErr(t, gm.G.Expire(t.Context(), gm.C, time.Hour), store.ErrNotClosed, when)
		for _, key := range keys() {
			if left := rdb.PTTL(t.Context(), key).Val(); left > 0 && strings.Contains(key, gm.C.ID+".0") {
				t.Errorf("%s: %s goes in %s", when, key, left)
			}
		}
	}
	user := "p"
	for rain.HomeShard(user, 2) != 0 {
		user += "p"
	}
	kept("open, with nothing to pay")
	gm.Want(user, gm.Drop(0), outcome.Won)
	rank(gm, gm.G, map[string]rain.Money{user: 100})
	kept("open")
	testenv.Must(t, gm.G.Report(t.Context(), gm.C.ID, "n", 1, store.NodeReport{}))
	testenv.Must(t, gm.G.CloseCampaign(t.Context(), gm.C))
	kept("closed, with something to pay")
	for _, e := range gm.Outbox() {
		gm.Remove([]rain.Entry{e})
	}
	for range 2 {
		testenv.Must(t, gm.G.Expire(t.Context(), gm.C, time.Hour))
		for _, key := range keys() {
			if left := rdb.PTTL(t.Context(), key).Val(); left <= 0 || left > time.Hour {
				t.Errorf("over, and %s stays for %s", key, left)
			}
		}
		rdb.Del(t.Context(), gm.G.Keys(gm.C.ID, 1).State) // lost
	}
}

// A full Redis takes the marker, too, and it goes by itself.
func TestTheMarkerGoes(t *testing.T) {
	rdb := grabtest.InProcess(t)
	gm := grabtest.New(t, rdb, grabtest.Setup{})
	k := gm.G.Keys(gm.C.ID, 0)
	testenv.Must(t, testenv.Err(rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		gm.G.MarkFull(t.Context(), p, k, time.Minute)
		return nil
	})))
	if left := rdb.PTTL(t.Context(), k.Confirmed).Val(); left < 50*time.Second || left > time.Minute {
		t.Errorf("it stays for %s", left)
	}
}
