package posting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"redrain/internal/sqldb"
	"redrain/payout"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// The kinds of dead letter.
const (
	LetterPay        = "pay"
	LetterReclaim    = "reclaim"
	LetterForged     = "forged"     // a win or a reclaim with an invalid seal: it keeps no money
	LetterMessage    = "message"    // a stream message that is no valid entry
	LetterWithdrawal = "withdrawal" // a withdrawal without a clear answer after all its tries
)

// DeadLetter is an entry, message or withdrawal that could not be processed and waits for an operator.
type DeadLetter struct {
	// Claim is the argument of Retry: the id of the claim or the withdrawal. A reclaim has its outbox entry here, and
	// a message its position in the stream.
	Claim     string
	Source    string // the outbox entry or stream message; empty for a withdrawal
	Kind      string // pay, reclaim, forged, message or withdrawal
	Campaign  string
	Shard     int
	Packet    int // -1 = none
	User      string
	Amount    rain.Money
	WonAt     int64 // Unix ms; of a withdrawal: its request
	Reason    string
	CreatedAt int64 // Unix ms

	ID        int64
	Seq       int64  // with WonAt: the position in the outbox
	Payload   []byte // as received
	void      bool   // resolved when it is written
	unpayable bool   // no retry can ever pay it; not stored
}

// Entry decodes the payload. It fails for a message or a withdrawal.
func (d *DeadLetter) Entry() (rain.Entry, error) { return payout.DecodeEntry(d.Payload) }

// MaxReason is the length limit of a reason, in bytes.
const MaxReason = 500

// LetterClaim and letterSource cut a text to its column's length, because invalid input must be kept, too.
func LetterClaim(s string) string  { return fit(s, 160) }
func letterSource(s string) string { return fit(s, 200) }

func fit(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// winLetter makes the dead letter of one win. Its payload is an entry with this win alone, so that a retry can post
// it.
func winLetter(ref rain.EntryRef, sealedAt int64, w rain.Win, at position, reason string) DeadLetter {
	d := letter(LetterPay, rain.ClaimID(ref.Campaign, w.Packet), rain.Entry{Ref: ref, SealedAt: sealedAt,
		Wins: []rain.Win{w}}, at, reason)
	d.Packet, d.Amount = smallInt(w.Packet), w.Amount
	if rain.CheckUser(w.User) == nil {
		d.User = w.User
	}
	return d
}

func reclaimLetter(e rain.Entry, at position, reason string) DeadLetter {
	d := letter(LetterReclaim, e.Ref.String(), rain.Entry{Ref: e.Ref, SealedAt: e.SealedAt, Reclaim: e.Reclaim}, at,
		reason)
	d.Amount = e.Reclaim.Amount
	return d
}

// forgedLetter makes a dead letter's kind forged.
func forgedLetter(d DeadLetter) DeadLetter {
	d.Kind = LetterForged
	return d
}

func letter(kind, claim string, e rain.Entry, at position, reason string) DeadLetter {
	d := DeadLetter{
		Claim: LetterClaim(claim), Source: letterSource(e.Ref.String()), Kind: kind, Shard: smallInt(e.Ref.Shard),
		Packet: -1,
		WonAt:  at.ms, Reason: reason, Seq: at.seq, Payload: payout.EncodeEntry(e),
	}
	if IsCampaignID(e.Ref.Campaign) {
		d.Campaign = e.Ref.Campaign
	}
	return d
}

// smallInt returns n, or -1 if the column cannot hold it.
func smallInt(n int) int {
	if n < 0 || n > math.MaxInt32 {
		return -1
	}
	return n
}

// fingerprint identifies a dead letter's content: two players with a claim to one packet have two.
func (d *DeadLetter) fingerprint() string {
	return booking.Digest(slices.Concat([]byte(d.Kind+"\x00"+d.Claim+"\x00"+d.Source+"\x00"), d.Payload))
}

// The first column is the key.
var letterColumns = []string{
	"fingerprint", "claim", "source", "kind", "campaign_id", "shard", "packet", "user_id", "amount", "won_at",
	"entry_seq", "reason", "payload", "created_at",
	"resolved_at",
}

// WriteLetters inserts dead letters. It keeps the existing row of one that is already there.
func WriteLetters(ctx context.Context, tx *sqldb.Tx, letters []DeadLetter, now int64) error {
	rows := make([][]any, len(letters))
	for i := range letters {
		d := &letters[i]
		d.CreatedAt = now
		d.Reason = sqldb.Storable(d.Reason, MaxReason)
		resolvedAt := int64(0)
		if d.void {
			resolvedAt = now
		}
		rows[i] = []any{
			d.fingerprint(), d.Claim, d.Source, d.Kind, d.Campaign, d.Shard, d.Packet, d.User, int64(d.Amount), d.WonAt,
			d.Seq, d.Reason, d.Payload, now, resolvedAt,
		}
	}
	return tx.Insert(ctx, "dead_letter", letterColumns, rows, sqldb.Merge{Key: letterColumns[:1]})
}

// ResolveLetters resolves dead letters and returns how many of them were open.
func ResolveLetters(ctx context.Context, tx *sqldb.Tx, now int64, ids ...int64) (n int64, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return tx.Exec(ctx, "UPDATE dead_letter SET resolved_at = ? WHERE resolved_at = 0 AND id IN "+
		sqldb.Marks(len(ids)), append([]any{now}, sqldb.Args(ids)...)...)
}

// LetterTable maps the rows of dead letters for reading; [WriteLetters] writes them.
var LetterTable = sqldb.NewTable("dead_letter", func(d *DeadLetter) []any {
	return []any{"id", &d.ID, "claim", &d.Claim, "source", &d.Source, "kind", &d.Kind, "campaign_id", &d.Campaign,
		"shard", &d.Shard, "packet", &d.Packet, "user_id", &d.User, "amount", &d.Amount, "won_at", &d.WonAt,
		"entry_seq", &d.Seq, "reason", &d.Reason, "payload", &d.Payload, "created_at", &d.CreatedAt}
})

// campaignID is the syntax of a campaign's id, which is part of keys, subjects and paths.
var campaignID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// IsCampaignID reports whether a text may be a campaign's id.
func IsCampaignID(s string) bool { return campaignID.MatchString(s) }

// Letters is a set of dead letters: by claim, the fingerprints. Two players with a claim to one packet have two.
type Letters map[string]map[string]bool

// Note adds a dead letter.
func (l Letters) Note(d DeadLetter) { l.note(d.Claim, d.fingerprint()) }

func (l Letters) note(claim, fingerprint string) {
	if l[claim] == nil {
		l[claim] = map[string]bool{}
	}
	l[claim][fingerprint] = true
}

// has reports whether a dead letter is in the set.
func (l Letters) has(d DeadLetter) bool { return l[d.Claim][d.fingerprint()] }

// HasWin reports whether a dead letter in the set is about exactly this win.
func (l Letters) HasWin(ref rain.EntryRef, sealedAt int64, w rain.Win) bool {
	if l[LetterClaim(rain.ClaimID(ref.Campaign, w.Packet))] == nil {
		return false // nearly always: this saves the encoding
	}
	return l.has(winLetter(ref, sealedAt, w, position{}, ""))
}

// HasReclaim reports whether a dead letter in the set is about exactly this reclaim.
func (l Letters) HasReclaim(e rain.Entry) bool {
	return l[LetterClaim(e.Ref.String())] != nil && l.has(reclaimLetter(e, position{}, ""))
}

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
		Packet: -1, Reason: m.Reason, Payload: append([]byte{}, m.Payload[:min(len(m.Payload), mostPayload)]...),
	}
	if IsCampaignID(m.Campaign) { // a subject may contain anything
		d.Campaign = m.Campaign
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
