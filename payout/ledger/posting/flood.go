package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Whoever can write to Redis or NATS can send any number of things that nobody has sealed. Of these so many are kept as
// show a person what goes on; the others are counted, so that they do not fill the ledger's disk.

const (
	mostUnsealed = 1000    // letters of what nobody has sealed that wait at once, about
	mostPayload  = 1 << 16 // bytes that are kept of a message
	mostHopeless = 20      // letters of one tap beside which none is kept that no retry can pay
)

// Message is a stream message that is no outbox entry.
type Message struct {
	Name     string // its place in the stream, or in an outbox
	Campaign string // whose subject it came on, "" for none's. That is all that is known of it
	Payload  []byte
	Reason   string
}

// Letter is the dead letter of a message: of a large one's beginning.
func (m *Message) Letter() DeadLetter {
	d := DeadLetter{
		Claim: LetterClaim(m.Name), Source: letterSource(m.Name), Kind: LetterMessage, Shard: -1,
		Packet: -1, Reason: m.Reason, Payload: m.Payload[:min(len(m.Payload), mostPayload)],
	}
	if IsCampaignID(m.Campaign) { // a subject may say anything
		d.Campaign = m.Campaign
	}
	if d.Payload == nil {
		d.Payload = []byte{}
	}
	return d
}

// BuryMessage keeps a message as a dead letter. The same name again changes nothing. kept is false where so many wait
// that it is dropped.
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

// roomForUnsealed is how many more letters of what nobody has sealed are kept.
func roomForUnsealed(ctx context.Context, q sqldb.Querier) (room int, err error) {
	var waiting int
	_, err = q.First(ctx, []any{&waiting}, "SELECT COUNT(*) FROM (SELECT id FROM dead_letter WHERE resolved_at = 0 "+
		"AND kind IN (?, ?) LIMIT ?) some", LetterForged, LetterMessage, mostUnsealed)
	return mostUnsealed - waiting, err
}

// limitLetters drops letters of a batch, and counts them: forged ones for which there is no room, and of those that no
// retry can ever pay more than mostHopeless of one tap.
//
// A letter that may be a promise is kept, however many there are: one that was sealed with a key that is not valid any
// more, because a person may have it paid; and one of another tap, because it looks hopeless also where somebody has
// changed the rows by which it does. A client that can write to Redis can write one sealed line any number of times,
// each time with another packet.
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
	waiting, err := b.readHopeless(ctx, tx)
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
		case d.hopeless:
			tap := d.tap()
			waiting[tap]++
			return waiting[tap] > mostHopeless
		}
		return false
	})
	b.dropped = all - len(b.letters)
	return nil
}

// readHopeless counts the letters that wait, by their taps, of the players of hopeless letters in a batch.
func (b *batch) readHopeless(ctx context.Context, tx *sqldb.Tx) (map[dropKey]int, error) {
	users := map[string][]string{}
	for i := range b.letters {
		if d := &b.letters[i]; d.hopeless {
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

// tap is which tap the win of a letter was sealed for. Those of which nobody can read it are of one.
func (d *DeadLetter) tap() dropKey {
	key := dropKey{campaign: d.Campaign, user: d.User}
	if e, err := d.Entry(); err == nil && len(e.Wins) == 1 {
		key.drop = e.Wins[0].Drop
	}
	return key
}
