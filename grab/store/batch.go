package store

import (
	"context"
	"errors"
	"strings"

	"redrain/internal/seal"
	"redrain/rain"
)

// Batch has the script decide taps on one shard, many at once. It is used by one goroutine at a time, again and
// again: what it needs for a batch it keeps for the next one.
type Batch struct {
	*client

	campaign string
	shard    int
	keys     []string
	users    []any
	asked    []rain.Ticket
	text     []byte // tickets and lines of the taps, one after the other
	ends     []int  // where each of them ends in it
	tickets  []string
	seals    []string
	lines    string
	args     []any
	heard    heard
	answer   Answer
}

// heard is what this node knows to be in Redis of a shard. A Redis that knows less has gone back in time.
type heard struct {
	entry string // the newest
	moves int64
}

// NewBatch makes an empty batch for a shard.
func NewBatch(s *Store, campaign string, shard int) *Batch {
	return &Batch{client: s.client, campaign: campaign, shard: shard, keys: s.keys.shard(campaign, shard).grabbing(),
		heard: heard{entry: nothingYet}}
}

// Add puts a tap of a player, who asks for a ticket, into the batch. A player may be in it once. The user is a
// pointer, because a string in an interface is an allocation; it is read until Decide returns.
func (b *Batch) Add(user *string, ticket rain.Ticket) {
	b.users = append(b.users, user)
	b.asked = append(b.asked, ticket)
}

// Decide has the script decide what was added, in that order, and empties the batch: taps in a rain, which at is
// the time of. The answer is good until the next Decide. After an error nobody knows what was decided; asked again,
// the script decides it the same way.
func (b *Batch) Decide(ctx context.Context, of *rain.Rain, amounts *rain.Amounts, at int64) (*Answer, error) {
	n := len(b.users)
	b.write(at)
	b.args = append(b.args, of.FirstWave, b.heard.entry, b.heard.moves, at, &b.lines)
	b.args = append(b.args, b.users...)
	for i := range b.tickets {
		b.args = append(b.args, &b.tickets[i])
	}
	reply, err := b.run(ctx, b.scripts.grab, b.keys, b.args...).Text()
	defer b.empty()
	if err == nil {
		err = b.answer.parse(reply, n, amounts)
	}
	if errors.Is(err, ErrBehind) {
		// Until it is restored nobody else may tap there either, also who has not heard of what is missing.
		if _, losing := (&Moves{b.client}).Lose(ctx, b.campaign, b.shard, b.heard.entry, b.heard.moves); losing != nil {
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

// Lasts says that what the last answer told has what --confirm asks for. A Redis that does not know it any more has
// gone back in time, and decides nothing from then on. What was told to nobody may be forgotten.
func (b *Batch) Lasts() {
	if b.answer.Entry != "" {
		b.heard.entry = b.answer.Entry
	}
	b.heard.moves = max(b.heard.moves, b.answer.moves)
}

// empty forgets the taps.
func (b *Batch) empty() {
	clear(b.args)
	clear(b.users)
	clear(b.tickets)
	clear(b.seals)
	b.args, b.users, b.asked, b.tickets, b.seals = b.args[:0], b.users[:0], b.asked[:0], b.tickets[:0], b.seals[:0]
	b.lines = ""
}

// written is the outbox entry of what was won now.
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
