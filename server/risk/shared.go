package risk

import (
	"context"
	"slices"
	"strconv"
	"time"

	"redrain/grab/store"
)

// Shared holds the common traits of players over all nodes. [store.Common] implements it. With an error its methods
// return the results for the first traits or players only.
type Shared interface {
	Tell(ctx context.Context, traits []store.Trait) (having []int, err error)
	Hands(ctx context.Context, node string, own map[string]string) (others map[string][]string, err error)
}

// The kinds of traits.
const address, session, rhythm = "address", "session", "rhythm"

var traitKinds = [...]string{address, session, rhythm}

// toldAt holds the time when a player's trait was last reported, Unix ms; 0: not yet. The watch's lock guards it.
func (h *Hand) toldAt(t store.Trait) *int64 { return &h.toldOf[slices.Index(traitKinds[:], t.Kind)] }

// tally is the number of players with a trait, over all nodes.
type tally struct {
	n  int
	at int64 // time of the count, Unix ms
}

const (
	// sharedWithin is the longest wait of a look for the other nodes' data. After it this node's data counts.
	sharedWithin = 500 * time.Millisecond
	// aloneFor and sharedFor are the lives of a tally, in milliseconds: if no other player had the trait, and if one
	// had.
	aloneFor, sharedFor = 10_000, 1_000
	// renewAfter is the interval at which an active player's traits are reported again, in milliseconds: Redis may have
	// been lost.
	renewAfter = 300_000
	// toldAtOnce is the most traits reported, and the most players on several nodes looked up, in one look. The others
	// follow in the next look, the oldest first.
	toldAtOnce = 2_000
	// plenty is the number of players with a trait from which the exact count is irrelevant.
	plenty = 1_000
	// tallies is the number of cached tallies.
	tallies = 100_000
	// leavingMost is the most removed traits that wait to be reported while Redis is away.
	leavingMost = 10_000
)

// joinHands adds the other nodes' sums of players who are on several nodes.
func (w *Watch) joinHands(ctx context.Context, round []looked) error {
	now, own := w.o.Clock(), map[string]string{}
	var later []*Hand
	for _, l := range round {
		switch {
		case !l.several:
		case len(own) == toldAtOnce:
			later = append(later, l.hand)
		default:
			own[l.hand.who.User] = noted{At: now, sums: l.sums}.text()
		}
	}
	if len(own) == 0 {
		return nil
	}
	others, err := w.o.Shared.Hands(ctx, w.o.Node, own)
	for i := range round {
		for _, text := range others[round[i].hand.who.User] {
			if s, ok := readNoted(text, now); ok {
				round[i].sums.join(s)
			}
		}
	}
	if err == nil {
		lookAgain(later)
	}
	return err
}

// count reads how many players over all nodes share the traits of a look. A request also reports the player's trait:
// once, and again when the tally is old.
func (w *Watch) count(ctx context.Context, round []looked) error {
	now := w.o.Clock()
	w.mu.Lock()
	left := min(len(w.leaving), toldAtOnce)
	tell, of := slices.Clone(w.leaving[:left]), slices.Repeat([]*Hand{nil}, left) // removed traits have no hand
	w.leaving = slices.Delete(w.leaving, 0, left)
	var later []*Hand
	for i := range round {
		l := &round[i]
		for _, c := range l.has() {
			most := toldAtOnce
			if c.Kind == rhythm {
				most -= len(crowd) // see askAround
			}
			switch {
			case !w.toBeAsked(l, c, now):
			case len(tell) >= most:
				later = append(later, l.hand)
			default:
				around := w.askAround(c, now)
				tell, of = append(tell, around...), append(of, slices.Repeat([]*Hand{nil}, len(around))...)
				*l.hand.toldAt(c) = now
				w.shared.Add(c, tally{w.known(c), now}) // so that others of this look do not ask again
				c.User = l.hand.who.User
				tell, of = append(tell, c), append(of, l.hand)
			}
		}
	}
	w.mu.Unlock()
	if len(tell) == 0 {
		return nil
	}
	having, err := w.o.Shared.Tell(ctx, tell)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range tell {
		c := store.Trait{Kind: t.Kind, Value: t.Value}
		switch {
		case i < len(having):
			w.shared.Add(c, tally{having[i], now})
		case t.User == "":
			w.shared.Remove(c)
		case !t.Gone:
			w.shared.Remove(c)
			*of[i].toldAt(c) = 0
			later = append(later, of[i])
		case len(w.leaving) < leavingMost:
			w.leaving = append(w.leaving, t)
		}
	}
	if len(having) > 0 { // else Redis is away, and they wait for their next tap
		lookAgain(later)
	}
	return err
}

// crowd lists the offsets of the neighbouring rhythms from which the expected number is estimated: 20 to 60 ms earlier
// and later. Those of one program lie within 10.
var crowd = []int{-6, -5, -4, -3, -2, 2, 3, 4, 5, 6}

func rhythmOf(beat int) store.Trait { return store.Trait{Kind: rhythm, Value: strconv.Itoa(beat)} }

// askAround returns the traits to be read before a player with c is reported. A rhythm is judged only with the counts
// of the neighbouring ones. It needs the lock.
func (w *Watch) askAround(c store.Trait, now int64) (ask []store.Trait) {
	if c.Kind != rhythm {
		return nil
	}
	beat, _ := strconv.Atoi(c.Value)
	for _, by := range crowd {
		c := rhythmOf(beat + by)
		if known, found := w.shared.Get(c); !found || now-known.at >= sharedFor {
			w.shared.Add(c, tally{known.n, now}) // so that others of this look do not ask again
			ask = append(ask, c)
		}
	}
	return ask
}

// lookAgain adds hands to the next look, even without another tap.
func lookAgain(hands []*Hand) {
	for _, h := range hands {
		h.queue()
	}
}

// toBeAsked reports whether a player's trait has to be reported or read. It needs the lock.
func (w *Watch) toBeAsked(l *looked, c store.Trait, now int64) bool {
	known, found := w.shared.Get(c)
	if found && known.n >= plenty && now-known.at < aloneFor {
		return false
	}
	if told := *l.hand.toldAt(c); told == 0 || now-told >= renewAfter {
		return true
	}
	fresh := int64(sharedFor)
	if known.n < 2 {
		fresh = aloneFor
	}
	if found && now-known.at < fresh {
		return false
	}
	// An address alone is no reason: it is read only if it would decide.
	if c.Kind != address {
		return true
	}
	s := w.signals(l)
	s.Winners = max(s.Winners, w.limits.Winners)
	return Judge(s, w.limits).Act != Judge(w.signals(l), w.limits).Act
}

// known returns the cached number of players with a trait. It needs the lock.
func (w *Watch) known(c store.Trait) int {
	t, _ := w.shared.Get(c)
	return t.n
}

// has returns a player's traits.
func (l *looked) has() (all []store.Trait) {
	if l.hand.winner {
		all = append(all, store.Trait{Kind: address, Value: l.hand.who.Address})
	}
	if l.hand.inSession {
		all = append(all, store.Trait{Kind: session, Value: l.hand.who.Session})
	}
	if l.hand.beat != 0 {
		all = append(all, rhythmOf(l.hand.beat))
	}
	return all
}
