package grab

import (
	"context"
	"errors"
	"log/slog"
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
	Lasts() // the wins of the last answer have what --confirm asks for
}

// confirmer confirms wins before their players are notified; confirm.Confirmer is one.
type confirmer interface {
	Immediate() bool
	Confirm(ctx context.Context, campaign string, shard int, p *confirm.Pending) error
}

// decider sends the batches of one shard to the script, and reports the results. Only one batch is in flight at a
// time, so it needs no lock.
type decider[T any] struct {
	campaign  string
	shard     int
	script    script
	confirmer confirmer
	answers   answers[T]
	metrics   *metrics
	log       *slog.Logger
	rain      func() *rain.Rain // the newest, or nil
	amounts   *rain.Amounts
	clock     rain.Clock
	shortage  *shortage[T]
	alone     bool              // the only shard of its lane: no stock can come from elsewhere
	onWin     func(*rain.Entry) // the batch's entry may leave Redis
	onSoldOut func()            // the only shard of its lane is empty
	soldOut   func() bool       // no stock is left for the lane

	empty   []*Tap[T] // of the current batch
	failing bool      // the last batch failed, and was logged
}

// decide answers every tap of the batch. If the batch fails, its taps are unavailable and undecided. The script may
// have decided them all the same. A repeated call then returns the same decisions.
//
// If wins have to be confirmed, the losers are notified at once, and the winners after the confirmation. An
// unconfirmed winner gets the answer "unavailable". The tap sent again finds the win, which is confirmed then.
func (d *decider[T]) decide(taps []*Tap[T]) error {
	ctx, cancel := context.WithTimeout(context.Background(), decideTimeout)
	defer cancel()
	r, at := d.rain(), d.clock()
	if taps = d.inTime(taps, r, at); len(taps) == 0 {
		d.answers.send()
		return nil
	}
	answer, err := d.ask(ctx, r, taps, at)
	if err != nil {
		d.logFailure(err)
		d.answer(taps, nil, true)
		return err
	}
	faults.Point("grab.after_script")
	if d.confirmer.Immediate() {
		d.script.Lasts()
	}
	immediate := d.confirmer.Immediate() || !has(answer, outcome.Won)
	for i, t := range taps {
		switch r := answer.Results[i]; {
		case r.Outcome == outcome.SoldOut && !d.alone:
			d.empty = append(d.empty, t)
		case r.Outcome != outcome.Won || immediate:
			d.answers.add(t, r, true)
		}
	}
	if d.alone && (answer.Left == 0 || has(answer, outcome.SoldOut)) {
		d.onSoldOut()
	}
	d.answers.send()
	d.wait()
	if immediate {
		d.logFailure(nil)
		d.publish(answer)
		return nil
	}
	confirmed, err := d.confirm(ctx, taps, answer)
	if confirmed(answer.Entry) {
		d.script.Lasts()
		defer d.publish(answer)
	}
	for i, t := range taps {
		switch r := answer.Results[i]; {
		case r.Outcome != outcome.Won: // notified already
		case confirmed(answer.Entries[i]):
			d.answers.add(t, r, true)
		default:
			d.answers.add(t, outcome.Result{}, true)
		}
	}
	d.answers.send()
	return err
}

// publish passes the batch's outbox entry on to the ledger. The players are notified first.
func (d *decider[T]) publish(a *store.Answer) {
	if a.Entry != "" {
		d.onWin(&a.Written)
	}
}

// inTime answers the taps that the script may not decide any more, and returns the others. These taps belong to a
// rain that another one has replaced, or arrived too long ago. The others are sealed with the time at.
func (d *decider[T]) inTime(taps []*Tap[T], r *rain.Rain, at int64) []*Tap[T] {
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
			d.answers.add(t, outcome.Result{Outcome: outcome.Late}, false)
		default:
			d.answers.add(t, outcome.Result{}, false) // the machine hung; the player may tap again
		}
	}
	return rest
}

// wait queues the taps that found the shard empty.
func (d *decider[T]) wait() {
	if len(d.empty) == 0 {
		return
	}
	last := outcome.Result{Outcome: outcome.Empty}
	if d.soldOut() {
		last.Outcome = outcome.SoldOut
	}
	if last.Outcome == outcome.SoldOut || !d.shortage.add(d.empty) {
		for _, t := range d.empty {
			d.answers.add(t, last, true)
		}
		d.answers.send()
	}
	clear(d.empty)
	d.empty = d.empty[:0]
}

// giveUp answers taps that were not sent: they are unavailable.
func (d *decider[T]) giveUp(taps []*Tap[T]) { d.answer(taps, nil, false) }

// answer gives all taps of a batch their results; without results they are unavailable.
func (d *decider[T]) answer(taps []*Tap[T], results []outcome.Result, sent bool) {
	for i, t := range taps {
		var r outcome.Result
		if results != nil {
			r = results[i]
		}
		d.answers.add(t, r, sent)
	}
	d.answers.send()
}

// ask sends the taps to the script, sealed with the time at.
func (d *decider[T]) ask(ctx context.Context, r *rain.Rain, taps []*Tap[T], at int64) (*store.Answer, error) {
	for _, t := range taps {
		d.script.Add(&t.User, t.ticket)
	}
	began := time.Now()
	answer, err := d.script.Decide(ctx, r, d.amounts, at)
	d.metrics.batchSize.Observe(float64(len(taps)))
	d.metrics.scriptSeconds.Observe(time.Since(began).Seconds())
	return answer, err
}

// has reports whether any tap of the batch has that outcome.
func has(a *store.Answer, o outcome.Outcome) bool {
	return slices.ContainsFunc(a.Results, func(r outcome.Result) bool { return r.Outcome == o })
}

// confirm confirms the batch's wins. It returns a function that reports whether the winners of an outbox entry may be
// notified.
func (d *decider[T]) confirm(ctx context.Context, taps []*Tap[T], a *store.Answer) (func(entry string) bool, error) {
	var wins confirm.Pending
	if a.Entry != "" {
		wins.AddFresh(&a.Written)
	}
	for i, t := range taps {
		if r, id := a.Results[i], a.Entries[i]; r.Outcome == outcome.Won && id != a.Entry {
			wins.AddOlder(id, rain.Win{User: t.User, Packet: r.Packet, Amount: r.Amount, Drop: t.ticket.String()})
		}
	}
	began := time.Now()
	err := d.confirmer.Confirm(ctx, d.campaign, d.shard, &wins)
	d.metrics.confirmSeconds.Observe(time.Since(began).Seconds())
	d.logFailure(err)
	if errors.Is(err, confirm.ErrForgotten) {
		err = nil // no reason to abandon the waiting taps
	}
	return wins.Confirmed, err
}

// logFailure logs when a shard's taps begin to fail and when they work again, and not each batch in between.
func (d *decider[T]) logFailure(err error) {
	switch {
	case err != nil && !d.failing:
		d.log.Warn("taps cannot be decided", "campaign", d.campaign, "shard", d.shard, "err", err)
	case err == nil && d.failing:
		d.log.Info("taps are decided again", "campaign", d.campaign, "shard", d.shard)
	}
	d.failing = err != nil
}
