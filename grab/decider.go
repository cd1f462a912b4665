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
	Add(user *string, drop rain.DropID)
	Decide(ctx context.Context) (*store.Answer, error)
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
	onWin     func() // a batch has left wins in the outbox
	onSoldOut func() // a batch has found nothing left, or has left nothing

	failing bool // the last batch failed, and the log knows
}

// decide answers every tap of the batch. Where it fails nothing is known of those that are unavailable: what the script
// may have decided all the same, it decides the same way when it is asked again.
//
// Where wins have to be confirmed, the losers are told at once, and the winners when what has to have their wins has
// them. A winner without that is told that nothing is known: the tap sent again finds the win, which is confirmed then.
func (d *decider[T]) decide(taps []*Tap[T]) error {
	ctx, cancel := context.WithTimeout(context.Background(), decideTimeout)
	defer cancel()
	answer, err := d.ask(ctx, taps)
	if err != nil {
		d.logged(err)
		d.tell(taps, nil, true)
		return err
	}
	faults.Point("grab.after_script")
	d.announce(answer)
	if d.confirmer.Immediate() || !has(answer, outcome.Won) {
		d.logged(nil)
		d.tell(taps, answer.Results, true)
		return nil
	}
	for i, t := range taps {
		if r := answer.Results[i]; r.Outcome != outcome.Won {
			d.answers.add(t, r, true)
		}
	}
	d.answers.send()
	confirmed, err := d.confirm(ctx, taps, answer)
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

// ask has the script decide the taps.
func (d *decider[T]) ask(ctx context.Context, taps []*Tap[T]) (*store.Answer, error) {
	for _, t := range taps {
		d.script.Add(&t.User, t.Drop)
	}
	began := time.Now()
	answer, err := d.script.Decide(ctx)
	d.metrics.batchSize.Observe(float64(len(taps)))
	d.metrics.scriptSeconds.Observe(time.Since(began).Seconds())
	return answer, err
}

// announce says what others have to hear of a batch, before anybody who is told of it can tap again.
func (d *decider[T]) announce(a *store.Answer) {
	won := has(a, outcome.Won)
	if has(a, outcome.SoldOut) || (won && a.Left == 0) {
		d.onSoldOut()
	}
	if won {
		d.onWin()
	}
}

// has tells whether any tap of the batch has that outcome.
func has(a *store.Answer, o outcome.Outcome) bool {
	return slices.ContainsFunc(a.Results, func(r outcome.Result) bool { return r.Outcome == o })
}

// confirm makes sure of the batch's wins, and returns of which outbox entries the winners may be told.
func (d *decider[T]) confirm(ctx context.Context, taps []*Tap[T], a *store.Answer) (func(entry string) bool, error) {
	var wins confirm.Pending
	for i, t := range taps {
		r, id := a.Results[i], a.Entries[i]
		if r.Outcome != outcome.Won {
			continue
		}
		win := rain.Win{User: t.User, Packet: r.Packet, Amount: r.Amount, Drop: t.Drop.String()}
		if id == a.Entry {
			wins.AddFresh(id, win)
		} else {
			wins.AddOlder(id, win)
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
