package posting_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestPostingsMeetAFence: a shard is fenced while workers post its wins and dead letters. Every packet is then either
// read after the fence, or void, and never both. The unpayable dead letters of the first worker are read separately.
func TestPostingsMeetAFence(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const rounds, workers, each = 6, 6, 25
		for round := range rounds {
			id := fmt.Sprintf("c%d", round)
			c := b.OpenCampaign(t, id, rain.Spec{Budget: 10 * workers * each, Packets: workers * each})
			attempt := testenv.Got(b.BeginRebuild(t.Context(), id, 0)).Must(t)
			var mu sync.Mutex
			void := map[int]bool{}
			half := make(chan struct{}, workers*each)
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range each {
						packet := w*each + i
						win := paytest.Win(fmt.Sprintf("u%d", w), packet, 10)
						if w == 0 {
							win.Drop = paytest.DropOf(0) // that has won before: a dead letter
						}
						posted, err := b.Post(t.Context(), []rain.Entry{paytest.Entry(id, packet+1, win)})
						testenv.WantErr(t, err, nil)
						mu.Lock()
						for _, d := range posted.Void {
							void[d.Packet] = true
						}
						mu.Unlock()
						half <- struct{}{}
					}
				})
			}
			for range workers * each / 3 {
				<-half
			}
			testenv.Must(t, testenv.Err(b.Fence(t.Context(), id, 0, attempt)))
			taken := map[int]bool{}
			for _, k := range b.Assigned(t, c) { // at once, as a rebuild does
				taken[k.Win.Packet] = true
			}
			letters := testenv.Got(sqldb.Column[int](t.Context(), b.DB,
				"SELECT packet FROM dead_letter WHERE campaign_id = ? "+
					"AND resolved_at = 0", id)).Must(t)
			for _, packet := range letters {
				if taken[packet] {
					t.Errorf("round %d: an unpayable dead letter takes packet %d", round, packet)
				}
				taken[packet] = true
			}
			wg.Wait()
			for packet := range c.Packets {
				if taken[packet] == void[packet] {
					t.Errorf("round %d, packet %d: taken %v, void %v", round, packet, taken[packet], void[packet])
				}
			}
			if len(void) == 0 || len(taken) == 0 {
				t.Logf("round %d: the fence met no posting: %d taken, %d void", round, len(taken), len(void))
			}
			b.CheckBooks(t)
		}
	})
}

// TestAFenceAndOnePosting: step by step, for money and for a dead letter. After a fence before the posting's last
// check, the posting is classified again. A fence after the check waits for the commit.
func TestAFenceAndOnePosting(t *testing.T) {
	t.Parallel()
	for what, packet := range map[string]int{"money": 1, "a dead letter": 0} {
		t.Run(what, func(t *testing.T) {
			b := paytest.OnMySQL(t) // SQLite has one writer: there the two cannot meet
			b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
			b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("early", 0, 10)))
			attempt := testenv.Got(b.BeginRebuild(t.Context(), "c1", 0)).Must(t)
			fenced := make(chan error, 1)
			fence := func() { _, err := b.Fence(context.Background(), "c1", 0, attempt); fenced <- err }
			entries := []rain.Entry{paytest.Entry("c1", 2, paytest.Win("u1", packet, 10))}
			late := errors.New("late")
			err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				batch, err := classified(ctx, b, tx, entries)
				if err != nil {
					return err
				}
				fence() // nothing is locked yet
				if _, err := b.Write(ctx, tx, batch); err != nil {
					return err
				}
				testenv.WantErr(t, batch.StillInBounds(ctx, tx), sqldb.ErrAgain, "after a fence")
				return late
			})
			if !errors.Is(err, late) || <-fenced != nil {
				t.Fatal(err)
			}
			entries[0].Ref.ID = "9763712000000-0" // above that fence
			err = b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				batch, err := classified(ctx, b, tx, entries)
				if err != nil {
					return err
				}
				if _, err := b.Write(ctx, tx, batch); err != nil {
					return err
				}
				if err := batch.StillInBounds(ctx, tx); err != nil {
					return err
				}
				go fence()
				select {
				case err := <-fenced:
					t.Errorf("the fence did not wait for the commit (%v)", err)
					fenced <- err
				case <-time.After(200 * time.Millisecond): // far longer than a fence takes
				}
				return nil
			})
			testenv.Must(t, errors.Join(err, <-fenced))
		})
	}
}

// classified returns a posting before its writes.
func classified(ctx context.Context, b *paytest.Books, tx *sqldb.Tx, entries []rain.Entry) (posting.Batch, error) {
	batch, err := b.ReadBatch(ctx, tx, entries, false)
	if err != nil {
		return batch, err
	}
	for _, e := range entries {
		batch.Classify(e)
	}
	return batch, nil
}
