package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// An outsider who can write to Redis or NATS can send any amount of forged input. The ledger keeps enough to show the
// attack and counts the rest, so that its disk does not fill.

const (
	mostUnsealed = 1000    // approximate number of open dead letters with an invalid seal
	mostPayload  = 1 << 16 // bytes that are kept of a message
)

// Message is a stream message that is no valid outbox entry.
type Message struct {
	Name     string // its position in the stream, or in an outbox
	Campaign string // of its subject; "" = none. Nothing else of it is known
	Payload  []byte
	Reason   string
}

// Letter makes the dead letter of a message. It keeps the beginning of a large one.
func (m *Message) Letter() DeadLetter {
	d := DeadLetter{
		Claim: LetterClaim(m.Name), Source: letterSource(m.Name), Kind: LetterMessage, Shard: -1,
		Packet: -1, Reason: m.Reason, Payload: m.Payload[:min(len(m.Payload), mostPayload)],
	}
	if IsCampaignID(m.Campaign) { // a subject may contain anything
		d.Campaign = m.Campaign
	}
	if d.Payload == nil {
		d.Payload = []byte{}
	}
	return d
}

// BuryMessage keeps a message as a dead letter. A second call with the same name changes nothing. kept is false if
// too many are open, and the message is dropped.
func (p *Poster) BuryMessage(ctx context.Context, m Message) (kept bool, err error) {
	d := m.Letter()
	err = p.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		room, err := roomForUnsealed(ctx, tx)
		kept = room > 0
		if err != nil || !kept {
			return err
		}
		return WriteLetters(ctx, tx, []DeadLetter{d}, p.clock())
	})
	return kept, err
}

// roomForUnsealed returns how many more dead letters with an invalid seal may be kept.
func roomForUnsealed(ctx context.Context, q sqldb.Querier) (room int, err error) {
	var waiting int
	_, err = q.First(ctx, []any{&waiting}, "SELECT COUNT(*) FROM (SELECT id FROM dead_letter WHERE resolved_at = 0 "+
		"AND kind IN (?, ?) LIMIT ?) some", LetterForged, LetterMessage, mostUnsealed)
	return mostUnsealed - waiting, err
}

// limitLetters drops and counts the forged dead letters of a batch beyond the limit. It keeps those with a seal of an
// old key, because an operator may pay them.
func (p *Poster) limitLetters(ctx context.Context, tx *sqldb.Tx, b *batch) error {
	if len(b.letters) == 0 {
		return nil
	}
	room, err := roomForUnsealed(ctx, tx)
	if err != nil {
		return err
	}
	ring, err := p.seals.ever(ctx, tx)
	if err != nil {
		return err
	}
	all := len(b.letters)
	b.letters = slices.DeleteFunc(b.letters, func(d DeadLetter) bool {
		if d.Kind != LetterForged {
			return false
		}
		if e, err := d.Entry(); err == nil && allSealed(ring, []rain.Entry{e}) {
			return false
		}
		room--
		return room < 0
	})
	b.dropped = all - len(b.letters)
	return nil
}
