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

// decideTimeout is how long a batch waits for Redis before its taps are unavailable.
const decideTimeout = 2 * time.Second

// decider has the script decide the batches of one shard, and tells the results. Only one batch is under way at a time,
// so it needs no lock.
type decider[T any] struct {
	gate    *Gate[T]
	shard   int
	script  script
	answers answers[T]
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
		d.log(err)
		d.tell(taps, nil, true)
		return err
	}
	faults.Point("grab.after_script")
	d.announce(answer)
	if d.gate.gates.confirmer.Immediate() || !has(answer, outcome.Won) {
		d.log(nil)
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
	m := d.gate.gates.metrics
	m.batchSize.Observe(float64(len(taps)))
	m.scriptSeconds.Observe(time.Since(began).Seconds())
	return answer, err
}

// announce says what others have to hear of a batch, before anybody who is told of it can tap again.
func (d *decider[T]) announce(a *store.Answer) {
	won := has(a, outcome.Won)
	if has(a, outcome.SoldOut) || (won && a.Left == 0) {
		d.gate.noteSoldOut(d.shard)
	}
	if won {
		d.gate.gates.o.OnWin(d.gate.campaign, d.shard)
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
	gs := d.gate.gates
	began := time.Now()
	err := gs.confirmer.Confirm(ctx, d.gate.campaign, d.shard, &wins)
	gs.metrics.confirmSeconds.Observe(time.Since(began).Seconds())
	d.log(err)
	if errors.Is(err, confirm.ErrForgotten) {
		err = nil // no reason to give up those that wait
	}
	return wins.Confirmed, err
}

// log says when a shard's taps begin to fail and when they work again, and not each batch in between.
func (d *decider[T]) log(err error) {
	log := d.gate.gates.o.Log
	switch {
	case err != nil && !d.failing:
		log.Warn("taps cannot be decided", "campaign", d.gate.campaign, "shard", d.shard, "err", err)
	case err == nil && d.failing:
		log.Info("taps are decided again", "campaign", d.gate.campaign, "shard", d.shard)
	}
	d.failing = err != nil
}
