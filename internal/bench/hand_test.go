package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// steady is a hand that takes the same times always.
func steady(reaction, pause time.Duration) *Hand {
	return &Hand{Reaction: func() time.Duration { return reaction }, Pause: func() time.Duration { return pause }}
}

// A person taps no drop before they can have seen it, the newest first, and rests after each tap.
func TestAHandOfAPerson(t *testing.T) {
	r := newRig(t, 1)
	r.at(400)
	r.start(Plan{Duration: time.Minute, Hand: steady(300*time.Millisecond, 300*time.Millisecond)}, r.now)
	r.tell(0, aWave(2, 1_500, 1_500), aWave(3, 900)) // at 500 and 750
	for ms := int64(400); ms < 1_800; ms++ {
		r.at(ms)
		r.wakeUp()
		if ms == 850 {
			r.answer(0, "empty") // makes nobody quicker
		}
	}
	if diff := cmp.Diff([]string{"2.0", "3.0", "2.1"}, r.drops()); diff != "" {
		t.Error(diff)
	}
	for i, want := range []int64{800, 1_100, 1_400} {
		if at := r.sent[i].at / int64(time.Millisecond); at != want {
			t.Errorf("tap %d at %d, want %d", i, at, want)
		}
	}
}

// A program taps each drop as soon as it is there, without waiting for answers.
func TestAHandOfAProgram(t *testing.T) {
	r := newRig(t, 1)
	r.at(400)
	r.start(Plan{Duration: time.Minute, Hand: steady(0, 50*time.Millisecond)}, r.now)
	r.tell(0, aWave(2, 900, -900, 900))
	for ms := int64(400); ms < 700; ms++ {
		r.at(ms)
		r.wakeUp()
	}
	if diff := cmp.Diff([]string{"2.0", "2.2"}, r.drops()); diff != "" {
		t.Error(diff)
	}
	if at := r.sent[0].at / int64(time.Millisecond); at != 500+early {
		t.Errorf("the first tap at %d", at)
	}
}
