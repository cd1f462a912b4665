package risk

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/config"
)

// Verdicts keeps judgements where whoever pays reads them. [ledger.Risk] does.
type Verdicts interface {
	Give(ctx context.Context, by string, given ...standing.Verdict) (fresh int, err error)
}

// Options of a watch.
type Options struct {
	Limits   config.RiskLimits
	Verdicts Verdicts
	Told     func() // is called when there is a new verdict; nil: nobody is to know
	// Second is asked for an opinion that counts instead of the rules', where it has one. It may take a while. nil: the
	// rules' counts.
	Second     func(ctx context.Context, suspects []Suspect) map[string]standing.Verdict
	Shared     Shared // what the players of all nodes have in common
	Node       string // this node's name there
	Clock      rain.Clock
	Recoverer  *loop.Recoverer
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Suspect is a player against whom the rules speak, and what they say.
type Suspect struct {
	Who
	Judgement

	Campaign string // where they have tapped last
}

// finding is a verdict that is not in the ledger yet.
type finding struct {
	suspect Suspect
	given   standing.Verdict
	by      string // "" before a second opinion was asked for
}

// hands is how many players a node remembers, also when they have gone: who comes back goes on where they were.
const hands = 100_000

// Watch knows the hands of this node's players, and judges those that have tapped.
type Watch struct {
	o      Options
	limits config.RiskLimits
	dirty  atomic.Pointer[Hand] // a list: those that have tapped since the last look

	mu       sync.Mutex
	of       *lru.Cache[string, *Hand]
	winners  map[string]int // by address
	sessions map[string]int // players by the session of the issuer
	chorus   map[int]int    // players with steady hands by their rhythm
	untold   map[string]finding
	shared   *lru.Cache[common, tally] // over all nodes, as far as it was asked
	leaving  []store.Trait             // what players of this node have no longer, and is to be told

	elsewhere loop.FailureLog // of what is known of the other nodes
	metrics   *metrics
}

// NewWatch makes a watch of which nobody is known. Its Run must be started.
func NewWatch(o Options) *Watch {
	w := &Watch{o: o, limits: o.Limits, winners: map[string]int{}, sessions: map[string]int{}, chorus: map[int]int{},
		untold: map[string]finding{}, metrics: newMetrics(o.Registerer),
		elsewhere: loop.FailureLog{Log: o.Log,
			Work: "asking what players of other nodes have done; each node judges by what it knows"}}
	of, err := lru.NewWithEvict(hands, func(_ string, h *Hand) { w.forget(h) })
	if err != nil {
		panic(err) // only for a size below 1
	}
	w.of = of
	if w.shared, err = lru.New[common, tally](tallies); err != nil {
		panic(err) // only for a size below 1
	}
	return w
}

// Hand is the hand of a player who has said hello. No Watch has none, and no hand is none's.
func (w *Watch) Hand(who Who) *Hand {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if h, known := w.of.Get(who.User); known {
		return h
	}
	h := &Hand{who: who, since: w.o.Clock(), watch: w}
	if who.Session != "" {
		h.inSession = true
		w.sessions[who.Session]++
	}
	w.of.Add(who.User, h)
	return h
}

// forget is called with the lock.
func (w *Watch) forget(h *Hand) {
	if h.inSession {
		less(w.sessions, h.who.Session)
	}
	if h.winner {
		less(w.winners, h.who.Address)
	}
	if h.beat != 0 {
		less(w.chorus, h.beat)
	}
	h.inSession, h.winner, h.beat = false, false, 0
}

func less[K comparable](of map[K]int, key K) {
	if of[key]--; of[key] <= 0 {
		delete(of, key)
	}
}

// Among notes on how many nodes a player is: from two on, they are judged by what they do on all. No Watch notes it.
func (w *Watch) Among(user string, nodes int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	h, known := w.of.Peek(user)
	w.mu.Unlock()
	if known {
		h.among(nodes)
	}
}

// changed puts a hand into the list, in which it is once.
func (w *Watch) changed(h *Hand) {
	for {
		h.next = w.dirty.Load()
		if w.dirty.CompareAndSwap(h.next, h) {
			return
		}
	}
}

// lookEvery is how often hands are judged: a program is known for one within its first second.
const lookEvery = 250 * time.Millisecond

// Run judges until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "risk", Work: "writing verdicts about players; they are written when it works",
		Every: lookEvery, Do: w.Look, Recoverer: w.o.Recoverer, Log: w.o.Log})
}

// looked is what is known of a player who has tapped since the last look.
type looked struct {
	hand    *Hand
	sums    sums
	won     bool
	several bool // they are on other nodes as well
	young   bool // see Signals
}

// Look judges who has tapped since the last look, and has what is new written. What cannot be written is kept for the
// next look. One Look at a time.
func (w *Watch) Look(ctx context.Context) error {
	var round []looked
	for h := w.dirty.Swap(nil); h != nil; {
		next := h.next // before the hand is queued again, which look allows
		round = append(round, h.look())
		h = next
	}
	slices.Reverse(round) // who has waited for the longest is first
	w.elsewhere.Record(ctx, w.overNodes(ctx, round))
	for i := range round {
		w.judge(&round[i])
	}
	w.ask(ctx)
	return errors.Join(w.write(ctx, ledger.ByRules), w.write(ctx, ledger.ByService))
}

// overNodes compares who has tapped with each other, and with the players of the other nodes. Where these cannot be
// asked about, what this node knows counts.
func (w *Watch) overNodes(ctx context.Context, round []looked) error {
	ctx, cancel := context.WithTimeout(ctx, sharedWithin)
	defer cancel()
	failed := w.joinHands(ctx, round)
	w.mu.Lock()
	for i := range round {
		w.compare(&round[i])
	}
	w.mu.Unlock()
	if failed != nil {
		return failed
	}
	return w.count(ctx, round)
}

// ask gets a second opinion about who is new, once; also where it cannot be written down at once.
func (w *Watch) ask(ctx context.Context) {
	var suspects []Suspect
	w.mu.Lock()
	for _, f := range w.untold {
		if f.by == "" {
			suspects = append(suspects, f.suspect)
		}
	}
	w.mu.Unlock()
	if len(suspects) == 0 {
		return
	}
	var second map[string]standing.Verdict
	if w.o.Second != nil {
		second = w.o.Second(ctx, suspects)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range suspects {
		f := w.untold[s.User]
		f.by = ledger.ByRules
		if v, answered := second[s.User]; answered {
			f.given, f.by = v, ledger.ByService
		}
		w.untold[s.User] = f
	}
}

// write has verdicts written down that somebody has given.
func (w *Watch) write(ctx context.Context, by string) error {
	var given []standing.Verdict
	w.mu.Lock()
	for _, f := range w.untold {
		if f.by == by {
			given = append(given, f.given)
		}
	}
	w.mu.Unlock()
	if len(given) == 0 {
		return nil
	}
	fresh, err := w.o.Verdicts.Give(ctx, by, given...)
	if err != nil {
		return err
	}
	if fresh > 0 && w.o.Told != nil {
		w.o.Told()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range given {
		delete(w.untold, v.User)
	}
	return nil
}

// steadyFor is how much more than SpreadMS the hands of one program may differ, as the network adds to it.
const steadyFor = 1.5

// judge asks the rules about a hand. A player is told of when it gets worse.
func (w *Watch) judge(l *looked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := l.hand
	j := Judge(w.signals(l), w.limits)
	w.metrics.judged(j)
	if j.Act == standing.Allow || j.Act == h.told.Act && j.Score <= h.told.Score {
		return
	}
	h.told = j
	w.untold[h.who.User] = finding{
		suspect: Suspect{Who: h.who, Judgement: j, Campaign: h.campaign()},
		given: standing.Verdict{
			User: h.who.User, Act: j.Act, Score: j.Score, Reasons: standing.EncodeReasons(j.Reasons),
		},
	}
	w.o.Log.Info("the risk rules speak against a player", "user", h.who.User, "verdict", string(j.Act), "score",
		j.Score, "reason", j.Reasons[0].Sentence)
}

// compare notes what a player has in common with others. A hand that is forgotten already has nothing.
func (w *Watch) compare(l *looked) {
	h := l.hand
	if known, _ := w.of.Peek(h.who.User); known != h {
		return
	}
	if l.won && !h.winner {
		h.winner = true
		w.winners[h.who.Address]++
	}
	var s Signals
	l.sums.tell(&s)
	beat := 0
	if s.Taps >= 2*w.limits.Taps && s.Spread < steadyFor*float64(w.limits.SpreadMS) {
		beat = 1 + int(math.Round(s.Mean/10))
	}
	if beat == h.beat {
		return
	}
	if h.beat != 0 {
		less(w.chorus, h.beat)
		w.leave(h)
	}
	if h.beat = beat; beat != 0 {
		w.chorus[beat]++
	}
}

// leave has it told that a hand has no longer the rhythm that it has.
func (w *Watch) leave(h *Hand) {
	if h.toldOf[rhythm] != 0 && len(w.leaving) < leavingMost {
		w.leaving = append(w.leaving, store.Trait{Kind: rhythm.String(), Value: strconv.Itoa(h.beat), User: h.who.User,
			Gone: true})
	}
	h.toldOf[rhythm] = 0
}

// signals are what the rules go by. They need the lock.
func (w *Watch) signals(l *looked) (s Signals) {
	h := l.hand
	l.sums.tell(&s)
	s.Young = l.young
	s.Winners, s.Sessions = w.winners[h.who.Address], w.sessions[h.who.Session]
	if h.beat != 0 {
		s.Chorus = w.chorus[h.beat]
		s.Crowd = w.crowdAround(h.beat)
	}
	for _, c := range l.has() {
		n := w.known(c)
		switch c.kind {
		case address:
			s.Winners = max(s.Winners, n)
		case session:
			s.Sessions = max(s.Sessions, n)
		case rhythm:
			s.Chorus = max(s.Chorus, n)
		}
	}
	return s
}

// crowdAround is how many players have a rhythm beside one: on the average of the quicker ones, or of the slower ones
// if that is more, as there may be nobody beyond the quickest of a crowd. (Radars tell an echo from clutter so:
// greatest-of CFAR, Hansen and Sawyers 1980.) It needs the lock.
func (w *Watch) crowdAround(beat int) float64 {
	var quicker, slower int
	for _, by := range crowd {
		n := max(w.chorus[beat+by], w.known(rhythmOf(beat+by)))
		if by < 0 {
			quicker += n
		} else {
			slower += n
		}
	}
	return float64(max(quicker, slower)) / float64(len(crowd)/2)
}
