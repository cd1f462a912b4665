package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// DeadLetters lists, retries and dismisses the dead letters.
type DeadLetters struct {
	db          *sqldb.DB
	clock       rain.Clock
	poster      *posting.Poster
	withdrawals *Withdrawals
	waiting     prometheus.Gauge
}

func newDeadLetters(db *sqldb.DB, clock rain.Clock, poster *posting.Poster, withdrawals *Withdrawals) *DeadLetters {
	return &DeadLetters{db: db, clock: clock, poster: poster, withdrawals: withdrawals,
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_dead_letters",
			Help: "Payouts that could not be posted and wait for an operator.",
		})}
}

// Register adds the metric redrain_dead_letters.
func (s *DeadLetters) Register(r prometheus.Registerer) error { return r.Register(s.waiting) }

// ListDeadLetters lists the open dead letters, the oldest first. "" is the first cursor. next is "" on the last page.
func (s *DeadLetters) ListDeadLetters(ctx context.Context, cursor string,
	limit int) (list []posting.DeadLetter, next string, err error) {
	var where sqldb.Where
	where.And("resolved_at = 0")
	list, next, err = posting.LetterTable.ListPage(ctx, s.db, where, "id", cursor, limit)
	return list, next, sqldb.Wrap(err, "list dead letters")
}

// Dead counts the open dead letters of a campaign, and the wins among them.
func (s *DeadLetters) Dead(ctx context.Context, campaign string) (letters, wins int64, err error) {
	_, err = s.db.First(ctx, []any{&letters, &wins},
		"SELECT COUNT(*), COALESCE(SUM(CASE WHEN kind = ? THEN 1 ELSE 0 END), 0) FROM dead_letter "+
			"WHERE campaign_id = ? AND resolved_at = 0", posting.LetterPay, campaign)
	return letters, wins, sqldb.Wrap(err, "count the dead letters of campaign %s", campaign)
}

// RefreshMetrics updates redrain_dead_letters. It first resolves dead letters whose claim is paid.
func (s *DeadLetters) RefreshMetrics(ctx context.Context) error {
	var n int64
	_, err := s.db.First(ctx, []any{&n}, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0")
	if err == nil && n > 0 {
		var paid int64
		paid, err = s.resolvePaid(ctx)
		n -= paid
	}
	if err == nil {
		s.waiting.Set(float64(n))
	}
	return err
}

// resolvePaid resolves dead letters whose claim is paid to the same player. They exist if another worker posted a
// copy of the entry while it was given up. It moves no money.
func (s *DeadLetters) resolvePaid(ctx context.Context) (n int64, err error) {
	ids, err := sqldb.Column[int64](ctx, s.db, "SELECT d.id FROM dead_letter d JOIN payout p "+
		"ON p.campaign_id = d.campaign_id AND p.packet = d.packet AND p.user_id = d.user_id AND p.amount = d.amount "+
		"WHERE d.resolved_at = 0 AND d.kind = ? ORDER BY d.id LIMIT ?", posting.LetterPay, sqldb.Chunk)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		n, err = posting.ResolveLetters(ctx, tx, s.clock(), ids...)
		return err
	})
	return n, err
}

// Dismissed is the result of dismissing the dead letters of a claim.
type Dismissed struct {
	Letters   int        // dismissed ones
	Reclaimed rain.Money // money that returned to the sponsor
	Kept      []string   // the reasons why others of the claim were not dismissed
}

// ErrNotDismissed means that a dead letter may still be payable. The wrapping error says why.
var ErrNotDismissed = errors.New("the dead letter is not dismissed")

// stateDismissed is the state of a dismissed dead letter in the audit log.
const stateDismissed ClaimState = "dismissed"

// dismissLetters dismisses dead letters of a claim, each in its own transaction. Their money returns to the sponsor.
// [posting.Poster.DismissLetter] says which are refused. It fails with ErrNotDismissed if none was dismissed.
func (s *DeadLetters) dismissLetters(ctx context.Context, claim string, ids []int64,
	why string) (d Dismissed, err error) {
	for _, id := range ids {
		if err := s.dismissLetter(ctx, id, why, &d); err != nil {
			return d, err
		}
	}
	if d.Letters > 0 {
		return d, nil
	}
	if err = ErrUnknownClaim; len(d.Kept) > 0 {
		err = fmt.Errorf("%w: %s", ErrNotDismissed, strings.Join(d.Kept, "; "))
	}
	return d, fmt.Errorf("%q: %w", claim, err)
}

// dismissLetter dismisses one dead letter, and adds the result to sum. It ignores one that is not open.
func (s *DeadLetters) dismissLetter(ctx context.Context, id int64, why string, sum *Dismissed) error {
	var found bool
	var given rain.Money
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		d, waits, err := posting.LetterTable.Find(ctx, tx, "WHERE id = ? AND resolved_at = 0"+tx.ForUpdate(), id)
		if found = waits; err != nil || !found {
			return err
		}
		if given, err = s.poster.DismissLetter(ctx, tx, d, why); err != nil {
			return err
		}
		is := letterState(d, stateDismissed)
		is.state["reclaimed"] = given
		return auditChange(ctx, tx, s.clock(), letterState(d, StateDead), is)
	})
	if refusal, ok := errors.AsType[posting.NotDismissedError](err); ok {
		sum.Kept = append(sum.Kept, string(refusal))
		return nil
	}
	if err != nil {
		return fmt.Errorf("dismiss dead letter %d: %w", id, err)
	}
	if found {
		sum.Letters++
		sum.Reclaimed += given
	}
	return nil
}
