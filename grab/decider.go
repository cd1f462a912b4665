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

// decideTimeout is the longest that a batch of taps may wait for its decision, by Redis and, with --confirm, by a
// replica or JetStream. Then its taps are unavailable. A tap that comes while a batch is away waits for the next one.
const decideTimeout = 2 * time.Second

// script decides the taps on one shard; store.Batch is one.
type script interface {
	Add(user *string, ticket rain.Ticket)
	Decide(ctx context.Context, of *rain.Rain, amounts *rain.Amounts, at int64) (*store.Answer, error)
	Lasts() // what the last answer told has what --confirm asks for
}

// confirmer makes sure of wins before their players are told; confirm.Confirmer is one.
type confirmer interface {
	Immediate() bool
	Confirm(ctx context.Context, campaign string, shard int, p *confirm.Pending) error
}

// decider has the script decide the batches of one shard, and tells the results. Only one batch is under way at a time,
// so it needs no lock.
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
	drought   *drought[T]
	alone     bool              // its lane has no other shard that stock could come from
	onWin     func(*rain.Entry) // what a batch has won may leave Redis
	onSoldOut func()            // the only shard of its lane has nothing left
	soldOut   func() bool       // nothing is left for the lane

	dry     []*Tap[T] // of the batch in hand
	failing bool      // the last batch failed, and the log knows
}

// decide answers every tap of the batch. Where it fails nothing is known of those that are unavailable: what the script
// may have decided all the same, it decides the same way when it is asked again.
//
// Where wins have to be confirmed, the losers are told at once, and the winners when what has to have their wins has
// them. A winner without that is told that nothing is known: the tap sent again finds the win, which is confirmed then.
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
		d.logged(err)
		d.tell(taps, nil, true)
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
			d.dry = append(d.dry, t)
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
		d.logged(nil)
		d.leaves(answer)
		return nil
	}
	confirmed, err := d.confirm(ctx, taps, answer)
	if confirmed(answer.Entry) {
		d.script.Lasts()
		defer d.leaves(answer)
	}
	for i, t := range taps {
		switch r := answer.Results[i]; {
		case r.Outcome != outcome.Won: // has been told
		case confirmed(answer.Entries[i]):
			d.answers.add(t, r, true)
		default:
			d.answers.add(t, outcome.Result{}, true)
		}
	}
	d.answers.send()
	return err
}

// leaves sends what was won now on its way to the ledger. The players are told first.
func (d *decider[T]) leaves(a *store.Answer) {
	if a.Entry != "" {
		d.onWin(&a.Written)
	}
}

// inTime answers the taps that the script may not decide any more, at being the time that they are sealed with, and
// returns the others: those that are not of a rain, because another one has been scheduled since they came, and those
// that came too long ago.
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
			d.answers.add(t, outcome.Result{}, false) // the machine hung; it may be tapped again
		}
	}
	return rest
}

// wait lets the taps wait for which the shard has nothing left.
func (d *decider[T]) wait() {
	if len(d.dry) == 0 {
		return
	}
	last := outcome.Result{Outcome: outcome.Empty}
	if d.soldOut() {
		last.Outcome = outcome.SoldOut
	}
	if last.Outcome == outcome.SoldOut || !d.drought.add(d.dry) {
		for _, t := range d.dry {
			d.answers.add(t, last, true)
		}
		d.answers.send()
	}
	clear(d.dry)
	d.dry = d.dry[:0]
}

// giveUp tells taps that were not sent that nothing is known of them.
func (d *decider[T]) giveUp(taps []*Tap[T]) { d.tell(taps, nil, false) }

// tell tells all taps of a batch their results; that they are unavailable where there are none.
func (d *decider[T]) tell(taps []*Tap[T], results []outcome.Result, sent bool) {
	for i, t := range taps {
		var r outcome.Result
		if results != nil {
			r = results[i]
		}
		d.answers.add(t, r, sent)
	}
	d.answers.send()
}

// ask has the script decide the taps, sealed with the time at.
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

// has tells whether any tap of the batch has that outcome.
func has(a *store.Answer, o outcome.Outcome) bool {
	return slices.ContainsFunc(a.Results, func(r outcome.Result) bool { return r.Outcome == o })
}

// confirm makes sure of the batch's wins, and returns of which outbox entries the winners may be told.
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
	d.logged(err)
	if errors.Is(err, confirm.ErrForgotten) {
		err = nil // no reason to give up those that wait
	}
	return wins.Confirmed, err
}

// logged says in the log when a shard's taps begin to fail and when they work again, and not each batch in between.
func (d *decider[T]) logged(err error) {
	switch {
	case err != nil && !d.failing:
		d.log.Warn("taps cannot be decided", "campaign", d.campaign, "shard", d.shard, "err", err)
	case err == nil && d.failing:
		d.log.Info("taps are decided again", "campaign", d.campaign, "shard", d.shard)
	}
	d.failing = err != nil
}
