package ledger_test

import (
	"fmt"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

var warden = ledger.Person{Name: "ann", ID: "token:ann", Reason: "a bot"}

// What a banned player wins is not paid, whoever posts it and whenever: it waits for a person. What was won before the
// ban, or after it was lifted, is paid.
func TestABannedPlayerIsNotPaid(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		ctx := t.Context()
		b.OpenCampaign(t, "c", rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 9})
		node := paytest.Node(t, b)
		win := func(number int, user string) rain.Entry {
			return paytest.Entry("c", int(b.Clock.Now()), paytest.Win(user, number, 10))
		}
		b.MustPost(t, win(0, "u"))
		give := func(act standing.SanctionAct) {
			t.Helper()
			paytest.Must(t, testenv.Err(node.Sanctions.Give(paytest.As(t, "user."+string(act)), "u", act, warden)))
		}
		give(standing.Ban)
		posted := b.MustPost(t, win(1, "u"), win(2, "v"))
		if len(posted.Dead) != 1 || posted.Dead[0].User != "u" || posted.Dead[0].Reason != posting.Banned ||
			posted.New != 1 {
			t.Errorf("posted %+v", posted)
		}
		testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "w1", "u", 5)), ledger.ErrBanned, "a banned player withdraws")
		give(standing.Disconnect)
		testenv.WantErr(t, paytest.Err3(b.Withdraw(ctx, "w2", "u", 5)), ledger.ErrBanned,
			"a banned player who was disconnected since withdraws")
		paytest.Must(t, paytest.Err3(b.Withdraw(ctx, "w3", "v", 5)))
		b.Clock.Add(1)
		give(standing.Unban)
		paytest.Must(t, paytest.Err3(b.Withdraw(ctx, "w1", "u", 5)))
		of, err := node.Sanctions.Of(ctx, "u")
		if err != nil || len(of) != 3 || of[0].Act != standing.Unban || of[2].By != "ann" || of[2].Reason != "a bot" {
			t.Errorf("the acts: %+v, %v", of, err)
		}
		paytest.Got(b.Retry(ctx, rain.ClaimID("c", 1))).Len(t, 1, "a person pays it")
	})
}

// Acts that are given at once get one number each, without gaps, and each list has them all.
func TestSanctionsAtOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const all = 12
		nodes := []*ledger.Ledger{paytest.Node(t, b), paytest.Node(t, b)}
		paytest.Together(all, func(i int) {
			_, err := nodes[i%2].Sanctions.Give(t.Context(), fmt.Sprint("u", i), standing.Ban, warden)
			if err != nil {
				t.Error(err)
			}
		})
		list := standing.NewSanctions()
		fresh, err := nodes[0].Sanctions.Refresh(t.Context(), list)
		if err != nil || len(fresh) != all {
			t.Fatalf("%d of %d: %v", len(fresh), all, err)
		}
		for i, s := range fresh {
			if s.Number != int64(i)+1 || !list.Banned(s.User) || list.BannedAt(s.User, s.At-1) {
				t.Errorf("%d: %+v", i, s)
			}
		}
		if fresh, err = nodes[1].Sanctions.Refresh(t.Context(), list); err != nil || len(fresh) != 0 {
			t.Errorf("again %d: %v", len(fresh), err)
		}
		paytest.Must(t, testenv.Err(b.DB.Exec(t.Context(), "DELETE FROM sanction WHERE number > 3")))
		if fresh, err = nodes[1].Sanctions.Refresh(t.Context(), list); err != nil || len(fresh) != 0 {
			t.Errorf("a ledger that went back: %d, %v", len(fresh), err)
		}
		banned := 0
		for i := range all {
			if list.Banned(fmt.Sprint("u", i)) {
				banned++
			}
		}
		if banned != 3 {
			t.Errorf("%d are banned in a ledger that went back, want 3", banned)
		}
	})
}
