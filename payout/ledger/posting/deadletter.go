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
	LetterForged     = "forged"     // a win or a reclaim with a wrong seal: no money waits for it
	LetterMessage    = "message"    // something in the stream that is no entry at all
	LetterWithdrawal = "withdrawal" // one that the provider has neither paid nor refused in all its tries
)

// DeadLetter is what could not be posted and waits for a person.
type DeadLetter struct {
	// what Retry takes: the claim's or the withdrawal's id; for a reclaim its outbox entry, for a message its
	// place in the stream
	Claim     string
	Source    string // the outbox entry or the stream message that it came in; of a withdrawal it says nothing
	Kind      string // pay, reclaim, forged, message or withdrawal
	Campaign  string
	Shard     int
	Packet    int // -1 where there is none
	User      string
	Amount    rain.Money
	WonAt     int64 // Unix ms; of a withdrawal, when it was asked for
	Reason    string
	CreatedAt int64 // Unix ms

	ID       int64
	Seq      int64  // with WonAt: the position in the outbox
	Payload  []byte // as it arrived
	void     bool   // nobody waits for it: it is resolved when it is written
	hopeless bool   // the ledger contradicts it for good: no retry can ever pay it. Known to who makes it only
}

// Entry is what the letter is about. It fails for a letter of a message or a withdrawal.
func (d *DeadLetter) Entry() (rain.Entry, error) { return payout.DecodeEntry(d.Payload) }

// MaxReason is how many bytes of a dead letter's reason are kept.
const MaxReason = 500

// LetterClaim and letterSource make any text fit its column: what comes over the wire may be anything, and even
// nonsense must be kept.
func LetterClaim(s string) string  { return fit(s, 160) }
func letterSource(s string) string { return fit(s, 200) }

func fit(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// winLetter is the dead letter of one win. Its payload is an entry with this win alone, so that it can be posted from.
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

// forgedLetter makes a letter one of something that nobody has promised.
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

// smallInt is n, or -1 where the column cannot hold it.
func smallInt(n int) int {
	if n < 0 || n > math.MaxInt32 {
		return -1
	}
	return n
}

// fingerprint is the same for two letters that say the same. Two players who were promised one packet have two.
func (d *DeadLetter) fingerprint() string {
	return booking.Digest(slices.Concat([]byte(d.Kind+"\x00"+d.Claim+"\x00"+d.Source+"\x00"), d.Payload))
}

// The first is the key.
var letterColumns = []string{
	"fingerprint", "claim", "source", "kind", "campaign_id", "shard", "packet", "user_id", "amount", "won_at",
	"entry_seq", "reason", "payload", "created_at",
	"resolved_at",
}

// WriteLetters keeps dead letters. One that is there already stays as it is.
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

// ResolveLetters notes that dead letters are dealt with; it returns how many of them still waited.
func ResolveLetters(ctx context.Context, tx *sqldb.Tx, now int64, ids ...int64) (n int64, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return tx.Exec(ctx, "UPDATE dead_letter SET resolved_at = ? WHERE resolved_at = 0 AND id IN "+
		sqldb.Marks(len(ids)), append([]any{now}, sqldb.Args(ids)...)...)
}

// LetterTable maps the rows of dead letters, to read them; [WriteLetters] writes them.
var LetterTable = sqldb.NewTable("dead_letter", func(d *DeadLetter) []any {
	return []any{"id", &d.ID, "claim", &d.Claim, "source", &d.Source, "kind", &d.Kind, "campaign_id", &d.Campaign,
		"shard", &d.Shard, "packet", &d.Packet, "user_id", &d.User, "amount", &d.Amount, "won_at", &d.WonAt,
		"entry_seq", &d.Seq, "reason", &d.Reason, "payload", &d.Payload, "created_at", &d.CreatedAt}
})

// campaignID is what a campaign's id looks like: it is part of keys, of subjects and of paths.
var campaignID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// IsCampaignID tells whether a text may be a campaign's id.
func IsCampaignID(s string) bool { return campaignID.MatchString(s) }

// Letters is a set of dead letters: by claim, the fingerprints. Two players who were promised one packet have two.
type Letters map[string]map[string]bool

// Note adds a letter.
func (l Letters) Note(d DeadLetter) { l.note(d.Claim, d.fingerprint()) }

func (l Letters) note(claim, fingerprint string) {
	if l[claim] == nil {
		l[claim] = map[string]bool{}
	}
	l[claim][fingerprint] = true
}

// has reports whether a letter is in the set.
func (l Letters) has(d DeadLetter) bool { return l[d.Claim][d.fingerprint()] }

// HasWin reports whether a letter in the set is about this very win.
func (l Letters) HasWin(ref rain.EntryRef, sealedAt int64, w rain.Win) bool {
	known, ok := l[LetterClaim(rain.ClaimID(ref.Campaign, w.Packet))]
	if !ok {
		return false // nearly always: nothing is encoded for it
	}
	d := winLetter(ref, sealedAt, w, position{}, "")
	return known[d.fingerprint()]
}

// HasReclaim reports whether a letter in the set is about this very reclaim.
func (l Letters) HasReclaim(e rain.Entry) bool {
	known, ok := l[LetterClaim(e.Ref.String())]
	if !ok {
		return false
	}
	d := reclaimLetter(e, position{}, "")
	return known[d.fingerprint()]
}
