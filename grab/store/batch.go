package store

import (
	"context"
	"errors"
	"strings"

	"redrain/internal/seal"
	"redrain/rain"
)

// Batch sends taps on one shard to the script, many at once. It is not safe for concurrent use. It is used again and
// again, and keeps its memory.
type Batch struct {
	*client

	campaign string
	shard    int
	keys     []string
	users    []any
	asked    []rain.Ticket
	text     []byte // tickets and lines of the taps, one after the other
	ends     []int  // the end of each of them in it
	tickets  []string
	seals    []string
	lines    string
	args     []any
	seen     witnessed
	answer   Answer
}

// witnessed is the state of a shard that this node has seen in Redis. A Redis with less has been rolled back.
type witnessed struct {
	entry string // the newest
	moves int64
}

// NewBatch returns an empty batch for a shard.
func NewBatch(s *Store, campaign string, shard int) *Batch {
	return &Batch{client: s.client, campaign: campaign, shard: shard, keys: s.keys.shard(campaign, shard).grabbing(),
		seen: witnessed{entry: nothingYet}}
}

// Add adds a player's tap with a ticket to the batch. A player may be in it once. The user is a pointer, because a
// string in an interface is an allocation; it is read until Decide returns.
func (b *Batch) Add(user *string, ticket rain.Ticket) {
	b.users = append(b.users, user)
	b.asked = append(b.asked, ticket)
}

// Decide sends the added taps in a rain to the script, in their order, sealed with the time at, and empties the
// batch. The answer is valid until the next Decide. After an error the taps are undecided; a repeated call returns
// the same decisions.
func (b *Batch) Decide(ctx context.Context, of *rain.Rain, amounts *rain.Amounts, at int64) (*Answer, error) {
	n := len(b.users)
	b.write(at)
	b.args = append(b.args, of.FirstWave, b.seen.entry, b.seen.moves, at, &b.lines)
	b.args = append(b.args, b.users...)
	for i := range b.tickets {
		b.args = append(b.args, &b.tickets[i])
	}
	reply, err := b.run(ctx, b.scripts.grab, b.keys, b.args...).Text()
	defer b.reset()
	if err == nil {
		err = b.answer.parse(reply, n, amounts)
	}
	if errors.Is(err, ErrBehind) {
		// Until it is restored no other node may use it either, also one without knowledge of the loss.
		if _, losing := (&Moves{b.client}).Lose(ctx, b.campaign, b.shard, b.seen.entry, b.seen.moves); losing != nil {
			err = errors.Join(err, losing)
		}
	}
	if err != nil {
		return nil, err
	}
	if b.answer.Entry != "" {
		b.answer.Written = b.written(at)
	}
	return &b.answer, nil
}

// Lasts records that the wins of the last answer are confirmed. If Redis lacks them later, it was rolled back, and
// every later Decide fails. Redis may lose unconfirmed wins: no player was notified of them.
func (b *Batch) Lasts() {
	if b.answer.Entry != "" {
		b.seen.entry = b.answer.Entry
	}
	b.seen.moves = max(b.seen.moves, b.answer.moves)
}

// reset removes the taps.
func (b *Batch) reset() {
	clear(b.args)
	clear(b.users)
	clear(b.tickets)
	clear(b.seals)
	b.args, b.users, b.asked, b.tickets, b.seals = b.args[:0], b.users[:0], b.asked[:0], b.tickets[:0], b.seals[:0]
	b.lines = ""
}

// written returns the outbox entry of the new wins.
func (b *Batch) written(at int64) rain.Entry {
	e := rain.Entry{Ref: rain.EntryRef{Campaign: b.campaign, Shard: b.shard, ID: b.answer.Entry}, SealedAt: at}
	e.Wins = make([]rain.Win, 0, b.answer.won)
	for i, r := range b.answer.Results {
		if b.answer.fresh[i] {
			user := *b.users[i].(*string) //nolint:forcetypeassert // Add's
			e.Wins = append(e.Wins, rain.Win{User: user, Packet: r.Packet, Amount: r.Amount, Seal: b.seals[i],
				Drop: b.tickets[i]})
		}
	}
	return e
}

// write makes the texts of the taps: all tickets, then all lines.
func (b *Batch) write(at int64) {
	b.text, b.ends = b.text[:0], b.ends[:0]
	for _, ticket := range b.asked {
		b.text = ticket.Append(b.text)
		b.ends = append(b.ends, len(b.text))
	}
	lines := len(b.text)
	for i, ticket := range b.asked {
		b.ends = append(b.ends, len(b.text)) // where the line begins
		user := *b.users[i].(*string)        //nolint:forcetypeassert // Add's
		b.text = append(appendLine(b.text, b.ring, b.campaign, user, ticket, at), '\n')
	}
	all, from := string(b.text), 0
	for i := range b.asked {
		line := b.ends[len(b.asked)+i]
		b.tickets, b.seals = append(b.tickets, all[from:b.ends[i]]), append(b.seals, all[line:line+seal.Size])
		from = b.ends[i]
	}
	b.lines = strings.TrimSuffix(all[lines:], "\n")
}
