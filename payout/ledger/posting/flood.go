package posting

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout"
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

// drop takes forged letters out of a batch for which there is no room. What was sealed with a key that is not valid any
// more always has room: a person may have it paid.
func (p *Poster) drop(ctx context.Context, tx *sqldb.Tx, b *batch) error {
	var entries []rain.Entry
	for i := range b.letters {
		if d := &b.letters[i]; d.Kind == LetterForged {
			e, err := payout.DecodeEntry(d.Payload)
			if err != nil {
				e.Ref, e.Wins = rain.EntryRef{}, []rain.Win{{}} // wrong by any key
			}
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	room, err := roomForUnsealed(ctx, tx)
	if err != nil || room >= len(entries) {
		return err
	}
	wrong, err := p.seals.everWrong(ctx, tx, entries)
	if err != nil {
		return err
	}
	kept := b.letters[:0]
	for _, d := range b.letters {
		if d.Kind == LetterForged {
			e := &entries[0]
			entries = entries[1:]
			if isWrong(wrong, e) {
				if room--; room < 0 {
					b.dropped++
					continue
				}
			}
		}
		kept = append(kept, d)
	}
	b.letters = kept
	return nil
}

// dropHopeless takes letters out of a batch that no retry can ever pay, where many of the same tap wait. Who can write
// to Redis can write one sealed line any number of times, each time with another packet. What was sealed for another
// tap is kept, however much there is: it looks hopeless also where somebody has changed the rows by which it does.
func (b *batch) dropHopeless(ctx context.Context, tx *sqldb.Tx) error {
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
			d := DeadLetter{Campaign: campaign, Kind: LetterPay}
			err := scan(&d.User, &d.Payload)
			waiting[d.tap()]++
			return err
		}, "SELECT user_id, payload FROM dead_letter WHERE campaign_id = ? AND resolved_at = 0 AND kind = ? "+
			"AND user_id IN", slices.Compact(some), campaign, LetterPay)
		if err != nil {
			return err
		}
	}
	b.letters = slices.DeleteFunc(b.letters, func(d DeadLetter) bool {
		if !d.hopeless {
			return false
		}
		tap := d.tap()
		if waiting[tap]++; waiting[tap] <= mostHopeless {
			return false
		}
		b.dropped++
		return true
	})
	return nil
}

// tap is which tap the win of a letter was sealed for. Those of which nobody can read it are of one.
func (d *DeadLetter) tap() dropKey {
	key := dropKey{campaign: d.Campaign, user: d.User}
	if e, err := d.Entry(); err == nil && len(e.Wins) == 1 {
		key.drop = e.Wins[0].Drop
	}
	return key
}

// isWrong tells whether the one thing in a letter's entry is among those with wrong seals.
func isWrong(wrong map[sealed]bool, e *rain.Entry) bool {
	if e.Reclaim != nil {
		return wrong[sealedReclaim(e)]
	}
	return wrong[sealedWin(e, e.Wins[0])]
}
