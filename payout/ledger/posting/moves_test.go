package posting_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// lent is the n-th move of a shard that was never rebuilt.
func lent(id string, to int, n int64, packets ...rain.Range) rain.Lent {
	return rain.Lent{Move: id, To: to, Number: n, Numbers: packets}
}

func TestMoves(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
		first := lent("m1", 1, 1, rain.Range{First: 2, Last: 3}, rain.Range{First: 0, Last: 0})
		second := lent("m2", 0, 4, rain.Range{First: 2, Last: 2})
		for range 2 {
			testenv.Must(t, b.Moves.Write(ctx, "c1", 0, first))
			testenv.Must(t, b.Moves.Write(ctx, "c1", 1, second))
			testenv.Must(t, b.Moves.Write(ctx, "c2", 0, lent("m3", 1, 77, rain.Range{First: 0, Last: 0})))
		}
		open, err := b.Moves.Open(ctx, "c1")
		want := []posting.Move{{Lent: first, From: 0}, {Lent: second, From: 1}}
		if err != nil || !reflect.DeepEqual(open, want) {
			t.Errorf("%+v, %v\nwant %+v", open, err, want)
		}
		wantKnown := func(what string, moves ...int64) {
			t.Helper()
			known, err := b.Moves.Known(ctx, c)
			got := paytest.Map(known, func(k posting.Known) int64 { return k.Moves })
			if err != nil || !slices.Equal(got, moves) {
				t.Errorf("%s: %v, %v, want %v", what, got, err, moves)
			}
		}
		wantKnown("before they arrive", 1, 4, 0)
		testenv.Must(t, b.Moves.Done(ctx, "m1", 5))
		testenv.Must(t, b.Moves.Done(ctx, "m1", 9)) // a second number is ignored
		wantKnown("after one has arrived", 1, 5, 0)
		if open, err := b.Moves.Open(ctx, "c1"); err != nil || len(open) != 1 || open[0].Lent.Move != "m2" {
			t.Errorf("%+v, %v", open, err)
		}
		// A done move stays done after a late call.
		testenv.Must(t, b.Moves.Write(ctx, "c1", 0, first))
		testenv.Got(b.Moves.Open(ctx, "c1")).Len(t, 1, "moves")
		testenv.Must(t, b.Moves.Done(ctx, "of nobody", 1))
		epoch := testenv.Got3(b.MustFence(t, 0).Position()).Must(t)
		wantKnown("once the first is fenced", epoch, 5, 0) // its epoch counts from there
		for shard, want := range []posting.Holding{
			{Numbers: rain.Numbers{{First: 1, Last: 2}}, Borrowed: []string{"m2"}, Moves: 1},
			{Numbers: rain.Numbers{{First: 0, Last: 0}, {First: 3, Last: 7}}, Borrowed: []string{"m1"},
				Moves: 5},
			{Numbers: rain.Numbers{{First: 8, Last: 11}}},
		} {
			if got, err := b.Holding(ctx, c, shard); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("shard %d: %+v, %v\nwant %+v", shard, got, err, want)
			}
		}
	})
}

// TestAMoveAndARebuild: a loan from before the rebuild moves if it had its row by then. Otherwise it is in the
// shard's stock again.
func TestAMoveAndARebuild(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 80, Packets: 8, Shards: 2})
		written, late := lent("m1", 1, 1, rain.Range{First: 3, Last: 3}),
			lent("m2", 1, 2, rain.Range{First: 2, Last: 2})
		testenv.Must(t, b.Moves.Write(ctx, "c1", 0, written))
		barrier := b.MustFence(t, 0)
		testenv.WantErr(t, b.Moves.Write(ctx, "c1", 0, late), posting.ErrCutOff, "without a row")
		testenv.Must(t, b.Moves.Write(ctx, "c1", 0, written))
		testenv.Must(t, b.Moves.Write(ctx, "c1", 1, lent("m3", 0, 1, rain.Range{First: 7, Last: 7}))) // not cut off
		testenv.Equal(t, testenv.Got(b.Holding(ctx, c, 0)).Must(t).Numbers.String(), "0-2 7-7", "its packets")
		ms := testenv.Got3(barrier.Position()).Must(t)
		next := lent("m4", 1, ms+3, rain.Range{First: 2, Last: 2})
		for _, epoch := range []int64{0, ms - 1, ms + 1} {
			next.Epoch = epoch
			testenv.WantErr(t, b.Moves.Write(ctx, "c1", 0, next), posting.ErrCutOff, "of another epoch")
		}
		next.Epoch = ms
		testenv.Must(t, b.Moves.Write(ctx, "c1", 0, next))
		testenv.Equal(t, testenv.Got(b.Holding(ctx, c, 0)).Must(t).Numbers.String(), "0-1 7-7", "its packets")
	})
}

// TestMovesMeetAFence: a shard is fenced while several nodes write the same rows of moves. No row is added after the
// fence, so the shard's stock follows from the rows.
func TestMovesMeetAFence(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const moves, nodes = 40, 4
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 2 * moves, Packets: 2 * moves, Shards: 2})
		attempt := testenv.Got(b.BeginRebuild(t.Context(), "c1", 0)).Must(t)
		var written atomic.Int64
		some := make(chan struct{})
		var held posting.Holding
		paytest.Together(nodes+1, func(n int) {
			if n == nodes {
				<-some
				testenv.WantErr(t, testenv.Err(b.Fence(context.Background(), "c1", 0, attempt)), nil)
				var err error
				if held, err = b.Holding(context.Background(), c, 0); err != nil {
					t.Error(err)
				}
				return
			}
			for i := range moves {
				err := b.Moves.Write(context.Background(), "c1", 0, lent(fmt.Sprint("m", i), 1, int64(i+1),
					rain.Range{First: i, Last: i}))
				if err != nil && !errors.Is(err, posting.ErrCutOff) {
					t.Error(err)
				}
				if written.Add(1) == moves {
					close(some)
				}
			}
		})
		rows := b.Count(t, "SELECT COUNT(*) FROM move")
		if held.Numbers.Count() != moves-rows {
			t.Errorf("%d rows, and the shard was said to hold %s", rows, held.Numbers)
		}
		t.Logf("%d of %d moves were written before the fence", rows, moves)
	})
}

// TestRowsThatAreTorn: a tampered row is an error that names the move.
func TestRowsThatAreTorn(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 80, Packets: 8, Shards: 2})
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("m1", 1, 1, rain.Range{First: 3, Last: 3})))
		b.Statement(t, "UPDATE move SET numbers = 'torn'")
		testenv.WantErr(t, testenv.Err(b.Moves.Open(t.Context(), "c1")), rain.ErrNumbers)
		testenv.WantErr(t, testenv.Err(b.Holding(t.Context(), c, 0)), rain.ErrNumbers)
		b.Statement(t, "UPDATE move SET numbers = '3-3', from_shard = 99")
		testenv.Got(b.Moves.Known(t.Context(), c)).Len(t, 2, "moves")
	})
}

// TestEachWin: all wins of a shard's players, in the order won, including payable dead letters, without forged and
// unpayable ones.
func TestEachWin(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const wins = 1200 // more than a page
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 2 * (wins + 10), Packets: wins + 10, Shards: 2})
		user := func(shard int) string { return paytest.Home("u", shard, 2) }
		var list []rain.Win
		var want []int
		for i := range wins {
			packet := wins - 1 - i
			list = append(list, paytest.Win(user(0), packet, 0))
		}
		b.MustPost(t, paytest.Entry("c1", 2, list[:600]...), paytest.Entry("c1", 1, list[600:]...),
			paytest.ShardEntry("c1", 1, 1, paytest.Win(user(1), wins, 0)))
		for i := range 600 {
			want = append(want, i)
		}
		for i := range 600 {
			want = append(want, 600+i)
		}
		b.Refuse(t, paytest.Home("poison", 0, 2))
		bad := paytest.Entry("c1", 3, paytest.Win(paytest.Home("poison", 0, 2), wins+1, 0))
		testenv.Must(t, testenv.Err(b.Attempt(t.Context(), bad, errors.New("no"), 1)))
		forged := paytest.Entry("c1", 3, paytest.Win(user(0), wins+2, 0))
		forged.Wins[0].Seal = "x"
		b.MustPost(t, forged, paytest.Entry("c1", 4, rain.Win{User: user(0), Packet: wins + 3, Drop: "-"}))
		late := posting.LateLetter(paytest.Entry("c1", 2, list[0]), "given up in the same moment")
		late.Amount = 2
		testenv.Must(t, b.WriteLetter(late))
		want = append(want, wins+1)
		var got []int
		err := b.EachWin(t.Context(), c, 0, func(a posting.Assigned) error {
			got = append(got, a.Win.Packet)
			if a.Win.Amount != 2 || a.Entry.Shard != 0 || a.Entry.Campaign != "c1" {
				t.Errorf("%+v", a)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d wins, %v, want %d: %v", len(got), err, len(want), got)
		}
		enough := errors.New("enough")
		if err := b.EachWin(t.Context(), c, 0, func(posting.Assigned) error { return enough }); !errors.Is(err,
			enough) {
			t.Error(err)
		}
		b.WantBalance(t, booking.UserAccount(user(1)), 2)
	})
}

// TestTop: the top players of a shard, without those of other shards.
func TestTop(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 120, Shards: 3})
		var want []posting.Total
		packet := 0
		for n := 5; n > 0; n-- {
			for shard := range 3 {
				user := paytest.Home(fmt.Sprint("u", n), shard, 3)
				for range n {
					b.MustPost(t, paytest.ShardEntry("c1", shard, packet+1, paytest.Win(user, packet, 0)))
					packet++
				}
				if shard == 1 && n > 2 {
					want = append(want, posting.Total{User: user, Amount: rain.Money(n)})
				}
			}
		}
		testenv.Got(b.Top(t.Context(), c, 1, 3)).Want(t, want, "top players")
	})
}
