package posting_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestAReclaimThatIsBeingGivenUpIsNotPosted: another node holds the escrow and makes the campaign's first
// dead letter, of the same reclaim that this node is about to post.
func TestAReclaimThatIsBeingGivenUpIsNotPosted(t *testing.T) {
	b := paytest.OnMySQL(t) // SQLite has one writer: there the two cannot meet
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	b.CloseCampaign(t, "c1")
	e := paytest.ReclaimEntry(0, 5, rain.Range{First: 0, Last: 2})
	type answer struct {
		posting.Posted
		err error
	}
	answered := make(chan answer, 1)
	err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		letters, err := b.GiveUp(ctx, tx, e, "given up")
		if len(letters) != 1 {
			t.Errorf("%+v", letters)
		}
		go func() {
			posted, err := b.Post(context.Background(), []rain.Entry{e})
			answered <- answer{posted, err}
		}()
		testenv.Eventually(t, 5*time.Second, "the posting waits for the escrow", func() bool {
			return b.Waits(t, "GLOBAL_STATUS", "variable_name = 'Innodb_row_lock_current_waits' AND variable_value > 0")
		})
		return err
	})
	if got := <-answered; err != nil || got.err != nil {
		t.Fatal(err, got.err)
	}
	b.WantBalance(t, booking.EscrowAccount("c1"), 100)
	testenv.Must(t, testenv.Err(b.Retry(t.Context(), e.Ref.String())))
	b.WantBalance(t, booking.EscrowAccount("c1"), 70)
}

// TestWhatIsInHandIsNotGivenUp: an entry is not given up while a worker of this process posts a copy.
func TestWhatIsInHandIsNotGivenUp(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		e := paytest.Entry("c1", 1, paytest.Win("u1", 0, 10))
		unlock := testenv.Got(b.LockEntries(t.Context(), e)).Must(t)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		testenv.WantErr(t, testenv.Err(b.Attempt(ended, e, errors.New("refused"), 1)), context.Canceled)
		testenv.Equal(t, b.CountDead(t), 0, "dead letters")
		unlock()
		testenv.Equal(t, testenv.Got(b.Attempt(t.Context(), e, errors.New("refused"), 1)).Must(t).GivenUp, true,
			"given up")
		if b.Locked() != 0 {
			t.Errorf("%d entries are left in hand", b.Locked())
		}
	})
}

// TestWhatAnotherNodeHasPostedIsNotVoid: another node has posted the entry before the fence, and this node has not
// read that yet.
func TestWhatAnotherNodeHasPostedIsNotVoid(t *testing.T) {
	b := paytest.OnMySQL(t)
	c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	e := paytest.Entry("c1", 5, paytest.Win("u1", 0, 10))
	type answer struct {
		posting.Posted
		err error
	}
	answered := make(chan answer, 1)
	err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, "LOCK TABLES shard_epoch WRITE"); err != nil { // this node's view of the fence waits
			return err
		}
		go func() {
			posted, err := b.Post(context.Background(), []rain.Entry{e})
			answered <- answer{posted, err}
		}()
		testenv.Eventually(t, 5*time.Second, "the posting waits for the barriers", func() bool {
			return b.Waits(t, "PROCESSLIST", "state LIKE 'Waiting for table metadata lock%' AND db = DATABASE()")
		})
		// The other node posts, and then the fence comes up.
		err := b.DB.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			other := posting.NewBatch(c)
			other.Classify(e)
			_, err := b.Write(ctx, tx, other)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO shard_epoch (campaign_id, shard, attempt, barrier_ms, fenced_at) "+
			"VALUES ('c1', 0, 1, 1000, 1)"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UNLOCK TABLES")
		return err
	})
	got := <-answered
	testenv.Must(t, errors.Join(err, got.err))
	if len(got.Void) != 0 || len(got.Settled) != 1 || got.New != 0 {
		t.Errorf("%+v", got.Posted)
	}
	b.WantBalance(t, booking.UserAccount("u1"), 10)
}

// TestNonsenseHoldsNothingBack: a dead letter about an impossible win neither cuts a reclaim in the same batch, nor
// explains missing money. A paid win is not kept in the escrow a second time.
func TestNonsenseHoldsNothingBack(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		c2 := b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 10})
		b.CloseCampaign(t, "c1")
		nonsense := paytest.Entry("c1", 1, paytest.Win("x", 10, 30), paytest.Win("x", 11, 1000))
		posted := b.MustPost(t, nonsense)
		if cleared, err := b.Cleared(ctx, "c1"); err != nil || cleared || len(posted.Dead) != 2 {
			t.Errorf("cleared %v with 100 in the escrow (%v); %+v", cleared, err, posted)
		}
		nonsense.Ref.ID = "2-0"
		rest := paytest.ReclaimEntry(0, 3, rain.Range{First: 1, Last: 9})
		if posted := b.MustPost(t, nonsense, rest); len(posted.Cut) != 0 || len(posted.Dead) != 2 {
			t.Errorf("%+v", posted)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 10)

		paid := paytest.Entry("c2", 1, paytest.Win("u1", 0, 10))
		b.MustPost(t, paid)
		late := posting.LateLetter(paid, "given up in the same moment")
		testenv.Must(t, b.WriteLetter(late))
		redis := paytest.NewFakeRedis(b.Clock.Now, c2)
		redis.Settled(paid)
		if got := b.Prove(t, c2, redis); !got.Balanced || got.Dead != 0 {
			t.Errorf("%+v", got)
		}
		b.CloseCampaign(t, "c2")
		rest.Ref.Campaign = "c2"
		if posted := b.MustPost(t, paytest.Seal(rest)); len(posted.Cut) != 0 || len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		b.WantBalance(t, booking.EscrowAccount("c2"), 0)
	})
}

// TestAMessageIsNeverPaid: a dead letter of an invalid message can only be dismissed. Its valid entries come again
// from their outbox.
func TestAMessageIsNeverPaid(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		text := payout.EncodeEntry(paytest.Entry("c1", 5, paytest.Win("u1", 0, 10)))
		for name, payload := range map[string][]byte{"message-sealed": payout.SealMessage(paytest.Ring, text),
			"message-text": text} {
			testenv.Must(t, testenv.Err(b.BuryMessage(ctx, posting.Message{Name: name, Payload: payload,
				Reason: "on a wrong subject"})))
			testenv.WantErr(t, testenv.Err(b.Retry(ctx, name)), ledger.ErrStillDead)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 0)
	})
}
