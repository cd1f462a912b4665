package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// keeps fails the test unless a claim's dead letter is not dismissed, for the reason why.
func keeps(t *testing.T, b *paytest.Books, claim, why string) {
	t.Helper()
	before := b.CountDead(t)
	d, err := b.Dismiss(t.Context(), claim, 0, "nobody's")
	if !errors.Is(err, ledger.ErrNotDismissed) || !strings.Contains(err.Error(), why) || d.Letters != 0 {
		t.Errorf("%s: %+v, %v, want %q", claim, d, err, why)
	}
	testenv.Equal(t, b.CountDead(t), before, "%s dead letters wait, before", claim)
}

// ends fails the test unless a claim's dead letter is dismissed, and returns no money.
func ends(t *testing.T, b *paytest.Books, claim string) {
	t.Helper()
	d, err := b.Dismiss(t.Context(), claim, 0, "nobody's")
	if err != nil || d.Letters != 1 || d.Reclaimed != 0 || len(d.Kept) != 0 {
		t.Errorf("%s: %+v, %v", claim, d, err)
	}
	testenv.WantErr(t, testenv.Err(b.Dismiss(t.Context(), claim, 0, "nobody's")), ledger.ErrUnknownClaim,
		claim, "once more")
	testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), claim)), ledger.ErrUnknownClaim, claim, "a retry")
}

// stolen makes an entry with a line that was sealed for another packet of the same player.
func stolen(n, packet int, of rain.Win) rain.Entry {
	of.Packet = packet
	return paytest.Entry("c1", n, of)
}

// TestWhatIsSomebodysIsNotDismissed: a payable dead letter, and a withdrawal.
func TestWhatIsSomebodysIsNotDismissed(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		testenv.Must(t, testenv.Err(b.Attempt(ctx, paytest.Entry("c1", 1, paytest.Win("promised", 0, 10)),
			errors.New("refused"), 1)))
		keeps(t, b, "c1-0", "retry it")
		b.MustPost(t, paytest.ReclaimEntry(0, 2, rain.Range{First: 5, Last: 9}))
		keeps(t, b, "c1.0.2-0", "until campaign c1 is over")
		b.CloseCampaign(t, "c1")
		keeps(t, b, "c1.0.2-0", "retry it")
		testenv.Equal(t, testenv.Got(b.RetryAll(ctx, "", func([]posting.Settlement) {})).Must(t).Settled, 2, "settled")
		b.MustWithdraw(t, "w1", "promised", 10)
		testenv.Must(t, b.RecordDead(ctx, b.LeaseOne(t), "no answer"))
		keeps(t, b, "w1", "withdrawal")
		testenv.Must(t, b.WriteLetter(posting.DeadLetter{Claim: "c", Kind: "riddle", Payload: []byte{}}))
		keeps(t, b, "c", "entry is invalid")
		testenv.WantErr(t, testenv.Err(b.Retry(ctx, "c")), ledger.ErrStillDead)
		testenv.WantErr(t, testenv.Err(b.Dismiss(ctx, "nothing", 0, "nobody's")), ledger.ErrUnknownClaim)
	})
}

// TestALetterOfAnUnreadableCampaign stays open until its campaign can be read: its packets are not returned.
func TestALetterOfAnUnreadableCampaign(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		breaks := "UPDATE campaign SET revision = revision + 1, split_seed = CONCAT('x', SUBSTR(split_seed, 2))"
		b.Statement(t, "CREATE TABLE kept AS SELECT split_seed AS seed FROM campaign")
		b.Statement(t, breaks)
		posted := b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("promised", 0, 10)),
			paytest.ReclaimEntry(0, 2, rain.Range{First: 5, Last: 9}))
		if len(posted.Dead) != 2 || posted.Dead[0].Reason != posting.Unreadable ||
			posted.Dead[1].Reason != posting.Unreadable {
			t.Errorf("%+v", posted)
		}
		keeps(t, b, "c1-0", posting.Unreadable)
		keeps(t, b, "c1.0.2-0", posting.Unreadable)
		b.Statement(t, "UPDATE campaign SET revision = revision + 1, split_seed = (SELECT seed FROM kept)")
		testenv.Must(t, testenv.Err(b.Retry(t.Context(), "c1-0")))
	})
}

// TestWhatKeepsNothingIsDismissedAtOnce: forged entries, messages, and wins of another player's packet. The audit has
// it, and the same input makes no second dead letter.
func TestWhatKeepsNothingIsDismissedAtOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		stranger := seal.NewRing(seal.Secret{66})
		forged := []rain.Entry{
			paytest.SealWith(stranger, paytest.Entry("c1", 1, paytest.Win("thief", 3, 0))),
			paytest.SealWith(stranger, paytest.Entry("c1", 2, paytest.Win("thief", 4, 0))),
			paytest.SealWith(stranger, paytest.Entry("c1", 3, paytest.Win("other", 4, 0))),
			paytest.SealWith(stranger, paytest.ReclaimEntry(0, 4, rain.Range{First: 0, Last: 9})),
		}
		another := paytest.Entry("c1", 6, paytest.Win("late", 7, 0))
		post := func() posting.Posted {
			return b.MustPost(t, append(forged, paytest.Entry("c1", 5, paytest.Win("winner", 7, 0)), another)...)
		}
		testenv.Equal(t, len(post().Dead), 5, "dead")
		testenv.Must(t, testenv.Err(b.BuryMessage(t.Context(), posting.Message{Name: "message-1", Campaign: "c1",
			Payload: []byte("{"), Reason: "noise"})))
		testenv.Equal(t, len(b.Prove(t, c, paytest.NewFakeRedis(b.Clock.Now, c)).Letters), 6, "named are")
		ends(t, b, "c1-3")
		ends(t, b, "c1.0.4-0")
		ends(t, b, "message-1")
		ends(t, b, "c1-7")
		letters, _, err := b.ListDeadLetters(t.Context(), "", 10)
		if err != nil || len(letters) != 2 {
			t.Fatalf("%+v, %v", letters, err)
		}
		ctx := ledger.WithAudit(t.Context(), ledger.AuditRecord{Actor: "op", Action: "payout.dismiss"})
		testenv.Equal(t, testenv.Got(b.Dismiss(ctx, "c1-4", letters[1].ID, "made up")).Must(t).Letters, 1, "one of two")
		ends(t, b, "c1-4")
		if r, before, after, n := b.LastAudit(t); n != 1 || r.Target != "claim:c1-4" || before["state"] != "dead" ||
			after["state"] != "dismissed" {
			t.Errorf("%d records: %s", n, r.Detail)
		}
		if posted := post(); len(posted.Dead)+posted.New != 0 || b.CountDead(t) != 0 {
			t.Errorf("the same once more: %+v, %d dead letters", posted, b.CountDead(t))
		}
	})
}

// TestWhatALetterKeepsGoesBack: a line was replayed for another packet. Its dead letter keeps that packet from all
// players, until the campaign is over and the dead letter is dismissed. Then the packet returns to the sponsor once,
// whether or not the shard's reclaim named it, and for any number of concurrent dismissals.
func TestWhatALetterKeepsGoesBack(t *testing.T) {
	t.Parallel()
	for what, asked := range map[string][]rain.Range{
		"the shard has it in its stock": {{First: 1, Last: 9}},
		"nobody has it":                 {{First: 1, Last: 4}, {First: 6, Last: 9}},
	} {
		t.Run(what, func(t *testing.T) {
			paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
				c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
				won := paytest.Win("winner", 0, 10)
				b.MustPost(t, paytest.Entry("c1", 1, won))
				b.MustPost(t, stolen(2, 5, won))
				b.MustPost(t, stolen(3, 0, won))
				keeps(t, b, "c1-5", "until campaign c1 is over")
				b.CloseCampaign(t, "c1")
				keeps(t, b, "c1-5", "until campaign c1 is over")
				b.MustPost(t, paytest.ReclaimEntry(0, 9, asked...))
				b.WantBalance(t, booking.EscrowAccount("c1"), 10)
				keeps(t, b, "c1-5", "until campaign c1 is over")
				c = b.Drain(t, c.ID)
				b.MustPost(t, stolen(4, 5, won))
				var mu sync.Mutex
				var given rain.Money
				letters := 0
				paytest.Together(4, func(int) {
					d, err := b.Dismiss(context.Background(), "c1-5", 0, "nobody's")
					if err != nil && !errors.Is(err, ledger.ErrUnknownClaim) {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					given += d.Reclaimed
					letters += d.Letters
				})
				if given != 10 || letters != 2 {
					t.Errorf("%d dead letters, %d returned", letters, given)
				}
				b.WantBalance(t, booking.EscrowAccount("c1"), 0)
				b.WantBalance(t, booking.SponsorAccount("acme"), 90)
				if r := b.Prove(t, c, nil); !r.Balanced || r.Reclaimed != 90 || len(r.Letters) != 0 {
					t.Errorf("%+v", r)
				}
				testenv.Equal(t, b.MustPost(t, paytest.Entry("c1", 7, paytest.Win("late", 5, 10))).New, 0,
					"what went back is paid")
				b.CheckBooks(t)
			})
		})
	}
}
