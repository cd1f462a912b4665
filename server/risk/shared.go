package risk

import (
	"context"
	"slices"
	"strconv"
	"time"

	"redrain/grab/store"
)

// Shared is what the players of all nodes have in common. [store.Common] is that. With an error they answer for the
// first traits, and for the players, that they got to.
type Shared interface {
	Tell(ctx context.Context, traits []store.Trait) (having []int, err error)
	Hands(ctx context.Context, node string, own map[string]string) (others map[string][]string, err error)
}

// kind is what players may have in common.
type kind int

const (
	address kind = iota
	session
	rhythm
	kinds int = iota
)

func (k kind) String() string { return [...]string{"address", "session", "rhythm"}[k] }

// common is what a player may have in common with others.
type common struct {
	kind  kind
	value string
}

// tally is how many have something in common, over all nodes.
type tally struct {
	n  int
	at int64 // when that was so, Unix ms
}

const (
	// sharedWithin is how long a look waits for what is known of other nodes; then what is known here counts.
	sharedWithin = 500 * time.Millisecond
	// aloneFor and sharedFor are after which time it is asked again how many have something in common, in milliseconds:
	// where nobody else had it, and where somebody had.
	aloneFor, sharedFor = 10_000, 1_000
	// renewAfter is after which time a player who taps is told of again: Redis may have been lost. In milliseconds.
	renewAfter = 300_000
	// toldAtOnce is of how much the other nodes are told in one look, and of how many players that are on several it is
	// asked: it has to be done in its time. The others come with the next look, the oldest first.
	toldAtOnce = 2_000
	// plenty have something in common: how many more do changes nothing.
	plenty = 1_000
	// tallies is of how much is remembered how many have it.
	tallies = 100_000
	// leavingMost is how much waits to be told at most while Redis is away.
	leavingMost = 10_000
)

// joinHands adds what other nodes know of those who are on several. The sums of a player add up, wherever they tapped.
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

// count asks how many players of all nodes have in common what those of a look have. Who asks says that their player
// has it: each player once, and again where the answer is old.
func (w *Watch) count(ctx context.Context, round []looked) error {
	now := w.o.Clock()
	w.mu.Lock()
	left := min(len(w.leaving), toldAtOnce)
	tell, of := slices.Clone(w.leaving[:left]), slices.Repeat([]*Hand{nil}, left) // those have left
	w.leaving = slices.Delete(w.leaving, 0, left)
	var later []*Hand
	for i := range round {
		l := &round[i]
		for _, c := range l.has() {
			switch {
			case !w.toBeAsked(l, c, now):
			case len(tell)+c.asks() >= toldAtOnce:
				later = append(later, l.hand)
			default:
				around := w.askAround(c, now)
				tell, of = append(tell, around...), append(of, slices.Repeat([]*Hand{nil}, len(around))...)
				l.hand.toldOf[c.kind] = now
				tell = append(tell, store.Trait{Kind: c.kind.String(), Value: c.value, User: l.hand.who.User})
				of = append(of, l.hand)
				w.shared.Add(c, tally{w.known(c), now}) // others of this look do not ask again
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
		c := commonOf(t)
		switch {
		case i < len(having):
			w.shared.Add(c, tally{having[i], now})
		case t.User == "":
			w.shared.Remove(c)
		case !t.Gone:
			w.shared.Remove(c)
			of[i].toldOf[c.kind] = 0
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

// crowd are the rhythms around one by which it is told how many players would have it by chance: 20 to 60 ms sooner and
// later. Those of one program lie within 10.
var crowd = []int{-6, -5, -4, -3, -2, 2, 3, 4, 5, 6}

func rhythmOf(beat int) common { return common{rhythm, strconv.Itoa(beat)} }

// asks is how much may have to be asked before it is told of somebody who has it.
func (c common) asks() int {
	if c.kind == rhythm {
		return len(crowd)
	}
	return 0
}

// askAround is what has to be asked before it is told of somebody who has c, so that nobody is judged by a rhythm
// before it is known how many have one like it. It needs the lock.
func (w *Watch) askAround(c common, now int64) (ask []store.Trait) {
	if c.kind != rhythm {
		return nil
	}
	beat, _ := strconv.Atoi(c.value)
	for _, by := range crowd {
		c := rhythmOf(beat + by)
		if known, found := w.shared.Get(c); !found || now-known.at >= sharedFor {
			w.shared.Add(c, tally{known.n, now}) // others of this look do not ask again
			ask = append(ask, store.Trait{Kind: c.kind.String(), Value: c.value})
		}
	}
	return ask
}

// lookAgain has hands looked at once more, though they may not tap again.
func lookAgain(hands []*Hand) {
	for _, h := range hands {
		h.queue()
	}
}

// toBeAsked tells whether a player's having something is to be told, or to be asked about. It needs the lock.
func (w *Watch) toBeAsked(l *looked, c common, now int64) bool {
	known, found := w.shared.Get(c)
	if found && known.n >= plenty && now-known.at < aloneFor {
		return false
	}
	if told := l.hand.toldOf[c.kind]; told == 0 || now-told >= renewAfter {
		return true
	}
	fresh := int64(sharedFor)
	if known.n < 2 {
		fresh = aloneFor
	}
	if found && now-known.at < fresh {
		return false
	}
	// Everybody has an address, and it alone is no reason: it is asked about where it would be one.
	if c.kind != address {
		return true
	}
	s := w.signals(l)
	s.Winners = max(s.Winners, w.limits.Winners)
	return Judge(s, w.limits).Act != Judge(w.signals(l), w.limits).Act
}

// known is how many are known to have something in common. It needs the lock.
func (w *Watch) known(c common) int {
	t, _ := w.shared.Get(c)
	return t.n
}

// has is what a player has that others may have too.
func (l *looked) has() (all []common) {
	if l.hand.winner {
		all = append(all, common{address, l.hand.who.Address})
	}
	if l.hand.inSession {
		all = append(all, common{session, l.hand.who.Session})
	}
	if l.hand.beat != 0 {
		all = append(all, rhythmOf(l.hand.beat))
	}
	return all
}

func commonOf(t store.Trait) common {
	for k := range kinds {
		if kind(k).String() == t.Kind {
			return common{kind(k), t.Value}
		}
	}
	return common{}
}
