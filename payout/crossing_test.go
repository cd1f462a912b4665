package payout

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestAReclaimThatIsBeingGivenUpIsNotPosted: another node holds the escrow and makes the campaign's first dead
// letter of the very reclaim that this one is about to post.
func TestAReclaimThatIsBeingGivenUpIsNotPosted(t *testing.T) {
	b := onMySQL(t) // SQLite has one writer: there the two cannot meet
	b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	e := reclaimEntry(0, 5, 3)
	type answer struct {
		Posted
		err error
	}
	answered := make(chan answer, 1)
	err := b.db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		letters, err := b.giveUp(ctx, tx, e, "given up")
		if len(letters) != 1 {
			t.Errorf("%+v", letters)
		}
		go func() {
			posted, err := b.Post(context.Background(), []rain.Entry{e})
			answered <- answer{posted, err}
		}()
		testenv.Eventually(t, 5*time.Second, "the posting waits for the escrow", func() bool {
			return b.waits(t, "GLOBAL_STATUS", "variable_name = 'Innodb_row_lock_current_waits' AND variable_value > 0")
		})
		return err
	})
	if got := <-answered; err != nil || got.err != nil {
		t.Fatal(err, got.err)
	}
	b.wantBalance(t, escrowAccount("c1"), 100)
	if _, err := b.Retry(t.Context(), e.Ref.String()); err != nil {
		t.Error(err)
	}
	b.wantBalance(t, escrowAccount("c1"), 70)
}

// TestWhatIsInHandIsNotGivenUp: a copy of an entry is not given up while a worker of this process posts it.
func TestWhatIsInHandIsNotGivenUp(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		e := entry("c1", 1, win("u1", 0, 10))
		leave, err := b.Poster.locks.enter(t.Context(), []rain.Entry{e})
		if err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Attempt(ended, e, errors.New("refused"), 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := b.deadLetters(t); n != 0 {
			t.Errorf("%d letters, %v", n, err)
		}
		leave()
		if tried, err := b.Attempt(t.Context(), e, errors.New("refused"), 1); err != nil || !tried.GivenUp {
			t.Errorf("%+v, %v", tried, err)
		}
		if len(b.Poster.locks.busy) != 0 {
			t.Errorf("%d entries are left in hand", len(b.Poster.locks.busy))
		}
	})
}

// TestWhatAnotherNodeHasPostedIsNotVoid: this node has not seen yet that another has posted the entry when the
// shard is fenced.
func TestWhatAnotherNodeHasPostedIsNotVoid(t *testing.T) {
	b := onMySQL(t)
	b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	e := entry("c1", 5, win("u1", 0, 10))
	type answer struct {
		Posted
		err error
	}
	answered := make(chan answer, 1)
	err := b.db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, "LOCK TABLES shard_life WRITE"); err != nil { // this node's view of the fence waits
			return err
		}
		go func() {
			posted, err := b.Post(context.Background(), []rain.Entry{e})
			answered <- answer{posted, err}
		}()
		testenv.Eventually(t, 5*time.Second, "the posting waits for the barriers", func() bool {
			return b.waits(t, "PROCESSLIST", "state LIKE 'Waiting for table metadata lock%' AND db = DATABASE()")
		})
		// The other node posts, and then the fence comes up.
		err := b.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			other := &batch{
				campaigns: map[string]terms{"c1": {sponsor: "acme", budget: 100, packets: 10, shards: 1}},
				paid:      map[packetKey]holder{}, totals: map[string]totals{},
			}
			other.judge(e)
			_, err := b.write(ctx, tx, other)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO shard_life (campaign_id, shard, attempt, barrier_ms, fenced_at) VALUES ('c1', 0, 1, 1000, 1)"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UNLOCK TABLES")
		return err
	})
	got := <-answered
	if err := errors.Join(err, got.err); err != nil {
		t.Fatal(err)
	}
	if len(got.Void) != 0 || len(got.Settled) != 1 || got.New != 0 {
		t.Errorf("%+v", got.Posted)
	}
	b.wantBalance(t, userAccount("u1"), 10)
}

// TestNonsenseHoldsNothingBack: a dead letter of what the campaign cannot have promised neither cuts a reclaim that
// comes with it, nor makes money that is missing look accounted for. And what is paid after all is not held back a
// second time.
func TestNonsenseHoldsNothingBack(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		c2 := b.campaign(t, "c2", rain.Spec{Budget: 100, Packets: 10})
		nonsense := entry("c1", 1, win("x", 10, 30), win("x", 11, 1000), win("x", 1, -5))
		posted := b.post(t, nonsense)
		if cleared, err := b.Cleared(ctx, "c1"); err != nil || cleared || len(posted.Dead) != 3 {
			t.Errorf("cleared %v with 100 in the escrow (%v); %+v", cleared, err, posted)
		}
		nonsense.Ref.ID = "2-0"
		rest := reclaimEntry(0, 3, 9)
		rest.Reclaim.Amount = 90
		if posted := b.post(t, nonsense, rest); len(posted.Cut) != 0 || len(posted.Dead) != 3 {
			t.Errorf("%+v", posted)
		}
		b.wantBalance(t, escrowAccount("c1"), 10)

		paid := entry("c2", 1, win("u1", 0, 10))
		b.post(t, paid)
		at, _, _, _ := (&batch{}).place(paid)
		late := winLetter(paid.Ref, paid.Wins[0], at, "given up in the same moment")
		err := b.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			return writeLetters(ctx, tx,
				[]DeadLetter{late}, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		left := rain.ShardSnapshot{Found: true, Packets: 9, Left: 90, Won: 1, AmountWon: 10, LastEntry: "1-0"}
		if got := b.reconcile(t, c2, []rain.ShardSnapshot{left}); !got.Balanced || got.Dead != 0 {
			t.Errorf("%+v", got)
		}
		rest.Ref.Campaign = "c2"
		if posted := b.post(t, rest); len(posted.Cut) != 0 || len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		b.wantBalance(t, escrowAccount("c2"), 0)
		b.audit(t)
	})
}

// TestAMessageOfALifeBeforeIsNotPaid: no rebuild counts what is in a letter of a message, so its packets are on
// offer again.
func TestAMessageOfALifeBeforeIsNotPaid(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		ctx := t.Context()
		b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		for name, e := range map[string]rain.Entry{"message-old": entry("c1", 5, win("u1", 0, 10)),
			"message-new": entry("c1", 9_763_712_000_000, win("u2", 1, 10))} {
			payload, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.BuryMessage(ctx, name, payload, "on a wrong subject"); err != nil {
				t.Fatal(err)
			}
		}
		b.fence(t, 0)
		if _, err := b.Retry(ctx, "message-old"); !errors.Is(err, ErrStillDead) {
			t.Error(err)
		}
		if _, err := b.Retry(ctx, "message-new"); err != nil {
			t.Error(err)
		}
		b.wantBalance(t, userAccount("u1"), 0)
		b.wantBalance(t, userAccount("u2"), 10)
		b.audit(t)
	})
}
