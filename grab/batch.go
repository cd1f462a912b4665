package grab

import (
	"context"
	"errors"
	"fmt"
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
	text    []byte   // the batch's drops, one after the other
	ends    []int    // where each of them ends in it
	drops   []string // each
	answer  answer
	teller  teller
	failing bool // the last batch failed, and the log knows
}

func (k shardKeys) grabbing() []string { return []string{k.state, k.stock, k.wins, k.taps, k.outbox} }

// decide settles every tap of the batch. Where it fails nothing is known of those that it leaves: what the script
// may have decided all the same, it decides the same way when it is asked again.
func (b *batcher) decide(taps []*Tap) error {
	ctx, cancel := context.WithTimeout(context.Background(), grabTimeout)
	defer cancel()
	if err := b.call(ctx, taps); err != nil {
		b.log(err)
		return err
	}
	faults.Point("grab.after_script")
	won := b.has(Won)
	if b.has(SoldOut) || (won && b.answer.stock == 0) {
		b.gate.noteSoldOut(b.shard) // before anybody who is told can tap again
	}
	g := b.gate.grabber
	if won {
		g.o.OnWin(b.gate.campaign, b.shard)
	}
	if won && g.confirmer != nil {
		return b.settleConfirmed(ctx, taps)
	}
	b.log(nil)
	for i, t := range taps {
		t.settle(b.answer.results[i])
	}
	return nil
}

// settleConfirmed settles the batch's losers at once, and its winners when what has to have their wins has them. A
// winner without that is told that nothing is known: the tap sent again finds the win, which is confirmed then.
func (b *batcher) settleConfirmed(ctx context.Context, taps []*Tap) error {
	all := promises{packets: map[int]struct{}{}}
	for i, t := range taps {
		if r := b.answer.results[i]; r.Outcome != Won {
			t.settle(r)
		} else {
			b.promise(&all, i, rain.Win{User: t.User, Packet: r.Packet, Amount: r.Amount, Drop: t.Drop.String()})
		}
	}
	b.teller.tell(taps) // the losers need not wait
	g := b.gate.grabber
	began := time.Now()
	err := g.confirmer.confirm(ctx, b.gate.campaign, b.shard, all.list)
	g.metrics.confirmSeconds.Observe(time.Since(began).Seconds())
	switch {
	case err != nil:
		err = fmt.Errorf("wins cannot be confirmed (%s): %w", g.o.Confirm, err)
		b.log(err)
	case !all.allKept():
		b.log(errForgotten) // no reason to give up those that wait
	default:
		b.log(nil)
	}
	for i, t := range taps {
		switch r := b.answer.results[i]; {
		case r.Outcome != Won:
		case all.kept(b.answer.entries[i]):
			t.settle(r)
		default:
			t.settle(Result{Outcome: Unavailable})
		}
	}
	return err
}

// promise adds the win of the i-th tap.
func (b *batcher) promise(all *promises, i int, win rain.Win) {
	p := all.add(b.answer.entries[i], win)
	if p.entry != b.answer.entry {
		return // an older one; the outbox has its wins
	}
	// A player may stand in a batch twice with the same drop, and has won it once.
	if _, twice := all.packets[win.Packet]; !twice {
		all.packets[win.Packet] = struct{}{}
		p.wins = append(p.wins, win)
	}
}

// has tells whether any tap of the batch has that outcome.
func (b *batcher) has(o Outcome) bool {
	return slices.ContainsFunc(b.answer.results, func(r Result) bool { return r.Outcome == o })
}

// call runs the script over the taps and leaves its answer in b.answer.
func (b *batcher) call(ctx context.Context, taps []*Tap) error {
	g := b.gate.grabber
	b.prepare(taps)
	began := time.Now()
	reply, err := g.run(ctx, g.scripts.grab, b.keys, b.args...).Text()
	g.metrics.batchSize.Observe(float64(len(taps)))
	g.metrics.scriptSeconds.Observe(time.Since(began).Seconds())
	clear(b.args)
	if err != nil {
		return err
	}
	return b.answer.parse(reply, len(taps))
}

// prepare puts the script's arguments together: the users, then their drops. They are pointers, because a string in
// an interface is an allocation; and the drops' texts are parts of one.
func (b *batcher) prepare(taps []*Tap) {
	b.args, b.text, b.ends, b.drops = b.args[:0], b.text[:0], b.ends[:0], b.drops[:0]
	for _, t := range taps {
		t.sent = true
		b.args = append(b.args, &t.User)
		b.text = t.Drop.Append(b.text)
		b.ends = append(b.ends, len(b.text))
	}
	all, from := string(b.text), 0
	for _, end := range b.ends {
		b.drops = append(b.drops, all[from:end])
		from = end
	}
	for i := range b.drops {
		b.args = append(b.args, &b.drops[i])
	}
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
