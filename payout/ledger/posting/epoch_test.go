package posting_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestABarrierIsAboveAllThatIsKnown: the clock, payouts, reclaims, dead letters and the previous barrier, but no
// forged time.
func TestABarrierIsAboveAllThatIsKnown(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 3})
		ahead := int(b.Clock.Now()) + 60_000 // of a Redis whose clock was a minute fast
		b.MustPost(t, paytest.Entry("c1", ahead, paytest.Win(paytest.Home("u1", 0, 3), 0, 10)))
		b.MustPost(t, paytest.Entry("c1", ahead+2_000, paytest.Win("u2", 0, 10))) // a dead letter
		b.MustPost(t, paytest.Entry("c1", ahead+2*posting.FarFutureMS, paytest.Win(paytest.Home("u3", 0, 3), 1, 10)))
		b.CloseCampaign(t, "c1")
		b.MustPost(t, paytest.ReclaimEntry(1, ahead+3_000, rain.Range{First: 4, Last: 6}))
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
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		first, err1 := b.BeginRebuild(ctx, "c1", 0)
		second, err2 := b.BeginRebuild(ctx, "c1", 0)
		if err := errors.Join(err1, err2); err != nil || second <= first {
			t.Fatalf("attempts %d, %d: %v", first, second, err)
		}
		testenv.WantErr(t, testenv.Err(b.Fence(ctx, "c1", 0, first)), posting.ErrRebuildSuperseded,
			"an earlier attempt")
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10))) // there is no barrier yet
		b.WantBalance(t, booking.UserAccount("u1"), 10)
		testenv.Must(t, testenv.Err(b.Fence(ctx, "c1", 0, second)))
		testenv.WantErr(t, testenv.Err(b.Fence(ctx, "c9", 0, 1)), posting.ErrUnknownCampaign, "an unknown campaign")
	})
}

// TestWhatComesAfterTheFenceIsVoid: except entries that the ledger had, and those of the new epoch.
func TestWhatComesAfterTheFenceIsVoid(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		u := func(n, shard int) string { return paytest.Home(fmt.Sprint("u", n), shard, 2) }
		known := paytest.Entry("c1", 5, paytest.Win(u(1, 0), 0, 10), paytest.Win(u(2, 0), 1, 10))
		b.MustPost(t, known)
		barrier := b.MustFence(t, 0)
		ms := testenv.Got3(barrier.Position()).Must(t)
		// packet 0 is another player's
		late := paytest.Entry("c1", 6, paytest.Win(u(3, 0), 2, 10), paytest.Win(u(4, 0), 0, 10))
		posted := b.MustPost(t, known, late, late, paytest.Entry("c1", int(ms), paytest.Win(u(5, 0), 3, 10)),
			paytest.ReclaimEntry(0, 7, rain.Range{First: 2, Last: 4}))
		if len(posted.Void) != 4 || len(posted.Dead) != 0 || posted.New != 0 || len(posted.Settled) != 2 {
			t.Errorf("void %+v, dead %+v, settled %+v", posted.Void, posted.Dead, posted.Settled)
		}
		// Again, as after a crash before the acknowledgement: no new result.
		if posted := b.MustPost(t, late); len(posted.Void)+len(posted.Dead)+len(posted.Settled) != 0 {
			t.Errorf("the second time: %+v", posted)
		}
		// The other shard was not rebuilt. The new epoch continues with the same packets.
		other := paytest.ShardEntry("c1", 1, 6, paytest.Win(u(6, 1), 7, 10))
		after := paytest.Entry("c1", 1, paytest.Win(u(7, 0), 2, 10), paytest.Win(u(8, 0), 3, 10))
		after.Ref.ID = fmt.Sprintf("%d-1", ms)
		if posted := b.MustPost(t, other, after); posted.New != 3 || len(posted.Void)+len(posted.Dead) != 0 {
			t.Errorf("the living: %+v", posted)
		}
		for user, want := range map[string]rain.Money{u(1, 0): 10, u(2, 0): 10, u(3, 0): 0, u(4, 0): 0, u(5, 0): 0,
			u(6, 1): 10, u(7, 0): 10, u(8, 0): 10} {
			b.WantBalance(t, booking.UserAccount(user), want)
		}
		testenv.Equal(t, b.ClaimState(t, u(4, 0), "c1-0"), ledger.StateGranted,
			"a void claim, without a dead letter, is")
		testenv.Equal(t, b.CountDead(t), 0, "dead letters wait for a person")
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at > 0 AND reason LIKE 'void: %'"),
			4, "void letters are kept")
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-9")), ledger.ErrUnknownClaim)
		// The books agree with the restored Redis: it knows the taken packets, and the rest is its stock.
		redis := paytest.NewFakeRedis(b.Clock.Now, c)
		redis.Settled(other)
		restored := paytest.Restored{Stock: paytest.Packets(2, 4),
			Barrier: posting.Barrier{Entry: barrier.ID, Epoch: ms}}
		for _, w := range known.Wins {
			restored.Wins = append(restored.Wins, posting.Assigned{Win: w, Entry: known.Ref})
		}
		redis.Restore("c1", 0, restored)
		redis.Settled(after)
		got := b.Prove(t, c, redis)
		if !got.Balanced || got.Difference != 0 || got.Dead != 0 || got.Paid != 50 || got.Stock != 50 {
			t.Errorf("the books: %+v", got)
		}
	})
}

// TestALetterThatWaitsOutlivesTheFence: its packet counts as assigned, so a later retry may pay it.
func TestALetterThatWaitsOutlivesTheFence(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 30, Packets: 3})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		allow := b.Refuse(t, "u2")
		given, err := b.Attempt(t.Context(), paytest.Entry("c1", 2, paytest.Win("u2", 1, 10)), errors.New("refused"), 1)
		if err != nil || len(given.Dead) != 1 {
			t.Fatalf("%+v, %v", given, err)
		}
		b.MustFence(t, 0)
		want := []posting.Assigned{
			{paytest.Win("u1", 0, 10), rain.EntryRef{Campaign: "c1", ID: "1-0"}},
			{paytest.Win("u2", 1, 10), rain.EntryRef{Campaign: "c1", ID: "2-0"}},
		}
		testenv.Equal(t, assigned(b, c), want, "taken")
		testenv.WantErr(t, testenv.Err(b.Retry(t.Context(), "c1-1")), ledger.ErrStillDead,
			"a retry while the database refuses it")
		allow()
		testenv.Got(b.Retry(t.Context(), "c1-1")).Len(t, 1, "settled claims")
		b.WantBalance(t, booking.UserAccount("u2"), 10)
		testenv.Equal(t, assigned(b, c), want, "taken after the retry")
	})
}

// assigned returns the assigned packets of a campaign, without their seals: a payout has none.
func assigned(b *paytest.Books, c *rain.Campaign) []posting.Assigned {
	all := b.Assigned(b.T, c)
	for i := range all {
		all[i].Win.Seal = ""
	}
	return all
}

// TestEachAssigned: over several pages, in order, each packet once. Unpayable dead letters do not count.
func TestEachAssigned(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const packets = 2*posting.AssignedPage + 5
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 10 * packets, Packets: packets, Shards: 2, WinsPerUser: 1})
		at := func(packet int) rain.EntryRef {
			return rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-0", packet+1)}
		}
		home := func(name string) string { return paytest.Home(name, 0, 2) }
		var want []posting.Assigned
		for _, p := range []int{0, 1, posting.AssignedPage - 1, posting.AssignedPage, 2 * posting.AssignedPage,
			packets - 1} {
			w := paytest.Win(home(fmt.Sprintf("u%d", p)), p, 10)
			b.MustPost(t, paytest.Seal(rain.Entry{Ref: at(p), Wins: []rain.Win{w}}))
			want = append(want, posting.Assigned{w, at(p)})
		}
		// Also won by others, in vain; and invalid wins.
		b.MustPost(t, paytest.Entry("c1", 50, paytest.Win(home("late"), 1, 10), paytest.Win(home("x"), packets, 10),
			paytest.Win("nobody\n", 7, 10),
			rain.Win{User: home("y"), Packet: 8, Drop: "-"}))
		wrong := paytest.ShardEntry("c1", 2, 51, paytest.Win(home("y"), 10, 10))
		forged := paytest.Entry("c1", 51, paytest.Win(home("y"), 12, 10))
		forged.Wins[0].Seal = "nobody-knows"
		b.MustPost(t, wrong, forged)
		// Two open dead letters of one packet: the first counts.
		giveUp(b, paytest.Entry("c1", 52, paytest.Win(home("v0"), 11, 10)))
		giveUp(b, paytest.Entry("c1", 53, paytest.Win(home("v1"), 11, 10)))
		want = slices.Insert(want, 2, posting.Assigned{paytest.Win(home("v0"), 11, 10),
			rain.EntryRef{Campaign: "c1", ID: "52-0"}})
		if got := assigned(b, c); !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		first, n := rain.ShardRange(packets, 2, 1)
		var part []int
		of := rain.Numbers{{First: first, Last: first + n - 1}, {First: 11, Last: 12}}
		if err := b.EachAssigned(t.Context(), c, of, func(k posting.Assigned) error {
			part = append(part, k.Win.Packet)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(part, []int{posting.AssignedPage, 2 * posting.AssignedPage, packets - 1, 11}) &&
			!slices.Equal(part, []int{2 * posting.AssignedPage, packets - 1, 11}) {
			t.Errorf("the second shard and two more: %v", part)
		}
		enough := errors.New("enough")
		if err := b.EachAssigned(t.Context(), c, paytest.Packets(0, packets-1),
			func(posting.Assigned) error { return enough }); !errors.Is(err,
			enough) {
			t.Error(err)
		}
	})
}

func TestReclaimed(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 3})
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("m1", 1, 1, one(0))))
		c := b.CloseCampaign(t, "c1")
		// the second is invalid and becomes a dead letter
		b.MustPost(t, paytest.ReclaimEntry(1, 1, rain.Range{First: 4, Last: 6}),
			paytest.ReclaimEntry(2, 1, rain.Range{First: 7, Last: 10}))
		b.MustPost(t, paytest.ReclaimEntry(1, 2, rain.Range{First: 0, Last: 0}))
		for shard, want := range []string{"", "4-6 0-0", "7-10"} {
			if got, err := b.Reclaimed(t.Context(), c, shard); got.String() != want || err != nil {
				t.Errorf("shard %d: %v, %v", shard, got, err)
			}
		}
		testenv.Must(t, b.CreateCampaign(t.Context(), b.LoadingCampaign(t, "c2")))
		c = testenv.Got(b.Abandon(t.Context(), "c2")).Must(t)
		if got, err := b.Reclaimed(t.Context(), c, 0); got.String() != "0-2" || err != nil {
			t.Errorf("an abandoned campaign: %v, %v", got, err)
		}
	})
}
