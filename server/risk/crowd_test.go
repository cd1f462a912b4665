package risk

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
)

// A crowd of people with steady hands is not held as a program, at any size and on any number of nodes. A program among
// them is found.
func TestACrowdIsNoChorus(t *testing.T) {
	random := testenv.Random(t)
	now := int64(rainStarts)
	all, _, b := nodes(t, 2, &now)
	c := campaign()
	hands := map[string]*Hand{}
	took := map[string]int64{}
	for i := range 400 {
		user := fmt.Sprint("person", i)
		hands[user], took[user] = all[i%2].Hand(Caller{User: user, Address: "hall"}), 300+random.Int64N(300)
	}
	for i := range 80 {
		user := fmt.Sprint("farm", i)
		hands[user], took[user] = all[i%2].Hand(Caller{User: user, Address: "hall"}), 441
	}
	for wave := range int64(24) {
		now = rainStarts + wave*250
		for user, h := range hands {
			if wave == 0 {
				h.Won()
			}
			tapWave(h, c, wave, took[user]+wave%2*30) // 15 ms of spread
		}
		for _, w := range all {
			look(t, w)
		}
	}
	people, farm := 0, 0
	for user := range b.of {
		if strings.HasPrefix(user, "farm") {
			farm++
		} else if at := took[user]; at < 429 || at > 453 { // not with the farm
			people++
		}
	}
	if people > 0 || farm < 80*9/10 {
		t.Errorf("%d people and %d of a farm of 80 are held", people, farm)
	}
}

// counting is a Shared that notes how much each call is about, and answers only for the first ones while it is slow.
type counting struct {
	*redis
	most int
	slow bool
}

func (c *counting) Tell(ctx context.Context, traits []store.Trait) ([]int, error) {
	c.most = max(c.most, len(traits))
	if !c.slow {
		return c.redis.Tell(ctx, traits)
	}
	having, _ := c.redis.Tell(ctx, traits[:min(len(traits), 100)])
	return having, context.DeadlineExceeded
}

func (c *counting) Hands(ctx context.Context, node string, own map[string]string) (map[string][]string, error) {
	c.most = max(c.most, len(own))
	return c.redis.Hands(ctx, node, own)
}

// Each player of a crowd that taps once is reported, in calls of a bounded size. This holds even if Redis finishes
// only a part of a call in time.
func TestACrowdIsToldInParts(t *testing.T) {
	const players = 3*toldAtOnce + 1
	now := int64(rainStarts)
	r := &counting{redis: newRedis()}
	all, _, _ := nodes(t, 1, &now)
	w := all[0]
	w.o.Shared = r
	c := campaign()
	for i := range players {
		user := "p" + strconv.Itoa(i)
		h := w.Hand(Caller{User: user, Address: user})
		w.Among(user, 2)
		h.Won()
		tapWave(h, c, 0, 400)
	}
	r.slow = true
	look(t, w)
	if r.told != 100 {
		t.Errorf("%d were reported in the time there was", r.told)
	}
	r.slow = false
	for range 4 {
		look(t, w)
	}
	if r.told != players || len(r.of) != players || len(r.hands) != players || r.most > toldAtOnce {
		t.Errorf("%d were reported, %d are known, with %d hands, %d in a call", r.told, len(r.of), len(r.hands), r.most)
	}
	look(t, w)
	if w.dirty.Load() != nil {
		t.Error("hands without unreported taps are looked at again and again")
	}
}

// Players that one round left out are the first in the next, even if many others have tapped since.
func TestWhoWaitsIsToldFirst(t *testing.T) {
	now := int64(rainStarts)
	all, r, _ := nodes(t, 1, &now)
	w, c := all[0], campaign()
	crowd := func(name string, players int) {
		for i := range players {
			h := w.Hand(Caller{User: name + strconv.Itoa(i), Address: name + strconv.Itoa(i)})
			h.Won()
			tapWave(h, c, 0, 400)
		}
	}
	crowd("first-", toldAtOnce+100)
	look(t, w)
	told := maps.Clone(r.of)
	crowd("second-", toldAtOnce)
	look(t, w)
	firsts := 0
	for trait := range r.of {
		if told[trait] == nil && strings.HasPrefix(trait.Value, "first-") {
			firsts++
		}
	}
	if len(told) != toldAtOnce || len(r.of) != 2*toldAtOnce || firsts != 100 {
		t.Errorf("%d were reported, %d then, of whom %d had waited", len(told), len(r.of), firsts)
	}
}
