package grab

import (
	"context"
	"errors"
	"slices"
	"time"

	"redrain/internal/faults"
	"redrain/rain"
)

// grabTimeout is how long a batch waits for Redis before its taps are unavailable.
const grabTimeout = 2 * time.Second

// errReply is an answer of a script that this program does not understand.
var errReply = errors.New("unexpected answer of a script")

// batcher has the script decide the batches of one shard. Only one batch is under way at a time, so it needs no lock.
type batcher struct {
	gate    *Gate
	shard   int
	keys    []string
	args    []any
	results []Result
	failing bool // the last batch failed, and the log knows
}

func (k shardKeys) grabbing() []string { return []string{k.state, k.stock, k.wins, k.taps, k.outbox} }

// decide settles every tap of the batch. Where it fails nothing is known: what the script may have decided all the same, it
// decides the same way when it is asked again.
func (b *batcher) decide(taps []*tap) error {
	stock, err := b.call(taps)
	b.log(err)
	if err != nil {
		return err
	}
	faults.Point("grab.after_script")
	won := b.has(Won)
	if b.has(SoldOut) || (won && stock == 0) {
		b.gate.noteSoldOut(b.shard) // before anybody who is told can tap again
	}
	if won {
		b.gate.grabber.o.OnWin(b.gate.campaign, b.shard)
	}
	for i, t := range taps {
		t.settle(b.results[i])
	}
	return nil
}

// has tells whether any tap of the batch has that outcome.
func (b *batcher) has(o Outcome) bool {
	return slices.ContainsFunc(b.results, func(r Result) bool { return r.Outcome == o })
}

// call runs the script over the taps and leaves their results in b.results. stock is the number of packets left.
func (b *batcher) call(taps []*tap) (stock int64, err error) {
	g := b.gate.grabber
	b.args = b.args[:0]
	for _, t := range taps {
		b.args = append(b.args, &t.user, &t.drop) // pointers, because a string in an interface is an allocation
	}
	ctx, cancel := context.WithTimeout(context.Background(), grabTimeout)
	defer cancel()
	began := time.Now()
	answer, err := g.run(ctx, g.scripts.grab, b.keys, b.args...).Slice()
	g.metrics.batchSize.Observe(float64(len(taps)))
	g.metrics.scriptSeconds.Observe(time.Since(began).Seconds())
	clear(b.args)
	if err != nil {
		return 0, err
	}
	b.results, stock, err = parseAnswer(b.results[:0], answer, len(taps))
	return stock, err
}

// parseAnswer reads what grab.lua returns for n taps, and appends their results. Nothing but the whole is taken: a result
// given to the wrong tap would be a promise to the wrong player.
func parseAnswer(results []Result, answer []any, n int) (_ []Result, stock int64, err error) {
	next := func() (v int64) {
		if len(answer) == 0 {
			err = errReply
			return 0
		}
		v, ok := answer[0].(int64)
		if !ok {
			err = errReply
		}
		answer = answer[1:]
		return v
	}
	stock = next()
	for range n {
		outcome, ok := outcomeOf(next())
		if !ok {
			return results, 0, errReply
		}
		r := Result{Outcome: outcome}
		if outcome == Won {
			r.Packet, r.Amount = int(next()), rain.Money(next())
			if r.Amount < 1 {
				return results, 0, errReply
			}
		}
		results = append(results, r)
	}
	if err != nil || len(answer) != 0 || stock < 0 {
		return results, 0, errReply
	}
	return results, stock, nil
}

// log says when a shard's taps begin to fail and when they work again, and not each batch in between.
func (b *batcher) log(err error) {
	log := b.gate.grabber.o.Log
	switch {
	case err != nil && !b.failing:
		log.Warn("taps cannot be decided", "campaign", b.gate.campaign, "shard", b.shard, "err", err)
	case err == nil && b.failing:
		log.Info("taps are decided again", "campaign", b.gate.campaign, "shard", b.shard)
	}
	b.failing = err != nil
}
