package payout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// The kinds of dead letter.
const (
	letterPay        = "pay"
	letterReclaim    = "reclaim"
	letterMessage    = "message"    // something in the stream that is no entry at all
	letterWithdrawal = "withdrawal" // one that the provider has neither paid nor refused in all its tries
)

// DeadLetter is what could not be posted and waits for a person.
type DeadLetter struct {
	// what Retry takes: the claim's or the withdrawal's id; for a reclaim its outbox entry, for a message its
	// place in the stream
	Claim     string
	Source    string // the outbox entry or the stream message that it came in; of a withdrawal it says nothing
	Kind      string // pay, reclaim, message or withdrawal
	Campaign  string
	Shard     int
	Packet    int // -1 where there is none
	User      string
	Amount    rain.Money
	WonAt     int64 // Unix ms; of a withdrawal, when it was asked for
	Reason    string
	CreatedAt int64 // Unix ms

	id         int64
	seq        int64  // with WonAt: the position in the outbox
	payload    []byte // as it arrived
	resolvedAt int64  // Unix ms; 0: it waits
}

const maxReason = 500

// letterClaim and letterSource make any text fit its column: what comes over the wire may be anything, and even
// nonsense must be kept.
func letterClaim(s string) string  { return fit(s, 160) }
func letterSource(s string) string { return fit(s, 200) }

func fit(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// winLetter is the dead letter of one win. Its payload is an entry with this win alone, so that it can be posted from.
func winLetter(ref rain.EntryRef, w rain.Win, at position, reason string) DeadLetter {
	d := letter(letterPay, rain.ClaimID(ref.Campaign, w.Packet), rain.Entry{Ref: ref, Wins: []rain.Win{w}}, at, reason)
	d.Packet, d.Amount = smallInt(w.Packet), w.Amount
	if rain.CheckUser(w.User) == nil {
		d.User = w.User
	}
	return d
}

func reclaimLetter(ref rain.EntryRef, r rain.Reclaim, at position, reason string) DeadLetter {
	d := letter(letterReclaim, ref.String(), rain.Entry{Ref: ref, Reclaim: &r}, at, reason)
	d.Amount = r.Amount
	return d
}

func letter(kind, claim string, e rain.Entry, at position, reason string) DeadLetter {
	payload, err := encodeEntry(e)
	if err != nil {
		payload = []byte(fmt.Sprintf("%+v", e)) // an Entry has nothing that JSON refuses
	}
	d := DeadLetter{
		Claim: letterClaim(claim), Source: letterSource(e.Ref.String()), Kind: kind, Shard: smallInt(e.Ref.Shard),
		Packet: -1,
		WonAt:  at.ms, Reason: reason, seq: at.seq, payload: payload,
	}
	if campaignID.MatchString(e.Ref.Campaign) {
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
	return digest(slices.Concat([]byte(d.Kind+"\x00"+d.Claim+"\x00"+d.Source+"\x00"), d.payload))
}

// The first is the key.
var letterColumns = []string{
	"fingerprint", "claim", "source", "kind", "campaign_id", "shard", "packet", "user_id", "amount", "won_at",
	"entry_seq", "reason", "payload", "created_at",
	"resolved_at",
}

// writeLetters keeps dead letters. One that is there already stays as it is.
func writeLetters(ctx context.Context, tx *sqldb.Tx, letters []DeadLetter, now int64) error {
	rows := make([][]any, len(letters))
	for i := range letters {
		d := &letters[i]
		d.CreatedAt = now
		d.Reason = clip(d.Reason, maxReason)
		rows[i] = []any{
			d.fingerprint(), d.Claim, d.Source, d.Kind, d.Campaign, d.Shard, d.Packet, d.User, int64(d.Amount), d.WonAt,
			d.seq, d.Reason, d.payload, now,
			d.resolvedAt,
		}
	}
	return tx.Insert(ctx, "dead_letter", letterColumns, rows, sqldb.Merge{Key: letterColumns[:1]})
}

func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	for len(s) > n {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// BuryMessage keeps a stream message that is no outbox entry. name is its place in the stream; the same name again
// changes nothing.
func (l *Ledger) BuryMessage(ctx context.Context, name string, payload []byte, reason string) error {
	d := DeadLetter{
		Claim: letterClaim(name), Source: letterSource(name), Kind: letterMessage, Shard: -1, Packet: -1,
		Reason: reason, payload: payload,
	}
	if d.payload == nil {
		d.payload = []byte{}
	}
	return l.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return writeLetters(ctx, tx, []DeadLetter{d}, l.clock())
	})
}

const letterSelect = "SELECT id, claim, source, kind, campaign_id, shard, packet, user_id, amount, won_at, entry_seq, reason, payload, " +
	"created_at FROM dead_letter "

func scanLetter(scan sqldb.Scan) (d DeadLetter, err error) {
	err = scan(&d.id, &d.Claim, &d.Source, &d.Kind, &d.Campaign, &d.Shard, &d.Packet, &d.User, &d.Amount, &d.WonAt,
		&d.seq, &d.Reason,
		&d.payload, &d.CreatedAt)
	return d, err
}

// DeadLetters lists what waits for a person, oldest first. An empty cursor begins; next is empty on the last page.
func (l *Ledger) DeadLetters(ctx context.Context, cursor string, limit int) (list []DeadLetter, next string,
	err error) {
	after, err := numberCursor(cursor, 0)
	if err != nil {
		return nil, "", err
	}
	list = []DeadLetter{}
	err = l.db.Each(ctx, func(scan sqldb.Scan) error {
		d, err := scanLetter(scan)
		list = append(list, d)
		return err
	}, letterSelect+"WHERE resolved_at = 0 AND id > ? ORDER BY id LIMIT ?", after, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("dead letters: %w", err)
	}
	if len(list) > limit {
		list, next = list[:limit], strconv.FormatInt(list[limit-1].id, 10)
	}
	return list, next, nil
}

// Dead counts the dead letters of a campaign that wait for a person, and those of them that are wins.
func (l *Ledger) Dead(ctx context.Context, campaign string) (letters, wins int64, err error) {
	_, err = l.db.First(ctx, []any{&letters, &wins},
		"SELECT COUNT(*), COALESCE(SUM(CASE WHEN kind = ? THEN 1 ELSE 0 END), 0) FROM dead_letter WHERE campaign_id = ? AND resolved_at = 0", letterPay, campaign)
	if err != nil {
		return 0, 0, fmt.Errorf("the dead letters of campaign %s: %w", campaign, err)
	}
	return letters, wins, nil
}

// countDead counts what waits.
func (l *Ledger) countDead(ctx context.Context) (n int64, err error) {
	_, err = l.db.First(ctx, []any{&n}, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0")
	return n, err
}

// RefreshMetrics brings redrain_dead_letters up to date. On the way it resolves letters whose claim is paid.
func (l *Ledger) RefreshMetrics(ctx context.Context) error {
	n, err := l.countDead(ctx)
	if err == nil && n > 0 {
		var paid int64
		paid, err = l.resolvePaid(ctx)
		n -= paid
	}
	if err == nil {
		l.gauge.dead.Set(float64(n))
	}
	return err
}

// resolvePaid resolves letters of claims that are paid to the very player whom they were promised to. There is such
// a letter where an entry was given up in the same moment in which another worker could post a copy of it after
// all. It moves no money.
func (l *Ledger) resolvePaid(ctx context.Context) (n int64, err error) {
	var ids []any
	err = l.db.Each(ctx, func(scan sqldb.Scan) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT d.id FROM dead_letter d JOIN payout p ON p.campaign_id = d.campaign_id AND p.packet = d.packet AND p.user_id = d.user_id "+
		"AND p.amount = d.amount WHERE d.resolved_at = 0 AND d.kind = ? ORDER BY d.id LIMIT ?", letterPay, sqldb.Chunk)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = l.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err = tx.Exec(ctx, "UPDATE dead_letter SET resolved_at = ? WHERE resolved_at = 0 AND id IN "+sqldb.Marks(len(ids)), append([]any{l.clock()}, ids...)...)
		return err
	})
	return n, err
}
