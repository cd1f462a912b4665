package posting_test

import (
	"errors"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestAttemptsAreCounted(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		allow := b.Refuse(t, "poison")
		bad := paytest.Entry("c1", 1, paytest.Win("poison", 0, 10), paytest.Win("good", 1, 10))
		for n := 1; n <= 3; n++ {
			_, err := b.Post(ctx, []rain.Entry{bad})
			if !sqldb.IsRefused(err) {
				t.Fatalf("not refused: %v", err)
			}
			tried, err := b.Attempt(ctx, bad, err, 3)
			if err != nil || tried.Attempts != n || tried.GivenUp != (n == 3) ||
				len(tried.Dead) != map[bool]int{true: 2}[n == 3] {
				t.Errorf("try %d: %+v, %v", n, tried, err)
			}
			want := ledger.StateFailed
			if n == 3 {
				want = ledger.StateDead
			}
			testenv.Equal(t, b.ClaimState(t, "poison", "c1-0"), want, "after try %d the claim is", n)
			if failing, err := b.Failing(ctx, []rain.EntryRef{bad.Ref}); err != nil || failing[bad.Ref] != (n < 3) {
				t.Errorf("after try %d: %v, %v", n, failing, err)
			}
		}
		testenv.Equal(t, b.ClaimState(t, "somebody else", "c1-0"), ledger.StateGranted, "another player's claim is")
		letters, _, err := b.ListDeadLetters(ctx, "", 10)
		if err != nil || len(letters) != 2 || !strings.Contains(letters[0].Reason, "3 tries") ||
			!strings.Contains(letters[0].Reason, paytest.Refused) {
			t.Errorf("%+v, %v", letters, err)
		}
		// A late copy counts as posted: its wins are dead letters already.
		if posted := b.MustPost(t, bad); len(posted.Settled) != 0 || len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		if _, err := b.Retry(ctx, "c1-0"); !errors.Is(err, ledger.ErrStillDead) ||
			!strings.Contains(err.Error(), paytest.Refused) {
			t.Error(err)
		}
		testenv.Got(b.Retry(ctx, "c1-1")).Len(t, 1, "settled claims")
		b.WantBalance(t, booking.EscrowAccount("c1"), 90)
		allow()
		if settled, err := b.Retry(ctx, "c1-0"); err != nil || len(settled) != 1 || settled[0].Balance != 10 {
			t.Error(settled, err)
		}
		if letters, _, err := b.Dead(ctx, "c1"); err != nil || letters != 0 {
			t.Errorf("%d dead letters wait (%v), and all are dealt with", letters, err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM attempt") + b.Count(t, "SELECT COUNT(*) FROM attempt_claim"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestGivingUpKnowsWhatIsPosted: a win that a copy has posted meanwhile does not become a dead letter. If it became
// one in the same moment, it is resolved without moving money.
func TestGivingUpKnowsWhatIsPosted(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		e := paytest.Entry("c1", 1, paytest.Win("a", 0, 10), paytest.Win("b", 1, 10))
		testenv.Must(t, testenv.Err(b.Attempt(ctx, e, errors.New("a bug"), 2)))
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("a", 0, 10)))
		testenv.Equal(t, b.ClaimState(t, "a", "c1-0"), ledger.StateSettled, "a paid claim is")
		tried, err := b.Attempt(ctx, e, errors.New("a bug"), 2)
		if err != nil || !tried.GivenUp || len(tried.Dead) != 1 || tried.Dead[0].User != "b" {
			t.Errorf("%+v, %v", tried, err)
		}
		late := posting.LateLetter(e, "buried while a copy was posted")
		testenv.Must(t, b.WriteLetter(late))
		testenv.Must(t, b.RefreshMetrics(ctx))
		testenv.Equal(t, b.CountDead(t), 1, "dead letters wait")
		b.WantBalance(t, booking.UserAccount("a"), 10)
		// An entry that another node has settled is forgotten after a day.
		testenv.Must(t, testenv.Err(b.Attempt(ctx, paytest.Entry("c1", 7, paytest.Win("c", 2, 10)), errors.New("a bug"),
			2)))
		b.Clock.Add(posting.AttemptKept + 1000)
		testenv.Must(t, testenv.Err(b.Attempt(ctx, paytest.Entry("c1", 8, paytest.Win("d", 3, 10)), errors.New("a bug"),
			2)))
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM attempt_claim"), 1, "rows are kept")
	})
}
