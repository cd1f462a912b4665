package risk

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/ledger"
	"redrain/payout/ledger/verdict"
	"redrain/rain"
)

// Verdicts keeps judgements where whoever pays reads them. [ledger.Risk] does.
type Verdicts interface {
	Give(ctx context.Context, by string, given ...verdict.Verdict) (fresh int, err error)
}

// Options of a watch.
type Options struct {
	Limits   Limits
	Verdicts Verdicts
	Told     func() // is called when there is a new verdict; nil: nobody is to know
	// Second is asked for an opinion that counts instead of the rules', where it has one. It may take a while. nil: the
	// rules' counts.
	Second     func(ctx context.Context, suspects []Suspect) map[string]verdict.Verdict
	Clock      rain.Clock
	Guard      *rounds.Guard
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
	given   verdict.Verdict
	by      string // "" before a second opinion was asked for
}

// hands is how many players a node remembers, also when they have gone: who comes back goes on where they were.
const hands = 100_000

// Watch knows the hands of this node's players, and judges those that have tapped.
type Watch struct {
	o      Options
	limits Limits
	dirty  atomic.Pointer[Hand] // a list: those that have tapped since the last look

	mu       sync.Mutex
	of       *lru.Cache[string, *Hand]
	winners  map[string]int // by address
	sessions map[string]int // players by the session of the issuer
	chorus   map[int]int    // players with steady hands by their rhythm
	untold   map[string]finding

	metrics *metrics
}

// NewWatch makes a watch of which nobody is known. Its Run must be started.
func NewWatch(o Options) *Watch {
	w := &Watch{o: o, limits: o.Limits, winners: map[string]int{}, sessions: map[string]int{}, chorus: map[int]int{},
		untold: map[string]finding{}, metrics: newMetrics(o.Registerer)}
	of, err := lru.NewWithEvict(hands, func(_ string, h *Hand) { w.forget(h) })
	if err != nil {
		panic(err) // only for a size below 1
	}
	w.of = of
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
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	database := outage.Outage{What: "writing verdicts about players; they are written when it works", Log: w.o.Log}
	for {
		database.Ended(ctx, w.o.Guard.Try("risk", func() error { return w.Look(ctx) }))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Look judges who has tapped since the last look, and has what is new written. What cannot be written is kept for the
// next look. One Look at a time.
func (w *Watch) Look(ctx context.Context) error {
	for h := w.dirty.Swap(nil); h != nil; {
		next := h.next // before the hand is queued again, which its signals allow
		w.judge(h)
		h = next
	}
	w.ask(ctx)
	return errors.Join(w.write(ctx, ledger.ByRules), w.write(ctx, ledger.ByService))
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
	var second map[string]verdict.Verdict
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
	var given []verdict.Verdict
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
func (w *Watch) judge(h *Hand) {
	s, won := h.signals()
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, _ := w.of.Peek(h.who.User); known == h {
		w.compare(h, &s, won)
	}
	j := Judge(s, w.limits)
	w.metrics.judged(j)
	if j.Act == verdict.Allow || j.Act == h.told.Act && j.Score <= h.told.Score {
		return
	}
	h.told = j
	w.untold[h.who.User] = finding{suspect: Suspect{Who: h.who, Judgement: j, Campaign: h.campaign()},
		given: verdict.Verdict{User: h.who.User, Act: j.Act, Score: j.Score, Reasons: verdict.Text(j.Reasons)}}
	w.o.Log.Info("the risk rules speak against a player", "user", h.who.User, "verdict", string(j.Act), "score",
		j.Score, "reason", j.Reasons[0].Sentence)
}

// compare fills in what a player has in common with others.
func (w *Watch) compare(h *Hand, s *Signals, won bool) {
	if won && !h.winner {
		h.winner = true
		w.winners[h.who.Address]++
	}
	beat := 0
	if s.Taps >= 2*w.limits.Taps && s.Spread < steadyFor*float64(w.limits.SpreadMS) {
		beat = 1 + int(math.Round(s.Mean/10))
	}
	if beat != h.beat {
		if h.beat != 0 {
			less(w.chorus, h.beat)
		}
		if h.beat = beat; beat != 0 {
			w.chorus[beat]++
		}
	}
	if beat != 0 {
		s.Chorus = w.chorus[beat]
	}
	s.Winners, s.Sessions = w.winners[h.who.Address], w.sessions[h.who.Session]
}
