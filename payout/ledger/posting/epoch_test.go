package posting_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestABarrierIsAboveAllThatIsKnown: the clock, payouts, reclaims, dead letters and the barrier before, unless
// somebody has made the time up.
func TestABarrierIsAboveAllThatIsKnown(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 3})
		ahead := int(b.Clock.Now()) + 60_000 // of a Redis whose clock was a minute fast
		b.MustPost(t, paytest.Entry("c1", ahead, paytest.Win("u1", 0, 10)))
		b.MustPost(t, paytest.Entry("c1", ahead+2_000, paytest.Win("u2", 0, 10))) // a dead letter
		b.MustPost(t, paytest.ReclaimEntry(1, ahead+3_000, 3))
		b.MustPost(t, paytest.Entry("c1", ahead+2*posting.FarFutureMS, paytest.Win("u3", 0, 10)))
		for shard, above := range []int{ahead + 2_000, ahead + 3_000, int(b.Clock.Load())} {
			before := int64(0)
			for range 2 {
				ms, seq, err := b.MustFence(t, shard).Position()
				if err != nil || seq != 0 || ms <= max(int64(above), before) ||
					ms > int64(above)+10*posting.BarrierMarginMS {
					t.Errorf("shard %d: barrier %d-%d (%v), want a little above %d", shard, ms, seq, err, above)
				}
				before = ms
			}
		}
	})
}

func TestOnlyTheNewestAttemptFences(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		first, err1 := b.BeginRebuild(ctx, "c1", 0)
		second, err2 := b.BeginRebuild(ctx, "c1", 0)
		if err := errors.Join(err1, err2); err != nil || second <= first {
			t.Fatalf("attempts %d, %d: %v", first, second, err)
		}
		if _, err := b.Fence(ctx, "c1", 0, first); !errors.Is(err, posting.ErrRebuildSuperseded) {
			t.Errorf("an earlier attempt: %v", err)
		}
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10))) // there is no barrier yet
		b.WantBalance(t, booking.UserAccount("u1"), 10)
		if _, err := b.Fence(ctx, "c1", 0, second); err != nil {
			t.Error(err)
		}
		if _, err := b.Fence(ctx, "c9", 0, 1); !errors.Is(err, posting.ErrUnknownCampaign) {
			t.Errorf("an unknown campaign: %v", err)
		}
	})
}

// TestWhatComesAfterTheFenceIsVoid, unless the ledger had it, and unless it is of the life after.
func TestWhatComesAfterTheFenceIsVoid(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		known := paytest.Entry("c1", 5, paytest.Win("u1", 0, 10), paytest.Win("u2", 1, 10))
		b.MustPost(t, known)
		barrier := b.MustFence(t, 0)
		ms, _, err := barrier.Position()
		if err != nil {
			t.Fatal(err)
		}
		// packet 0 is somebody else's
		late := paytest.Entry("c1", 6, paytest.Win("u3", 2, 10), paytest.Win("u4", 0, 10))
		posted := b.MustPost(t, known, late, late, paytest.Entry("c1", int(ms), paytest.Win("u5", 3, 10)),
			paytest.ReclaimEntry(0, 7, 3))
		if len(posted.Void) != 4 || len(posted.Dead) != 0 || posted.New != 0 || len(posted.Settled) != 2 {
			t.Errorf("void %+v, dead %+v, settled %+v", posted.Void, posted.Dead, posted.Settled)
		}
		// Again, as after a crash before the acknowledgement: nothing new is said.
		if posted := b.MustPost(t, late); len(posted.Void)+len(posted.Dead)+len(posted.Settled) != 0 {
			t.Errorf("the second time: %+v", posted)
		}
		// The other shard has not been rebuilt. And the life after the barrier goes on with the same packets.
		other := paytest.Entry("c1", 6, paytest.Win("u6", 7, 10))
		other.Ref.Shard = 1
		after := paytest.Entry("c1", 1, paytest.Win("u7", 2, 10), paytest.Win("u8", 3, 10))
		after.Ref.ID = fmt.Sprintf("%d-1", ms)
		if posted := b.MustPost(t, other, after); posted.New != 3 || len(posted.Void)+len(posted.Dead) != 0 {
			t.Errorf("the living: %+v", posted)
		}
		for user, want := range map[string]rain.Money{"u1": 10, "u2": 10, "u3": 0, "u4": 0, "u5": 0, "u6": 10, "u7": 10,
			"u8": 10} {
			b.WantBalance(t, booking.UserAccount(user), want)
		}
		if state := b.ClaimState(t, "u4", "c1-0"); state != ledger.StateGranted {
			t.Errorf("a void claim is %s, and nobody waits for it", state)
		}
		if n := b.CountDead(t); n != 0 {
			t.Errorf("%d letters wait for a person (%v)", n, err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at > 0 AND reason LIKE 'void: %'"); n != 4 {
			t.Errorf("%d void letters are kept", n)
		}
		if _, err := b.Retry(t.Context(), "c1-9"); !errors.Is(err, ledger.ErrUnknownClaim) {
			t.Error(err)
		}
		// The books are those of Redis as it is restored: it knows what is taken, and the rest is its stock.
		got := b.Prove(t, c, []rain.ShardSnapshot{
			{Shard: 0, Found: true, Packets: 1, Left: 10, Won: 4, AmountWon: 40, LastEntry: after.Ref.ID},
			{Shard: 1, Found: true, Packets: 4, Left: 40, Won: 1, AmountWon: 10, LastEntry: "6-0"},
		})
		if !got.Balanced || got.Difference != 0 || got.Dead != 0 || got.Paid != 50 || got.Stock != 50 {
			t.Errorf("the books: %+v", got)
		}
		b.CheckBooks(t)
	})
}

// TestALetterThatWaitsOutlivesTheFence: its packet counts as taken, so a retry may pay it whenever it comes.
func TestALetterThatWaitsOutlivesTheFence(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 30, Packets: 3})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		// More than the escrow holds: one of them has to wait. (Its money comes back by hand of a person.)
		if posted := b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("u2", 1, 21))); len(posted.Dead) != 1 {
			t.Fatalf("%+v", posted)
		}
		b.MustFence(t, 0)
		want := []posting.Assigned{
			{paytest.Win("u1", 0, 10), rain.EntryRef{Campaign: "c1", ID: "1-0"}},
			{paytest.Win("u2", 1, 21), rain.EntryRef{Campaign: "c1", ID: "2-0"}},
		}
		if got := b.Assigned(t, c); !slices.Equal(got, want) {
			t.Errorf("taken: %+v", got)
		}
		if _, err := b.Retry(t.Context(), "c1-1"); !errors.Is(err, ledger.ErrStillDead) {
			t.Errorf("a retry without money: %v", err)
		}
		b.GiveEscrow(t, "c1", 10)
		settled, err := b.Retry(t.Context(), "c1-1")
		if err != nil || len(settled) != 1 {
			t.Fatalf("%+v, %v", settled, err)
		}
		b.WantBalance(t, booking.UserAccount("u2"), 21)
		if got := b.Assigned(t, c); !slices.Equal(got, want) {
			t.Errorf("taken after the retry: %+v", got)
		}
		b.CheckBooks(t)
	})
}

// TestEachAssigned: over several pages, in order, each packet once; letters that nobody can ever be paid take nothing.
func TestEachAssigned(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		const packets = 2*posting.AssignedPage + 5
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 10 * packets, Packets: packets, Shards: 2})
		at := func(packet int) rain.EntryRef {
			return rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-0", packet+1)}
		}
		var want []posting.Assigned
		for _, p := range []int{0, 1, posting.AssignedPage - 1, posting.AssignedPage, 2 * posting.AssignedPage,
			packets - 1} {
			w := paytest.Win(fmt.Sprintf("u%d", p), p, 10)
			b.MustPost(t, rain.Entry{Ref: at(p), Wins: []rain.Win{w}})
			want = append(want, posting.Assigned{w, at(p)})
		}
		// Promised to others too, in vain; and nonsense.
		b.MustPost(t, paytest.Entry("c1", 50, paytest.Win("late", 1, 10), paytest.Win("x", packets, 10),
			paytest.Win("nobody\n", 7, 10),
			rain.Win{User: "y", Packet: 8, Amount: 10, Drop: "-"},
			paytest.Win("z", 9, -4)))
		wrong := paytest.Entry("c1", 51, paytest.Win("y", 10, 10))
		wrong.Ref.Shard = 2
		b.MustPost(t, wrong)
		// Two promises of one packet that wait: the first counts.
		b.MustPost(t, paytest.Entry("c1", 52, paytest.Win("first", 11, rain.MaxBudget),
			paytest.Win("second", 11, rain.MaxBudget)))
		want = slices.Insert(want, 2, posting.Assigned{paytest.Win("first", 11, rain.MaxBudget),
			rain.EntryRef{Campaign: "c1", ID: "52-0"}})
		if got := b.Assigned(t, c); !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		first, n := rain.ShardRange(packets, 2, 1)
		var part []posting.Assigned
		if err := b.EachAssigned(t.Context(), c, first, n, func(k posting.Assigned) error {
			part = append(part,
				k)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		half := slices.IndexFunc(want, func(k posting.Assigned) bool { return k.Win.Packet >= first })
		if !slices.Equal(part,
			want[half:]) {
			t.Errorf("the second shard: %v", part)
		}
		enough := errors.New("enough")
		if err := b.EachAssigned(t.Context(), c, 0, packets,
			func(posting.Assigned) error { return enough }); !errors.Is(err,
			enough) {
			t.Error(err)
		}
	})
}

func TestReclaimed(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 3})
		// the second makes no sense and waits
		b.MustPost(t, paytest.ReclaimEntry(1, 1, 3), paytest.ReclaimEntry(2, 1, 11))
		for shard, want := range []bool{false, true, true} {
			if got, err := b.Reclaimed(t.Context(), "c1", shard); got != want || err != nil {
				t.Errorf("shard %d: %v, %v", shard, got, err)
			}
		}
		if err := b.CreateCampaign(t.Context(), b.LoadingCampaign(t, "c2")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Abandon(t.Context(), "c2"); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Reclaimed(t.Context(), "c2", 0); !got || err != nil {
			t.Errorf("an abandoned campaign: %v, %v", got, err)
		}
	})
}
