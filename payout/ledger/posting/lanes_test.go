package posting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestALaneHoldsWhereMoneyMoves: guests have packets 8 and 9 of ten, on shards 2 and 3. Sealed as it may be, a
// packet of the other lane is not paid, no retry can ever pay it, and it is nobody's meanwhile. No move crosses.
func TestALaneHoldsWhereMoneyMoves(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 4, GuestsShare: 200_000})
		layout := c.Layout()
		player, guest := paytest.HomeOf("p", 1, layout), paytest.HomeOf("g", 3, layout)
		if !rain.IsGuest(guest) || rain.IsGuest(player) {
			t.Fatalf("%s is no guest, or %s is one", guest, player)
		}
		for name, e := range map[string]rain.Entry{
			"a guest":  paytest.ShardEntry("c1", 3, 1, paytest.Win(guest, 5, 0)),
			"a player": paytest.ShardEntry("c1", 1, 1, paytest.Win(player, 8, 0)),
		} {
			wantDead(t, name, b.MustPost(t, e), posting.LetterPay, "in the player's lane")
		}
		wantDead(t, "a guest on a player's shard", b.MustPost(t,
			paytest.ShardEntry("c1", 1, 2, paytest.Win(guest, 4, 0))), posting.LetterPay, "not decided on shard")
		if got := assigned(b, c); len(got) != 0 {
			t.Errorf("promised: %+v", got)
		}
		for name, m := range map[string]struct{ from, to, packet int }{
			"to the guests":  {0, 2, 0},
			"to the players": {3, 1, 9},
		} {
			err := b.Moves.Write(t.Context(), "c1", m.from, lent("forged "+name, m.to, 1, one(m.packet)))
			if !errors.Is(err, posting.ErrMoveRefused) || !strings.Contains(err.Error(), "different lanes") {
				t.Errorf("%s: %v", name, err)
			}
		}
		paytest.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("players'", 1, 1, one(0))))
		paytest.Must(t, b.Moves.Write(t.Context(), "c1", 2, lent("guests'", 3, 1, one(8))))
		for shard, want := range []string{"1-3", "0-0 4-7", "", "8-9"} {
			paytest.Want(t, paytest.Got(b.Rebuilds.Holding(t.Context(), c, shard)).Must(t).Numbers.String(), want,
				fmt.Sprintf("shard %d has", shard))
		}
		b.MustPost(t, paytest.ShardEntry("c1", 3, 3, paytest.Win(guest, 8, 0)),
			paytest.ShardEntry("c1", 1, 3, paytest.Win(player, 5, 0)))
		b.WantBalance(t, booking.UserAccount(guest), 10)
		b.WantBalance(t, booking.UserAccount(player), 10)
		b.CheckBooks(t)
	})
}
