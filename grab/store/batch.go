package store

import (
	"context"

	"redrain/rain"
)

// Batch has the script decide taps on one shard, many at once. It is used by one goroutine at a time, again and
// again: what it needs for a batch it keeps for the next one.
type Batch struct {
	*client

	keys   []string
	args   []any
	text   []byte   // the drops, one after the other
	ends   []int    // where each of them ends in it
	drops  []string // each
	answer Answer
}

// NewBatch makes an empty batch for a shard.
func NewBatch(s *Store, campaign string, shard int) *Batch {
	return &Batch{client: s.client, keys: s.keys.shard(campaign, shard).grabbing()}
}

func (k Keys) grabbing() []string { return []string{k.State, k.Stock, k.Wins, k.Taps, k.Outbox} }

// Add puts a tap of a player on a drop into the batch. The user is a pointer, because a string in an interface is an
// allocation; it is read until Decide returns.
func (b *Batch) Add(user *string, drop rain.DropID) {
	b.args = append(b.args, user)
	b.text = drop.Append(b.text)
	b.ends = append(b.ends, len(b.text))
}

// Decide has the script decide what was added, in that order, and empties the batch. The answer is good until the
// next Decide. After an error nobody knows what was decided; asked again, the script decides it the same way.
func (b *Batch) Decide(ctx context.Context) (*Answer, error) {
	n := len(b.ends)
	all, from := string(b.text), 0
	for _, end := range b.ends {
		b.drops = append(b.drops, all[from:end])
		from = end
	}
	for i := range b.drops {
		b.args = append(b.args, &b.drops[i])
	}
	reply, err := b.run(ctx, b.scripts.grab, b.keys, b.args...).Text()
	clear(b.args)
	b.args, b.text, b.ends, b.drops = b.args[:0], b.text[:0], b.ends[:0], b.drops[:0]
	if err != nil {
		return nil, err
	}
	if err := b.answer.parse(reply, n); err != nil {
		return nil, err
	}
	return &b.answer, nil
}
