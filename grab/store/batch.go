package store

import (
	"context"
	"errors"
	"strings"

	"redrain/grab/outcome"
	"redrain/internal/seal"
	"redrain/rain"
)

// Batch sends taps on one shard to the script, many at once. It is not safe for concurrent use. It is used again and
// again, and keeps its memory.
type Batch struct {
	*client

	campaign    string
	shard       int
	keys        []string
	users       []any
	tickets     []rain.Ticket
	text        []byte // the text of all tickets, then all lines
	offsets     []int  // in text: the end of each ticket, then the beginning of each line
	ticketTexts []string
	seals       []string
	lines       string
	args        []any
	seen        witnessed
	answer      Answer
}

// witnessed holds the newest confirmed entry and move that this node saw. A Redis with less was rolled back.
type witnessed struct {
	entry string
	moves int64
}

// NewBatch returns an empty batch for a shard.
func NewBatch(s *Store, campaign string, shard int) *Batch {
	return &Batch{client: s.client, campaign: campaign, shard: shard, keys: s.keys.shard(campaign, shard).grabbing(),
		seen: witnessed{entry: nothingYet}}
}

// Add adds a player's tap with a ticket to the batch. A player may be in it once. Batch keeps the pointer, because a
// string in an interface is an allocation: the string must not change until Decide returns.
func (b *Batch) Add(user *string, ticket rain.Ticket) {
	b.users = append(b.users, user)
	b.tickets = append(b.tickets, ticket)
}

// Decide sends the added taps in a rain to the script, in their order, sealed with the time at, and empties the
// batch. The answer is valid until the next Decide. After an error the taps are undecided; a repeated call returns
// the same decisions.
func (b *Batch) Decide(ctx context.Context, of *rain.Rain, amounts *rain.Amounts, at int64) (*Answer, error) {
	n := len(b.users)
	b.write(at)
	b.args = append(b.args, of.FirstWave, b.seen.entry, b.seen.moves, at, &b.lines)
	b.args = append(b.args, b.users...)
	for i := range b.ticketTexts {
		b.args = append(b.args, &b.ticketTexts[i])
	}
	reply, err := b.run(ctx, "grab", b.keys, b.args...).Text()
	defer b.reset()
	if err == nil {
		err = b.answer.parse(reply, n, amounts)
	}
	if errors.Is(err, ErrBehind) {
		// Close the shard for all nodes until it is restored. Other nodes may not know of the loss.
		if _, losing := b.lose(ctx, b.campaign, b.shard, b.seen.entry, b.seen.moves, "", 0); losing != nil {
			err = errors.Join(err, losing)
		}
	}
	if err != nil {
		return nil, err
	}
	if b.answer.EntryID != "" {
		b.answer.Entry = b.written(at)
	}
	return &b.answer, nil
}

// Confirmed records that the wins of the last answer are confirmed. If Redis lacks them later, it was rolled back, and
// every later Decide fails. Redis may lose unconfirmed wins: no player was notified of them.
func (b *Batch) Confirmed() {
	if b.answer.EntryID != "" {
		b.seen.entry = b.answer.EntryID
	}
	b.seen.moves = max(b.seen.moves, b.answer.moves)
}

// reset removes the taps.
func (b *Batch) reset() {
	clear(b.args)
	clear(b.users)
	clear(b.ticketTexts)
	clear(b.seals)
	b.args, b.users, b.tickets = b.args[:0], b.users[:0], b.tickets[:0]
	b.ticketTexts, b.seals, b.lines = b.ticketTexts[:0], b.seals[:0], ""
}

// written returns the outbox entry of the new wins.
func (b *Batch) written(at int64) rain.Entry {
	e := rain.Entry{Ref: rain.EntryRef{Campaign: b.campaign, Shard: b.shard, ID: b.answer.EntryID}, SealedAt: at}
	e.Wins = make([]rain.Win, 0, b.answer.won)
	for i, r := range b.answer.Results {
		if b.answer.isNew[i] {
			user := *b.users[i].(*string) //nolint:forcetypeassert // Add's
			e.Wins = append(e.Wins, rain.Win{User: user, Packet: r.Packet, Amount: r.Amount, Seal: b.seals[i],
				Drop: b.ticketTexts[i]})
		}
	}
	return e
}

// write makes the texts of the taps: all tickets, then all lines.
func (b *Batch) write(at int64) {
	b.text, b.offsets = b.text[:0], b.offsets[:0]
	for _, ticket := range b.tickets {
		b.text = ticket.Append(b.text)
		b.offsets = append(b.offsets, len(b.text))
	}
	lines := len(b.text)
	for i, ticket := range b.tickets {
		b.offsets = append(b.offsets, len(b.text))
		user := *b.users[i].(*string) //nolint:forcetypeassert // Add's
		b.text = append(appendLine(b.text, b.ring, b.campaign, user, ticket, at), '\n')
	}
	all, from := string(b.text), 0
	for i := range b.tickets {
		line := b.offsets[len(b.tickets)+i]
		b.ticketTexts = append(b.ticketTexts, all[from:b.offsets[i]])
		b.seals = append(b.seals, all[line:line+seal.Size])
		from = b.offsets[i]
	}
	b.lines = strings.TrimSuffix(all[lines:], "\n")
}

// errReply means that the answer of a script cannot be parsed.
var errReply = errors.New("parse the answer of a script")

// Answer is the script's answer to a batch. Its texts are parts of the script's reply.
type Answer struct {
	Left     int64            // packets that the shard has left
	EntryID  string           // id of the outbox entry with all new wins; "" if there were none
	Entry    rain.Entry       // that entry; valid for longer than the answer
	Results  []outcome.Result // of each tap, in the order in which they were added
	EntryIDs []string         // of each tap that won, the id of the outbox entry of its win; else ""

	moves int64  // of stock from and to the shard, so far
	isNew []bool // of each tap, whether it has won now
	won   int    // the number of those
}

// parse reads the answer of grab.lua to n taps. It accepts a complete answer only: a result for the wrong tap would
// be a promise to the wrong player.
func (a *Answer) parse(reply string, n int, amounts *rain.Amounts) error {
	const lines = 5
	line := strings.SplitN(reply, "\n", lines)
	if len(line) != lines {
		return errReply
	}
	*a = Answer{Results: a.Results[:0], EntryIDs: a.EntryIDs[:0], isNew: a.isNew[:0]}
	if !a.head(line[0]) || len(line[2]) != n {
		return errReply
	}
	entry, letters, again := line[1], line[2], line[4]
	numbers, err := rain.ParseNumbers(line[3], rain.MaxPackets)
	won := strings.Count(letters, "w")
	if err != nil || numbers.Count() != won || won > 0 && !isEntryID(entry) || won == 0 && entry != "" {
		return errReply
	}
	a.EntryID, a.won = entry, won
	for i := range n {
		var r outcome.Result
		var known bool
		from := "" // the entry of a win
		switch letters[i] {
		case 'w':
			r.Packet, known = numbers.Take()
			r.Outcome, from = outcome.Won, entry
		case 'b':
			var text string
			text, again, _ = strings.Cut(again, "\n")
			r.Packet, from, known = wonBefore(text)
			r.Outcome = outcome.Won
		default:
			r.Outcome = losing[letters[i]]
			known = r.Outcome != outcome.Unavailable
		}
		if r.Outcome == outcome.Won {
			r.Amount = amounts.Of(r.Packet)
			known = known && r.Amount > 0
		}
		if !known {
			return errReply
		}
		a.Results, a.EntryIDs = append(a.Results, r), append(a.EntryIDs, from)
		a.isNew = append(a.isNew, letters[i] == 'w')
	}
	if again != "" {
		return errReply
	}
	return nil
}

// head reads the first line: packets left, and moves.
func (a *Answer) head(line string) bool {
	left, moves, _ := strings.Cut(line, " ")
	var ok [2]bool
	a.Left, ok[0] = rain.ParseInt(left)
	a.moves, ok[1] = rain.ParseInt(moves)
	return ok[0] && ok[1]
}

// wonBefore parses a win in the form of the wins hash.
func wonBefore(text string) (packet int, entry string, ok bool) {
	number1, rest, _ := strings.Cut(text, " ")
	entry, _, _ = strings.Cut(rest, " ")
	p, ok := rain.ParseInt(number1)
	return int(p), entry, ok && isEntryID(entry)
}

// losing translates the codes of grab.lua for losing taps. The zero value means that there is no such code.
var losing = [256]outcome.Outcome{
	'a': outcome.Already, 'd': outcome.SoldOut, 'n': outcome.NotOpen, 'l': outcome.Limited, 'e': outcome.Empty,
}
