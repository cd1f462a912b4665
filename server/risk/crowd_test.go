package risk

import (
	"fmt"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

// A crowd of people with steady hands is no program, however many there are and on however many nodes; and a program in
// the middle of them is found.
func TestACrowdIsNoChorus(t *testing.T) {
	random := testenv.Random(t)
	now := int64(rainStarts)
	all, _, b := nodes(t, 2, &now)
	c := campaign()
	hands := map[string]*Hand{}
	took := map[string]int64{}
	for i := range 400 {
		user := fmt.Sprint("person", i)
		hands[user], took[user] = all[i%2].Hand(Player{User: user, Address: "hall"}), 300+random.Int64N(300)
	}
	for i := range 80 {
		user := fmt.Sprint("farm", i)
		hands[user], took[user] = all[i%2].Hand(Player{User: user, Address: "hall"}), 441
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
