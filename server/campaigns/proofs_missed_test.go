package campaigns

import (
	"strings"
	"testing"
	"testing/synctest"
)

// TestACampaignThatCannotBeProvedIsAnAlarm: once, after some rounds, while the others are proved; and again when that
// comes back after it was proved.
func TestACampaignThatCannotBeProvedIsAnAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		heard, stop := reconcilerAt(t, f, "a")
		defer stop()
		const alarm = "alarm reconciliation of c1: the books could not be proved"
		for range 2 {
			f.set(func() { f.away["c1"] = true })
			minutes(unprovedRounds - 1)
			if said := strings.Join(heard(), "\n"); strings.Contains(said, alarm) {
				t.Errorf("too early: %s", said)
			}
			f.set(func() { f.found["c2"] = "packet 7" })
			minutes(20)
			said := strings.Join(heard(), "\n")
			if n := strings.Count(said, alarm); n != 1 ||
				!strings.Contains(said, "alarm reconciliation of c2") {
				t.Errorf("%d alarms: %s", n, said)
			}
			f.set(func() { f.away["c1"] = false; delete(f.found, "c2") })
			minutes(1)
			if said := strings.Join(heard(), "\n"); !strings.Contains(said, "can be proved again") {
				t.Errorf("heard %s", said)
			}
		}
	})
}
