package campaigns

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
)

// TestForgeriesAreToldTogether: the first forgery of a campaign raises an alarm at once. A flood after it raises one
// each five seconds, and the rest when the process ends.
func TestForgeriesAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alarms []string
		f := NewForgeries(func(code, campaign, message string) {
			count, _, _ := strings.Cut(message[strings.Index(message, ": ")+2:], " ")
			alarms = append(alarms, code+" "+campaign+" "+count)
		}, nil)
		stop := testenv.Run(t, f.Run)
		synctest.Wait()
		expect := func(what string, want ...string) {
			t.Helper()
			f.mu.Lock() // held while an alarm is raised
			defer f.mu.Unlock()
			testenv.Equal(t, alarms, want, "%s", what)
			alarms = nil
		}
		c1 := posting.DeadLetter{Campaign: "c1", Reason: "invalid seal"}
		f.Heard([]posting.DeadLetter{c1, c1, {Reason: "no seal"}}, 0)
		expect("the first", "forged  1", "forged c1 2")
		for range 100 {
			f.Heard([]posting.DeadLetter{c1}, 3)
		}
		expect("a flood")
		sleepInBubble(forgeriesEvery)
		expect("the flood, together", "forged  300", "forged c1 100")
		f.Heard([]posting.DeadLetter{c1}, 0)
		expect("just reported")
		sleepInBubble(3 * forgeriesEvery)
		expect("reported then, and not again", "forged c1 1")
		f.Heard([]posting.DeadLetter{c1}, 0)
		expect("the first after a while", "forged c1 1")
		f.Notices(7, "a notice to rr.control.soldout.c1: invalid seal")
		expect("of notices", "forged  7")
		f.Heard([]posting.DeadLetter{c1}, 0)
		stop()
		expect("in the end", "forged c1 1")
	})
}

// TestDeadLettersAreToldTogether, beside the forgeries of the campaign.
func TestDeadLettersAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alarms []string
		f := NewForgeries(func(code, campaign, message string) {
			alarms = append(alarms, code+" "+campaign+": "+message[:strings.IndexByte(message, ',')])
		}, nil)
		letter := []posting.DeadLetter{{Campaign: "c1", Reason: "paid to another"}}
		f.Heard(letter, 0)
		for range 100 {
			f.Waiting(letter)
		}
		f.raiseAll(0)
		if !slices.Equal(alarms[1:], []string{"dead_letter c1: a payout waits for a person",
			"dead_letter c1: 99 payouts wait for a person"}) {
			t.Errorf("%q", alarms)
		}
	})
}

// sleepInBubble lets the fake time of a bubble pass.
func sleepInBubble(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a bubble, where time is not waited for
	synctest.Wait()
}
