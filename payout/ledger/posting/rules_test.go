package posting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// wantDead fails the test unless a posting has paid nothing of an entry, and its one dead letter has the reason.
func wantDead(t *testing.T, what string, posted posting.Posted, kind, reason string) {
	t.Helper()
	if len(posted.Dead) != 1 || posted.New != 0 || posted.Dead[0].Kind != kind ||
		!strings.Contains(posted.Dead[0].Reason, reason) {
		t.Errorf("%s: %+v, want a dead letter of kind %s with %q", what, posted, kind, reason)
	}
}

// TestADropWinsAsItFell: a drop that no rain had, one that was not in the air at the seal, and a decoy win nothing.
// Retries win nothing either.
func TestADropWinsAsItFell(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		short := rain.Rain{
			ID: "short", Campaign: "c1", StartsAt: 50_000, FirstWave: 2_000_000_000, Seed: rain.Seed{4},
			Settings: rain.Settings{DurationMS: 1000, DropsPerSecond: 40, FallMS: 4000, Pacing: rain.PacingNone},
		}
		decoys := short
		decoys.ID, decoys.FirstWave, decoys.DecoyPercent = "decoys", 3_000_000_000, 100
		testenv.Must(t, testenv.Err(b.Update(t.Context(), "c1", func(c *rain.Campaign) error {
			c.Rains = append(c.Rains, short, decoys)
			return nil
		})))
		n := 0
		post := func(drop string, at int64) posting.Posted {
			n++
			e := paytest.Entry("c1", n, rain.Win{User: fmt.Sprint("u", n), Packet: n - 1, Drop: drop})
			e.SealedAt = at
			return b.MustPost(t, paytest.SealWith(paytest.Ring, e))
		}
		wantDead(t, "no such wave", post("2000000004.0", 50_100), posting.LetterPay, "no rain")
		wantDead(t, "no such drop", post("2000000000.10", 50_100), posting.LetterPay, "no rain")
		wantDead(t, "no drop at all", post("7", 50_100), posting.LetterPay, "no rain")
		wantDead(t, "before it fell", post("2000000000.0", 50_000-10_001), posting.LetterPay, "not in the air")
		wantDead(t, "long after it had landed", post("2000000000.0", 50_000+4_000+500+10_000), posting.LetterPay,
			"not in the air")
		wantDead(t, "a decoy", post("3000000000.0", 50_100), posting.LetterPay, "decoy")
		testenv.Equal(t, post("2000000000.9", 50_100).New, 1, "a drop that fell")
		for claim := range 6 {
			if _, err := b.Retry(t.Context(), fmt.Sprintf("c1-%d", claim)); !errors.Is(err, ledger.ErrStillDead) {
				t.Error(claim, err)
			}
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 90)
	})
}

// TestWinsPerUser: a win over the player's limit is not paid, whether it comes later, in the same entry or in another
// entry of the batch. The wins beside it are paid.
func TestWinsPerUser(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 200, Packets: 20, WinsPerUser: 2})
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 20, Packets: 2, WinsPerUser: 1})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 0)))
		posted := b.MustPost(t,
			paytest.Entry("c1", 2, paytest.Win("u1", 1, 0), paytest.Win("u2", 2, 0), paytest.Win("u2", 3, 0),
				paytest.Win("u2", 4, 0), paytest.Win("u3", 5, 0)),
			paytest.Entry("c1", 3, paytest.Win("u1", 6, 0), paytest.Win("u3", 7, 0)),
			paytest.Entry("c2", 1, paytest.Win("u1", 0, 0), paytest.Win("u2", 1, 0)))
		if posted.New != 7 || len(posted.Dead) != 2 || posted.Dead[0].Claim != "c1-4" ||
			posted.Dead[1].Claim != "c1-6" ||
			!strings.Contains(posted.Dead[0].Reason, "limit of") {
			t.Errorf("%+v", posted)
		}
		// Again: copies of paid wins are reported, and no dead letter is added.
		if again := b.MustPost(t, paytest.Entry("c1", 9, paytest.Win("u1", 0, 0),
			paytest.Win("u1", 1, 0))); again.New != 0 ||
			len(again.Settled) != 2 || len(again.Dead) != 0 {
			t.Errorf("%+v", again)
		}
		for _, claim := range []string{"c1-4", "c1-6"} {
			if _, err := b.Retry(t.Context(), claim); !errors.Is(err, ledger.ErrStillDead) {
				t.Error(claim, err)
			}
		}
		b.WantBalance(t, booking.UserAccount("u1"), 30)
		b.WantBalance(t, booking.UserAccount("u2"), 30)
		b.WantBalance(t, booking.UserAccount("u3"), 20)
	})
}

// TestManyNodesBringAPlayerTooMuch: eight nodes post different wins of the same players at once. Some of the players
// have won before. As many wins are paid as the campaign allows.
func TestManyNodesBringAPlayerTooMuch(t *testing.T) {
	paytest.OnEachInTurn(t, func(t *testing.T, b *paytest.Books) {
		const nodes, players, rounds, allowed = 8, 3, 6, 3
		for round := range rounds {
			id := fmt.Sprintf("c%d", round)
			b.OpenCampaign(t, id, rain.Spec{Budget: nodes * players, Packets: nodes * players, WinsPerUser: allowed})
			paytest.Together(nodes, func(n int) {
				var wins []rain.Win
				for u := range players {
					wins = append(wins, paytest.Win(fmt.Sprintf("%d-%d", round/2, (n+u)%players), n*players+u, 0))
				}
				entry := paytest.Entry(id, n+1, wins...)
				testenv.WantErr(t, testenv.Err(paytest.Node(t, b).Poster.Post(t.Context(), []rain.Entry{entry})), nil)
			})
			if paid, _, err := b.Paid(t.Context(), id); err != nil || paid != players*allowed {
				t.Errorf("%d are paid, %v", paid, err)
			}
			testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM winner WHERE campaign_id = ? AND wins <> ?", id, allowed),
				0, "players have other than %d wins", allowed)
			testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM dead_letter WHERE campaign_id = ?", id),
				(nodes-allowed)*players, "letters")
		}
		b.CheckBooks(t)
	})
}

// TestADropWinsOnce: a player has one packet for a drop, whatever Redis says later; another player may have one too.
func TestADropWinsOnce(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		with := func(user string, packet, drop int) rain.Win {
			return rain.Win{User: user, Packet: packet, Drop: paytest.DropOf(drop)}
		}
		b.MustPost(t, paytest.Entry("c1", 1, with("u1", 0, 0), with("u2", 1, 0)))
		wantDead(t, "later", b.MustPost(t, paytest.Entry("c1", 2, with("u1", 2, 0))), posting.LetterPay, "before")
		posted := b.MustPost(t, paytest.Entry("c1", 3, with("u3", 3, 5), with("u3", 4, 5), with("u4", 5, 5)))
		if posted.New != 2 || len(posted.Dead) != 1 || posted.Dead[0].Claim != "c1-4" {
			t.Errorf("in one entry: %+v", posted)
		}
		posted = b.MustPost(t, paytest.Entry("c1", 4, with("u5", 6, 6)), paytest.Entry("c1", 5, with("u5", 7, 6)))
		if posted.New != 1 || len(posted.Dead) != 1 || posted.Dead[0].Claim != "c1-7" {
			t.Errorf("in two entries: %+v", posted)
		}
		for _, claim := range []string{"c1-2", "c1-4", "c1-7"} {
			if _, err := b.Retry(t.Context(), claim); !errors.Is(err, ledger.ErrStillDead) {
				t.Error(claim, err)
			}
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 50)
	})
}

// TestManyNodesBringADropTwice: two nodes post two packets for the same drop of one player at once. One is paid.
func TestManyNodesBringADropTwice(t *testing.T) {
	paytest.OnEachInTurn(t, func(t *testing.T, b *paytest.Books) {
		const nodes, players = 6, 5
		b.OpenCampaign(t, "c1", rain.Spec{Budget: nodes * players, Packets: nodes * players})
		paytest.Together(nodes, func(n int) {
			var wins []rain.Win
			for u := range players {
				wins = append(wins, rain.Win{User: fmt.Sprint("u", (n+u)%players), Packet: n*players + u,
					Drop: paytest.DropOf((n + u) % players)})
			}
			testenv.WantErr(t, testenv.Err(paytest.Node(t, b).Poster.Post(t.Context(), []rain.Entry{paytest.Entry("c1",
				n+1, wins...)})), nil)
		})
		if paid, _, err := b.Paid(t.Context(), "c1"); err != nil || paid != players {
			t.Errorf("%d are paid, %v", paid, err)
		}
		testenv.Equal(t, b.CountDead(t), (nodes-1)*players, "dead letters")
		b.CheckBooks(t)
	})
}

// TestTheMarkOnlyRises: the mark is the newest posted entry of a shard. An impossible time and an unposted entry do
// not move it.
func TestTheMarkOnlyRises(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 2})
		user := paytest.Home("u", 1, 2)
		packet := 0
		post := func(id string, wants string) {
			t.Helper()
			b.MustPost(t, paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: 1, ID: id},
				Wins: []rain.Win{paytest.Win(user, packet, 0)}}))
			packet++
			known, err := b.Moves.Known(t.Context(), c)
			if err != nil || len(known) != 2 || known[0].Entry != "0-0" || known[1].Entry != wants {
				t.Errorf("after %s: %+v, %v, want %s", id, known, err, wants)
			}
		}
		post("5-3", "5-3")
		post("5-1", "5-3")
		post("5-12", "5-12")
		post("4-99", "5-12")
		post("6-0", "6-0")
		post(fmt.Sprintf("%d-0", b.Clock.Load()+2*posting.FarFutureMS), "6-0")
		b.MustPost(t, paytest.ShardEntry("c1", 1, 9, paytest.Win(user, 0, 0))) // a copy of a win in another entry
		packet = 0
		post("8-0", "6-0")
	})
}

// TestALaneHoldsWhereMoneyMoves: guests have packets 8 and 9 of ten, on shards 2 and 3. A packet of the other lane is
// not paid, even with a valid seal. No retry can pay it, and it stays unassigned. No move crosses.
func TestALaneHoldsWhereMoneyMoves(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
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
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 0, lent("players'", 1, 1, one(0))))
		testenv.Must(t, b.Moves.Write(t.Context(), "c1", 2, lent("guests'", 3, 1, one(8))))
		for shard, want := range []string{"1-3", "0-0 4-7", "", "8-9"} {
			testenv.Equal(t, testenv.Got(b.Rebuilds.Holding(t.Context(), c, shard)).Must(t).Numbers.String(), want,
				"shard %d has", shard)
		}
		b.MustPost(t, paytest.ShardEntry("c1", 3, 3, paytest.Win(guest, 8, 0)),
			paytest.ShardEntry("c1", 1, 3, paytest.Win(player, 5, 0)))
		b.WantBalance(t, booking.UserAccount(guest), 10)
		b.WantBalance(t, booking.UserAccount(player), 10)
	})
}
