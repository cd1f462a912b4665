package grab

import (
	"context"
	"errors"
	"slices"
	"time"

	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/faults"
	"redrain/rain"
)

// decideTimeout is the longest that a batch of taps may wait for its decision by Redis and, with --confirm, by a
// replica or JetStream. Then its taps are unavailable. Taps that arrive meanwhile are in the next batch.
const decideTimeout = 2 * time.Second

// script decides the taps on one shard; store.Batch is one.
type script interface {
	Add(user *string, ticket rain.Ticket)
	Decide(ctx context.Context, of *rain.Rain, amounts *rain.Amounts, at int64) (*store.Answer, error)
	Confirmed() // records that the wins of the last answer are confirmed
}

// confirmer confirms wins before their players are notified; confirm.Confirmer is one.
type confirmer interface {
	Immediate() bool
	Confirm(ctx context.Context, campaign string, shard int, p *confirm.Pending) error
}

// shard decides the taps of one shard: it sends their batches to the script, and reports the results. Only one batch
// is in flight at a time, so deciding needs no lock.
type shard[T any] struct {
	*coalescer[*Tap[T]]

	gate      *Gate[T]
	number    int
	lane      rain.Lane
	alone     bool // the only shard of its lane: no stock can come from elsewhere
	amounts   *rain.Amounts
	script    script
	confirmer confirmer
	metrics   *metrics
	answers   answers[T]
	shortage  *shortage[T]

	foundEmpty []*Tap[T] // of the current batch
	failing    bool      // the last batch failed, and was logged
}

// shard makes the shard of a gate with a number.
func (gs *Gates[T]) shard(g *Gate[T], number int, amounts *rain.Amounts) *shard[T] {
	lane := g.layout.LaneOfShard(number)
	shards, _ := g.layout.Part(lane)
	s := &shard[T]{
		gate: g, number: number, lane: lane, alone: shards.Count() == 1, amounts: amounts,
		script: gs.scripts(g.campaign, number), confirmer: gs.confirmer, metrics: gs.metrics,
	}
	s.coalescer = newCoalescer(gs.work, s.decide, func(taps []*Tap[T]) { s.unavailable(taps, false) })
	s.answers = answers[T]{report: gs.answer, next: s.push}
	s.shortage = newShortage(s)
	return s
}

// soldOut reports whether no stock is left for the lane.
func (s *shard[T]) soldOut() bool { return s.gate.soldOut[s.lane].Load() }

// decide answers every tap of the batch. If the batch fails, its taps are unavailable and undecided. The script may
// have decided them all the same. A repeated call then returns the same decisions.
//
// If wins have to be confirmed, the losers are notified at once, and the winners after the confirmation. An
// unconfirmed winner gets the answer "unavailable". The tap sent again finds the win, which is confirmed then.
func (s *shard[T]) decide(taps []*Tap[T]) error {
	ctx, cancel := context.WithTimeout(context.Background(), decideTimeout)
	defer cancel()
	r, at := s.gate.view.Load().rain, s.gate.o.Clock()
	if taps = s.inTime(taps, r, at); len(taps) == 0 {
		s.answers.send()
		return nil
	}
	answer, err := s.ask(ctx, r, taps, at)
	if err != nil {
		s.logFailure(err)
		s.unavailable(taps, true)
		return err
	}
	faults.Point("grab.after_script")
	if s.confirmer.Immediate() {
		s.script.Confirmed()
	}
	immediate := s.confirmer.Immediate() || !has(answer, outcome.Won)
	for i, t := range taps {
		switch r := answer.Results[i]; {
		case r.Outcome == outcome.SoldOut && !s.alone:
			s.foundEmpty = append(s.foundEmpty, t)
		case r.Outcome != outcome.Won || immediate:
			s.answers.add(t, r, true)
		}
	}
	if s.alone && (answer.Left == 0 || has(answer, outcome.SoldOut)) {
		s.gate.SoldOut(s.lane)
	}
	s.answers.send()
	s.queueForStock()
	if immediate {
		s.logFailure(nil)
		s.publish(answer)
		return nil
	}
	confirmed, err := s.confirm(ctx, taps, answer)
	if confirmed(answer.EntryID) {
		s.script.Confirmed()
		defer s.publish(answer)
	}
	for i, t := range taps {
		switch r := answer.Results[i]; {
		case r.Outcome != outcome.Won: // notified already
		case confirmed(answer.EntryIDs[i]):
			s.answers.add(t, r, true)
		default:
			s.answers.add(t, outcome.Result{}, true)
		}
	}
	s.answers.send()
	return err
}

// publish passes the batch's outbox entry to OnWin. The players are notified first.
func (s *shard[T]) publish(a *store.Answer) {
	if a.EntryID != "" {
		s.gate.o.OnWin(&a.Entry)
	}
}

// inTime keeps the taps of the current rain that arrived at most SealWithinMS before at, the time of the seals. It
// answers the others.
func (s *shard[T]) inTime(taps []*Tap[T], r *rain.Rain, at int64) []*Tap[T] {
	good := func(t *Tap[T]) bool { return r != nil && r.Has(t.Drop.N) && at-t.came <= rain.SealWithinMS }
	if !slices.ContainsFunc(taps, func(t *Tap[T]) bool { return !good(t) }) {
		return taps // nearly always
	}
	var rest []*Tap[T]
	for _, t := range taps {
		switch {
		case good(t):
			rest = append(rest, t)
		case r == nil || !r.Has(t.Drop.N):
			s.answers.add(t, outcome.Result{Outcome: outcome.Late}, false)
		default:
			s.answers.add(t, outcome.Result{}, false) // the machine hung; the player may tap again
		}
	}
	return rest
}

// queueForStock queues the taps that found the shard empty.
func (s *shard[T]) queueForStock() {
	if len(s.foundEmpty) == 0 {
		return
	}
	last := outcome.Result{Outcome: outcome.Empty}
	if s.soldOut() {
		last.Outcome = outcome.SoldOut
	}
	if last.Outcome == outcome.SoldOut || !s.shortage.add(s.foundEmpty) {
		for _, t := range s.foundEmpty {
			s.answers.add(t, last, true)
		}
		s.answers.send()
	}
	clear(s.foundEmpty)
	s.foundEmpty = s.foundEmpty[:0]
}

// unavailable answers all taps of a batch. sent says whether the script may have seen them.
func (s *shard[T]) unavailable(taps []*Tap[T], sent bool) {
	for _, t := range taps {
		s.answers.add(t, outcome.Result{}, sent)
	}
	s.answers.send()
}

// ask sends the taps to the script, sealed with the time at.
func (s *shard[T]) ask(ctx context.Context, r *rain.Rain, taps []*Tap[T], at int64) (*store.Answer, error) {
	for _, t := range taps {
		s.script.Add(&t.User, t.ticket)
	}
	began := time.Now()
	answer, err := s.script.Decide(ctx, r, s.amounts, at)
	s.metrics.batchSize.Observe(float64(len(taps)))
	s.metrics.scriptSeconds.Observe(time.Since(began).Seconds())
	return answer, err
}

// has reports whether any tap of the batch has that outcome.
func has(a *store.Answer, o outcome.Outcome) bool {
	return slices.ContainsFunc(a.Results, func(r outcome.Result) bool { return r.Outcome == o })
}

// confirm confirms the batch's wins. It returns a function that reports whether the winners of an outbox entry may be
// notified.
func (s *shard[T]) confirm(ctx context.Context, taps []*Tap[T], a *store.Answer) (func(entry string) bool, error) {
	var wins confirm.Pending
	if a.EntryID != "" {
		wins.Add(a.EntryID, a.Entry.Wins[0], &a.Entry)
	}
	for i, t := range taps {
		if r, id := a.Results[i], a.EntryIDs[i]; r.Outcome == outcome.Won && id != a.EntryID {
			wins.Add(id, rain.Win{User: t.User, Packet: r.Packet, Amount: r.Amount, Drop: t.ticket.String()}, nil)
		}
	}
	began := time.Now()
	err := s.confirmer.Confirm(ctx, s.gate.campaign, s.number, &wins)
	s.metrics.confirmSeconds.Observe(time.Since(began).Seconds())
	s.logFailure(err)
	if errors.Is(err, confirm.ErrForgotten) {
		err = nil // no reason to abandon the waiting taps
	}
	return wins.Confirmed, err
}

// logFailure logs when a shard's taps begin to fail and when they work again, and not each batch in between.
func (s *shard[T]) logFailure(err error) {
	switch {
	case err != nil && !s.failing:
		s.gate.o.Log.Warn("taps cannot be decided", "campaign", s.gate.campaign, "shard", s.number, "err", err)
	case err == nil && s.failing:
		s.gate.o.Log.Info("taps are decided again", "campaign", s.gate.campaign, "shard", s.number)
	}
	s.failing = err != nil
}
