package grab

import "redrain/rain"

// Tap is one tap of a player on a drop. Its maker sets the exported fields, gives it to one Gate once, and changes
// nothing any more.
type Tap struct {
	User  string      // has passed rain.CheckUser
	Drop  rain.DropID // whatever the player has sent, as far as it is a drop's id
	Asker Asker       // is told the result that Gate.Tap does not know at once
	Ref   any         // the asker's own: the gate does not look at it

	player  *player
	stripe  *stripe // the player's
	result  Result
	sent    bool // to the script; known to the goroutine that settles it, as are settled and told
	settled bool // it has its result
	told    bool // and its asker has it too
	// of the same player on the same drop, that came meanwhile; guarded by the stripe until it is settled
	others []*Tap
}

// Result is what came of a tap that the Asker is told of.
func (t *Tap) Result() Result { return t.result }

// Asker is who wants to know what came of taps. Askers are compared, to tell one all that is for it: let it be a
// pointer.
type Asker interface {
	// Answer is called with taps that have their results, in the order in which they were decided; with each tap
	// once. It is called by the goroutine that flushes a shard's taps, with no lock held: it must not block, or all
	// others on the shard wait. The slice is only lent.
	Answer(taps []*Tap)
}

// settle gives a tap that was under way its result. It is not told yet.
func (t *Tap) settle(r Result) {
	t.result, t.settled = r, true
	t.stripe.mu.Lock()
	defer t.stripe.mu.Unlock()
	t.player.landed(t, r)
	for _, o := range t.others {
		o.result = r
	}
}

// teller tells askers of their taps, many at once.
type teller struct{ taps []*Tap }

// tell tells of those taps that are settled and have not been told, and of the others that waited for them.
func (l *teller) tell(taps []*Tap) {
	for _, t := range taps {
		if !t.settled || t.told {
			continue
		}
		t.told = true
		l.add(t)
		for _, o := range t.others {
			l.add(o)
		}
	}
	l.flush()
}

func (l *teller) add(t *Tap) {
	if len(l.taps) > 0 && l.taps[0].Asker != t.Asker {
		l.flush()
	}
	l.taps = append(l.taps, t)
}

func (l *teller) flush() {
	if len(l.taps) == 0 {
		return
	}
	l.taps[0].Asker.Answer(l.taps)
	clear(l.taps)
	l.taps = l.taps[:0]
}
