package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// visit is one player's way into the room, as far as it shows outside. The server acts between the sending of a
// question and its answer. One goroutine at a time uses it.
type visit struct {
	user string
	turn int // in which they came, from 0

	since           time.Time // of the first question without an answer yet
	refused         time.Time // when the last question was sent that was answered with a place
	place           int       // of the last answer
	kept            time.Duration
	late            bool      // asked too late once, and so came anew
	asked, reported time.Time // between these they were let in
	cut             time.Time // the line broke, zero: it did not
	left            time.Time // they began to go, zero: they have not
}

// asks notes a question.
func (v *visit) asks(sent time.Time) {
	if v.since.IsZero() {
		v.since = sent
	}
}

// hears notes the answer to a question. A kept place may not grow; protocol.md gives its time. A seat with a broken
// line stays the player's for half a minute.
func (v *visit) hears(sent, got time.Time, answer turn) error {
	since := v.since
	v.since = time.Time{}
	switch {
	case answer.Admitted:
		if v.reported.IsZero() {
			v.asked, v.reported = since, got
		}
		return nil
	case !v.cut.IsZero() && got.Sub(v.cut) < 30*time.Second:
		return fmt.Errorf("the seat was given away %s after the line broke", got.Sub(v.cut))
	case v.place > 0 && answer.Position > v.place:
		if got.Sub(v.refused) < v.kept {
			return fmt.Errorf("the place was %d and is %d after %s, kept for %s", v.place, answer.Position,
				got.Sub(v.refused), v.kept)
		}
		v.late = true
	}
	v.refused, v.place = sent, answer.Position
	v.kept = time.Duration(answer.RetryAfterMS)*time.Millisecond*3/2 + 10*time.Second
	return nil
}

// order is the order in which the players came, and in which they were let in.
type order struct {
	visits []*visit // in the order in which they came
	seats  int
}

// check holds the order to the promise of the queue, on a machine of any speed:
//
//   - a player who comes in has fewer players before them than there are free seats, and
//   - a player who asks is let in if a later one is in. So no player is overtaken, except between two questions.
func (o order) check(t *testing.T) {
	t.Helper()
	late := 0
	for _, v := range o.visits {
		if v.reported.IsZero() {
			t.Errorf("%s is not in", v.user)
			return
		}
		if v.late {
			late++
			continue
		}
		if before, free := o.before(v), o.free(v); before >= free {
			t.Errorf("%s was let in before %d who had come earlier, for %d free seats", v.user, before, free)
		}
		for _, after := range o.visits[v.turn+1:] {
			if !v.refused.IsZero() && after.reported.Before(v.refused) {
				t.Errorf("%s had to wait when %s was in already", v.user, after.user)
			}
		}
	}
	let := slices.SortedFunc(slices.Values(o.visits), func(a, b *visit) int { return a.reported.Compare(b.reported) })
	first, last := 0, 0
	for at, v := range let {
		if v.late {
			continue
		}
		first, last = max(first, v.turn-at), max(last, at-v.turn)
	}
	t.Logf("nobody was let in more than %d ranks before, or %d after, that of coming; %d had asked too late", first,
		last, late)
	if late > len(o.visits)/10 {
		t.Errorf("%d players have asked too late: the test shows little", late)
	}
}

// before is the number of earlier players who were let in later, for certain.
func (o order) before(v *visit) (count int) {
	for _, e := range o.visits[:v.turn] {
		if !e.late && e.asked.After(v.reported) {
			count++
		}
	}
	return count
}

// free is the largest possible number of free seats, v's among them, when v was let in.
func (o order) free(v *visit) int {
	taken := 0
	for _, e := range o.visits {
		if e != v && e.reported.Before(v.asked) && (e.left.IsZero() || e.left.After(v.reported)) {
			taken++
		}
	}
	return o.seats - taken
}
