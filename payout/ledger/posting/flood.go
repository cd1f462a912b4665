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
	mostUnsealed  = 1000    // approximate number of open dead letters with an invalid seal
	mostPayload   = 1 << 16 // bytes that are kept of a message
	mostUnpayable = 20      // unpayable dead letters that are kept of one tap
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

// limitLetters drops and counts dead letters of a batch: forged ones beyond the limit, and unpayable ones beyond
// mostUnpayable of one tap.
//
// It keeps every dead letter that may be payable. One sealed with an old key is kept, because an operator may pay it.
// So are those of other taps, which may look unpayable only because a row was tampered with. An outsider can write
// one sealed line to Redis any number of times, each time with another packet.
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
	waiting, err := b.readUnpayable(ctx, tx)
	if err != nil {
		return err
	}
	all := len(b.letters)
	b.letters = slices.DeleteFunc(b.letters, func(d DeadLetter) bool {
		switch {
		case d.Kind == LetterForged:
			if e, err := d.Entry(); err == nil && allSealed(ring, []rain.Entry{e}) {
				return false
			}
			room--
			return room < 0
		case d.unpayable:
			tap := d.tap()
			waiting[tap]++
			return waiting[tap] > mostUnpayable
		}
		return false
	})
	b.dropped = all - len(b.letters)
	return nil
}

// readUnpayable counts the open dead letters, by tap, of the players with unpayable dead letters in a batch.
func (b *batch) readUnpayable(ctx context.Context, tx *sqldb.Tx) (map[dropKey]int, error) {
	users := map[string][]string{}
	for i := range b.letters {
		if d := &b.letters[i]; d.unpayable {
			users[d.Campaign] = append(users[d.Campaign], d.User)
		}
	}
	waiting := map[dropKey]int{}
	for campaign, some := range users {
		slices.Sort(some)
		err := sqldb.EachIn(ctx, tx, func(scan sqldb.Scan) error {
			d := DeadLetter{Campaign: campaign}
			err := scan(&d.User, &d.Payload)
			waiting[d.tap()]++
			return err
		}, "SELECT user_id, payload FROM dead_letter WHERE campaign_id = ? AND resolved_at = 0 AND kind = ? "+
			"AND user_id IN", slices.Compact(some), campaign, LetterPay)
		if err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// tap returns the tap that the win of a dead letter was sealed for. All undecodable ones have the same tap.
func (d *DeadLetter) tap() dropKey {
	key := dropKey{campaign: d.Campaign, user: d.User}
	if e, err := d.Entry(); err == nil && len(e.Wins) == 1 {
		key.drop = e.Wins[0].Drop
	}
	return key
}
