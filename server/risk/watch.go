package risk

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/config"
)

// Verdicts stores judgements for the payers. [ledger.Risk] implements it.
type Verdicts interface {
	Give(ctx context.Context, by string, given ...standing.Verdict) (fresh int, err error)
}

// Options of a Watch. All are required unless stated otherwise.
type Options struct {
	Limits   config.RiskLimits
	Verdicts Verdicts
	Told     func() // called after each new verdict; may be nil
	// Second returns second opinions, which override the rules'. It may take a while. Nil: the rules' opinion counts.
	Second     func(ctx context.Context, suspects []Suspect) map[string]standing.Verdict
	Shared     Shared // the common traits of players over all nodes
	Node       string // this node's name there
	Clock      rain.Clock
	Recoverer  *loop.Recoverer
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// hands is the number of players that a node remembers, including players who have left: a returning player continues
// the same profile.
const hands = 100_000

// Watch holds the hands of this node's players, and judges those who have tapped.
type Watch struct {
	o      Options
	limits config.RiskLimits
	dirty  atomic.Pointer[Hand] // a list of the hands with taps since the last look

	mu       sync.Mutex
	of       *lru.Cache[string, *Hand]      // by player
	winners  map[string]int                 // by address
	sessions map[string]int                 // players by the session of the issuer
	chorus   map[int]int                    // players with steady hands by their rhythm
	shared   *lru.Cache[store.Trait, tally] // cached counts over all nodes
	leaving  []store.Trait                  // removed traits of this node's players, to be reported

	untold    map[string]finding // by player; only Look uses it
	elsewhere loop.FailureLog    // of reading the other nodes' data
	metrics   *metrics
}

// NewWatch returns a watch without players. Its Run must be started.
func NewWatch(o Options) *Watch {
	w := &Watch{o: o, limits: o.Limits, winners: map[string]int{}, sessions: map[string]int{}, chorus: map[int]int{},
		untold: map[string]finding{}, metrics: newMetrics(o.Registerer),
		elsewhere: loop.FailureLog{Log: o.Log,
			Work: "read the traits of other nodes' players; each node judges by its own data"}}
	of, err := lru.NewWithEvict(hands, func(_ string, h *Hand) { w.forget(h) })
	if err != nil {
		panic(err) // only for a size below 1
	}
	w.of = of
	if w.shared, err = lru.New[store.Trait, tally](tallies); err != nil {
		panic(err) // only for a size below 1
	}
	return w
}

// Hand returns the hand of a player who has said hello. A nil Watch returns nil.
func (w *Watch) Hand(who Caller) *Hand {
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

// forget drops a hand. It needs the lock.
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

// Among records the number of a player's nodes: from two on, the player is judged by the taps on all. A nil Watch does
// nothing.
func (w *Watch) Among(user string, nodes int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if h, known := w.of.Peek(user); known {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.several = h.several || nodes > 1
	}
}

// changed adds a hand to the list, once.
func (w *Watch) changed(h *Hand) {
	for {
		h.next = w.dirty.Load()
		if w.dirty.CompareAndSwap(h.next, h) {
			return
		}
	}
}

// lookEvery is the interval at which hands are judged: a program is detected within its first second.
const lookEvery = 250 * time.Millisecond

// Run judges until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "risk", Work: "write verdicts about players; they are retried",
		Every: lookEvery, Do: w.Look, Recoverer: w.o.Recoverer, Log: w.o.Log})
}

// looked is the state of a player who has tapped since the last look.
type looked struct {
	hand    *Hand
	sums    sums
	in      string // the campaign of the last tap
	won     bool
	several bool // the player is on other nodes too
	young   bool // see Signals
}

// Look judges the players with taps since the last look, and writes new verdicts. If a write fails, the next look
// repeats it. One Look at a time.
func (w *Watch) Look(ctx context.Context) error {
	var round []looked
	for h := w.dirty.Swap(nil); h != nil; {
		next := h.next // before look allows the hand to be queued again
		round = append(round, h.look())
		h = next
	}
	slices.Reverse(round) // the longest wait first
	w.elsewhere.Record(ctx, w.overNodes(ctx, round))
	var suspects []Suspect
	for i := range round {
		if s, isNew := w.judge(&round[i]); isNew {
			suspects = append(suspects, s)
		}
	}
	w.ask(ctx, suspects)
	return errors.Join(w.write(ctx, ledger.ByRules), w.write(ctx, ledger.ByService))
}

// overNodes compares the players of a look with each other and with those of other nodes. If Redis fails, this node's
// data counts.
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

// ask requests a second opinion about new findings, once, even if the verdict cannot be written at once.
func (w *Watch) ask(ctx context.Context, suspects []Suspect) {
	for _, s := range suspects {
		w.untold[s.User] = finding{by: ledger.ByRules, given: standing.Verdict{User: s.User, Act: s.Act, Score: s.Score,
			Reasons: standing.EncodeReasons(s.Reasons)}}
	}
	if w.o.Second != nil && len(suspects) > 0 {
		for user, v := range w.o.Second(ctx, suspects) {
			w.untold[user] = finding{by: ledger.ByService, given: v}
		}
	}
}

// write writes the verdicts of an author.
func (w *Watch) write(ctx context.Context, by string) error {
	var given []standing.Verdict
	for _, f := range w.untold {
		if f.by == by {
			given = append(given, f.given)
		}
	}
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
	for _, v := range given {
		delete(w.untold, v.User)
	}
	return nil
}

// steadyFor is the factor on SpreadMS for the hands of one program, because the network adds jitter.
const steadyFor = 1.5

// judge applies the rules to a hand. It returns a suspect if the verdict gets worse.
func (w *Watch) judge(l *looked) (s Suspect, isNew bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := l.hand
	j := Judge(w.signals(l), w.limits)
	w.metrics.judgements.WithLabelValues(string(j.Act)).Inc()
	for _, r := range j.Reasons {
		w.metrics.reasons.WithLabelValues(r.Rule).Inc()
	}
	if j.Act == standing.Allow || j.Act == h.told.Act && j.Score <= h.told.Score {
		return s, false
	}
	h.told = j
	s = Suspect{Caller: h.who, Judgement: j}
	s.Campaign = l.in
	w.o.Log.Info("the risk rules have a verdict against a player", "user", h.who.User, "verdict", string(j.Act),
		"score", j.Score, "reason", j.Reasons[0].Sentence)
	return s, true
}

// compare counts a player's common traits. A dropped hand has none.
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
	l.sums.setSignals(&s)
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

// leave removes a hand from its rhythm, and queues the report.
func (w *Watch) leave(h *Hand) {
	t := rhythmOf(h.beat)
	if told := h.toldAt(t); *told != 0 {
		*told = 0
		if len(w.leaving) < leavingMost {
			t.User, t.Gone = h.who.User, true
			w.leaving = append(w.leaving, t)
		}
	}
}

// signals returns the input of the rules. It needs the lock.
func (w *Watch) signals(l *looked) (s Signals) {
	h := l.hand
	l.sums.setSignals(&s)
	s.Young = l.young
	s.Winners, s.Sessions = w.winners[h.who.Address], w.sessions[h.who.Session]
	if h.beat != 0 {
		s.Chorus = w.chorus[h.beat]
		s.Crowd = w.crowdAround(h.beat)
	}
	for _, c := range l.has() {
		n := w.known(c)
		switch c.Kind {
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

// crowdAround returns the average number of players at the neighbouring rhythms. It takes the greater one of the
// earlier and the later ones, because a crowd has an edge. It is the greatest-of CFAR of radars (Hansen and Sawyers
// 1980). It needs the lock.
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

type metrics struct {
	judgements *prometheus.CounterVec
	reasons    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := promauto.With(reg)
	m := &metrics{
		judgements: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_judgements_total",
			Help: "Judgements of players who have tapped, by verdict.",
		}, []string{"verdict"}),
		reasons: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_reasons_total", Help: "Findings of each rule against players.",
		}, []string{"rule"}),
	}
	for _, v := range []standing.VerdictAct{standing.Allow, standing.Hold, standing.Deny} {
		m.judgements.WithLabelValues(string(v))
	}
	for _, r := range Rules {
		m.reasons.WithLabelValues(r.Name)
	}
	return m
}
