package posting_test

import (
	"errors"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// giveUp gives an entry up: its win becomes a dead letter.
func giveUp(b *paytest.Books, e rain.Entry) {
	b.T.Helper()
	tried, err := b.Attempt(b.T.Context(), e, errors.New("refused"), 1)
	if err != nil || len(tried.Dead) != 1 {
		b.T.Fatalf("%+v, %v", tried, err)
	}
}

// winsOf returns the players and packets of EachWin for both shards.
func winsOf(b *paytest.Books, c *rain.Campaign) (all []string, packets []int) {
	b.T.Helper()
	for shard := range 2 {
		testenv.Must(b.T, b.EachWin(b.T.Context(), c, shard, func(a posting.Assigned) error {
			all = append(all, rain.ClaimID(a.Win.User, a.Win.Packet))
			packets = append(packets, a.Win.Packet)
			return nil
		}))
	}
	slices.Sort(packets)
	return all, packets
}

// TestALetterThatCannotBePaidTakesNothing: each assigned packet is named once, over all shards, for the stock and for
// the wins. A dead letter counts while a retry may pay it.
func TestALetterThatCannotBePaidTakesNothing(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 20, Packets: 20, Shards: 2, WinsPerUser: 2})
		first, late, full := paytest.Home("first", 0, 2), paytest.Home("late", 0, 2), paytest.Home("full", 0, 2)
		other := paytest.Home("other", 1, 2)
		line := func(user string, packet, drop int) rain.Win {
			return rain.Win{User: user, Packet: packet, Drop: paytest.DropOf(drop)}
		}
		b.MustPost(t, paytest.Entry("c1", 1, line(first, 0, 0), line(full, 1, 1), line(full, 2, 2)))
		for name, e := range map[string]rain.Entry{
			"paid to another player of the shard":  paytest.Entry("c1", 2, line(late, 0, 0)),
			"paid to a player of another shard":    paytest.ShardEntry("c1", 1, 2, line(other, 0, 0)),
			"a line that has won already":          paytest.Entry("c1", 3, line(first, 5, 0)),
			"of a player who has all the wins":     paytest.Entry("c1", 4, line(full, 3, 3)),
			"no such packet":                       paytest.Entry("c1", 5, line(late, 20, 0)),
			"a packet of no column":                paytest.Entry("c1", 6, line(late, 1<<40, 0)),
			"a player of another shard's":          paytest.Entry("c1", 7, line(other, 8, 8)),
			"the same line with the same packet":   paytest.Entry("c1", 8, line(late, 0, 0)),
			"a line that has won, and is too late": paytest.Entry("c1", 9, line(first, 9, 0)),
		} {
			if p := b.MustPost(t, e); len(p.Dead) != 1 || p.Dead[0].Kind != posting.LetterPay {
				t.Fatalf("%s: %+v", name, p)
			}
		}
		giveUp(b, paytest.Entry("c1", 10, line(late, 4, 4)))
		giveUp(b, paytest.ShardEntry("c1", 1, 10, line(other, 4, 4)))
		giveUp(b, paytest.Entry("c1", 11, line(late, 6, 6)))
		giveUp(b, paytest.Entry("c1", 12, line(late, 7, 6)))
		want := func(names []string, packets ...int) {
			t.Helper()
			taken := paytest.Map(assigned(b, c), func(a posting.Assigned) int { return a.Win.Packet })
			got, won := winsOf(b, c)
			if !slices.Equal(got, names) || !slices.Equal(won, packets) || !slices.Equal(taken, packets) {
				t.Errorf("wins %v, taken %v, want %v", got, taken, names)
			}
		}
		paid := []string{first + "-0", full + "-1", full + "-2"}
		want(append(slices.Clone(paid), late+"-4", late+"-6", late+"-7"), 0, 1, 2, 4, 6, 7)
		testenv.Got(b.Retry(t.Context(), "c1-7")).Len(t, 1, "settled claims")
		want(append(slices.Clone(paid), late+"-7", late+"-4"), 0, 1, 2, 4, 7)
	})
}

// TestAPromiseThatIsPaidMeanwhile: a dead letter that is paid while a rebuild reads the wins is named exactly once.
func TestAPromiseThatIsPaidMeanwhile(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 20, Packets: 20})
		giveUp(b, paytest.Entry("c1", 1, paytest.Win("before", 1, 0)))
		b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("u", 2, 0)))
		giveUp(b, paytest.Entry("c1", 3, paytest.Win("after", 3, 0)))
		var got []int
		testenv.Must(t, b.EachWin(t.Context(), c, 0, func(a posting.Assigned) error {
			if got = append(got, a.Win.Packet); len(got) > 1 {
				return nil
			}
			for _, claim := range []string{"c1-1", "c1-3"} {
				testenv.Got(b.Retry(t.Context(), claim)).Len(t, 1, "settled claims")
			}
			return nil
		}))
		slices.Sort(got)
		testenv.Equal(t, got, []int{1, 2, 3}, "packets")
	})
}
