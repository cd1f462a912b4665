package posting_test

import (
	"context"
	"fmt"
	"testing"

	"redrain/internal/seal"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestWhatNobodyHasSealedIsNotPaid: not at once and not by a retry. It keeps no money: its packet can be won, and
// returns to the sponsor.
func TestWhatNobodyHasSealedIsNotPaid(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		good := paytest.Entry("c1", 1, paytest.Win("u1", 0, 0))
		stranger := seal.NewRing(seal.Secret{66})
		forged := map[string]rain.Entry{}
		for what, change := range map[string]func(e *rain.Entry){
			"another player":       func(e *rain.Entry) { e.Wins[0].User = "thief" },
			"another drop":         func(e *rain.Entry) { e.Wins[0].Drop = paytest.DropOf(1) },
			"another time":         func(e *rain.Entry) { e.SealedAt++ },
			"no seal":              func(e *rain.Entry) { e.Wins[0].Seal = "" },
			"another installation": func(e *rain.Entry) { *e = paytest.SealWith(stranger, *e) },
			"a closing's seal": func(e *rain.Entry) {
				e.Wins[0].Seal = paytest.Ring.Closing("c1", 0, e.SealedAt)
			},
		} {
			e := paytest.Copies([]rain.Entry{good})[0]
			change(&e)
			forged[what] = e
		}
		n := 0
		for what, e := range forged {
			n++
			wantDead(t, what, b.MustPost(t, e), posting.LetterForged, "seal")
			if posted := b.MustPost(t, e); len(posted.Dead)+len(posted.Settled) != 0 {
				t.Errorf("%s, again: %+v", what, posted)
			}
			testenv.Equal(t, b.CountDead(t), n, "%s dead letters", what)
		}
		testenv.WantErr(t, testenv.Err(b.Retry(ctx, "c1-0")), ledger.ErrStillDead)
		if tried, err := b.RetryAll(ctx, "c1", nil); err != nil || tried.StillDead != n || tried.Settled != 0 {
			t.Errorf("%+v, %v", tried, err)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 100)
		if letters, wins, err := b.Dead(ctx, "c1"); err != nil || letters != int64(n) || wins != 0 {
			t.Errorf("%d dead letters, %d wins, %v", letters, wins, err)
		}
		testenv.Equal(t, b.ClaimState(t, "u1", "c1-0"), ledger.StateGranted, "a forged claim is")
		if got := assigned(b, c); len(got) != 0 {
			t.Errorf("taken: %+v", got)
		}
		// The packet can be won, beside forged entries in the same batch; and the whole rest returns.
		batch := []rain.Entry{good}
		for _, e := range forged {
			batch = append(batch, e)
		}
		if posted := b.MustPost(t, paytest.Copies(batch)...); posted.New != 1 || len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		b.CloseCampaign(t, "c1")
		fake := paytest.ReclaimEntry(0, 4, rain.Range{First: 0, Last: 9})
		fake.SealedAt++
		wantDead(t, "a reclaim", b.MustPost(t, fake), posting.LetterForged, "seal")
		testenv.WantErr(t, testenv.Err(b.Retry(ctx, fake.Ref.String())), ledger.ErrStillDead)
		if posted := b.MustPost(t, fake, paytest.ReclaimEntry(0, 5,
			rain.Range{First: 1, Last: 9})); len(posted.Cut) != 0 ||
			len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		testenv.Got(b.Cleared(ctx, "c1")).Want(t, true, "cleared")
		b.WantBalance(t, booking.SponsorAccount("acme"), 90)
		b.WantBalance(t, booking.UserAccount("u1"), 10)
	})
}

// TestAForgedCopyTakesNoOtherWithIt: an outsider replaces an entry in flight in Redis, under the same id.
func TestAForgedCopyTakesNoOtherWithIt(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		good := paytest.Entry("c1", 1, paytest.Win("u1", 0, 0))
		forged := paytest.Entry("c1", 1, paytest.Win("thief", 0, 0))
		forged.Wins[0].Seal = good.Wins[0].Seal
		posted := b.MustPost(t, forged, good, forged)
		if posted.New != 1 || posted.Settled[0].User != "u1" || len(posted.Dead) != 1 ||
			posted.Dead[0].User != "thief" {
			t.Errorf("%+v", posted)
		}
	})
}

// TestKeysAreRotated: an entry with the previous key is paid. One with an older key becomes a dead letter, which an
// operator can pay. A paid win stays paid.
func TestKeysAreRotated(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		early := paytest.Entry("c1", 1, paytest.Win("u0", 0, 0))
		b.MustPost(t, early)
		rotate(b)
		testenv.Equal(t, b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("u1", 1, 0))).New, 1, "of the key before")
		fresh := paytest.Entry("c1", 3, paytest.Win("u2", 2, 0))
		testenv.Equal(t, b.MustPost(t, paytest.SealWith(b.Seals.Ring(), fresh)).New, 1, "of the new key")
		rotate(b)
		late := paytest.Entry("c1", 4, paytest.Win("u3", 3, 0))
		wantDead(t, "of the key before that", b.MustPost(t, late), posting.LetterForged, "seal")
		if posted := b.MustPost(t, early); len(posted.Dead) != 0 || posted.New != 0 {
			t.Errorf("a paid entry, once more: %+v", posted)
		}
		if got := assigned(b, c); len(got) != 3 {
			t.Errorf("taken: %+v", got)
		}
		settled, err := b.Retry(ctx, "c1-3")
		if err != nil || len(settled) != 1 || settled[0].User != "u3" || !settled[0].New {
			t.Errorf("%+v, %v", settled, err)
		}
		if posted := b.MustPost(t, late); len(posted.Dead) != 0 || posted.New != 0 {
			t.Errorf("after the retry: %+v", posted)
		}
		// The same for a reclaim.
		b.CloseCampaign(t, "c1")
		rest := paytest.ReclaimEntry(0, 5, rain.Range{First: 4, Last: 9})
		wantDead(t, "a reclaim", b.MustPost(t, rest), posting.LetterForged, "seal")
		testenv.Must(t, testenv.Err(b.Retry(ctx, rest.Ref.String())))
		b.WantBalance(t, booking.SponsorAccount("acme"), 60)
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
	})
}

// TestWhatIsPaidBecomesNoLetter: even if the win before it in its entry is not paid, so that the quick check finds no
// paid win.
func TestWhatIsPaidBecomesNoLetter(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u0", 0, 0)))
		both := paytest.SealWith(seal.NewRing(seal.Secret{66}),
			paytest.Entry("c1", 2, paytest.Win("u1", 1, 0), paytest.Win("u0", 0, 0)))
		posted := b.MustPost(t, both)
		if len(posted.Dead) != 1 || posted.Dead[0].Packet != 1 || posted.New != 0 {
			t.Errorf("%+v", posted)
		}
	})
}

// TestAForgedLetterOfAnEpochBefore: the rebuild did not count its packet as assigned, so it is never paid, even if
// its seal was valid once.
func TestAForgedLetterOfAnEpochBefore(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		rotate(b)
		rotate(b)
		late := paytest.Entry("c1", 4, paytest.Win("u3", 3, 0))
		wantDead(t, "of an old key", b.MustPost(t, late), posting.LetterForged, "seal")
		b.MustFence(t, 0)
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-3")), ledger.ErrStillDead)
		b.WantBalance(t, booking.EscrowAccount("c1"), 100)
	})
}

// rotate makes a new key, after the least age of the previous one.
func rotate(b *paytest.Books) {
	b.T.Helper()
	b.Clock.Add(60_000)
	testenv.Must(b.T, testenv.Err(b.Seals.Rotate(b.T.Context())))
}

// TestAnotherNodeLearnsOfANewKey: at the first entry with the new key, and at its interval.
func TestAnotherNodeLearnsOfANewKey(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		other, third := paytest.Node(t, b), paytest.Node(t, b)
		b.Clock.Add(60_000)
		testenv.Got(b.Seals.Rotate(ctx)).Want(t, 2, "seals")
		testenv.WantErr(t, testenv.Err(b.Seals.Rotate(ctx)), posting.ErrRotatedJustNow)
		e := paytest.SealWith(b.Seals.Ring(), paytest.Entry("c1", 1, paytest.Win("u1", 0, 0)))
		if posted, err := other.Poster.Post(ctx, []rain.Entry{e}); err != nil || posted.New != 1 ||
			len(posted.Dead) != 0 {
			t.Errorf("%+v, %v", posted, err)
		}
		mark := string(b.Seals.Ring().AppendTap(nil, "c1", "u", []byte("1.1"), 5))
		if third.Seals.Ring().CheckTap(mark, "c1", "u", "1.1", 5) {
			t.Error("the third node knows the key already: this tests nothing")
		}
		if err := third.Poster.RefreshSeals(ctx); err != nil ||
			!third.Seals.Ring().CheckTap(mark, "c1", "u", "1.1", 5) {
			t.Errorf("the third node has not learned of it (%v)", err)
		}
		if string(third.Seals.Ring().AppendTap(nil, "c1", "u", []byte("1.1"), 5)) != mark {
			t.Error("the third node does not seal with the new key")
		}
	})
}

// TestKeysThatAreWrong: no key, or one of another length, is an error, and the loaded keys stay.
func TestKeysThatAreWrong(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		e := paytest.Entry("c1", 1, paytest.Win("u1", 0, 0))
		for _, statement := range []string{"UPDATE seal_key SET secret = x'0102'", "DELETE FROM seal_key"} {
			b.Statement(t, statement)
			testenv.WantFail(t, b.Seals.Load(ctx), fmt.Sprintf("%s: loaded", statement))
			if !b.Seals.Ring().CheckTap(e.Wins[0].Seal, "c1", "u1", e.Wins[0].Drop, e.SealedAt) {
				t.Errorf("%s: the key that was known is gone", statement)
			}
		}
	})
}

// TestTheMigrationMakesOneKey, and another one in each database.
func TestTheMigrationMakesOneKey(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		fresh := paytest.Fresh(t, b.DB.Dialect())
		seals := posting.NewSeals(fresh, b.Clock.Now)
		testenv.Must(t, seals.Load(ctx))
		var n, length, made int64
		err := fresh.View(ctx, 1_000_000_000, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.First(ctx, []any{&n, &length, &made},
				"SELECT COUNT(*), MIN(LENGTH(secret)), MIN(created_at) FROM seal_key")
			return err
		})
		if err != nil || n != 1 || length != seal.SecretBytes || made < 1_763_712_000_000 || made > 1e14 {
			t.Errorf("%d keys of %d bytes, made at %d, %v", n, length, made, err)
		}
		e := paytest.Entry("c1", 1, paytest.Win("u1", 0, 0))
		if seals.Ring().CheckTap(e.Wins[0].Seal, "c1", "u1", e.Wins[0].Drop, e.SealedAt) {
			t.Error("it is the tests' key")
		}
		testenv.Must(t, fresh.Migrate(ctx))
		again := posting.NewSeals(fresh, b.Clock.Now)
		if err := again.Load(ctx); err != nil || !again.Ring().CheckClosing(seals.Ring().Closing("c1", 0, 5), "c1", 0,
			5) {
			t.Errorf("the second migration has changed the key (%v)", err)
		}
	})
}
