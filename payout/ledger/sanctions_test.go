package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

var warden = ledger.Person{Name: "ann", ID: "token:ann", Reason: "a bot"}

// A banned player's win becomes a dead letter on any node. A win before the ban, or after its end, is paid.
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
		if _, _, err := b.Withdraw(ctx, "w1", "u", 5); !errors.Is(err, ledger.ErrBanned) {
			t.Errorf("a banned player withdraws: %v", err)
		}
		give(standing.Disconnect)
		if _, _, err := b.Withdraw(ctx, "w2", "u", 5); !errors.Is(err, ledger.ErrBanned) {
			t.Errorf("a banned player who was disconnected since withdraws: %v", err)
		}
		if _, _, err := b.Withdraw(ctx, "w3", "v", 5); err != nil {
			t.Errorf("another player withdraws: %v", err)
		}
		b.Clock.Add(1)
		give(standing.Unban)
		if _, _, err := b.Withdraw(ctx, "w1", "u", 5); err != nil {
			t.Errorf("a player who may play again withdraws: %v", err)
		}
		of, err := node.Sanctions.Of(ctx, "u")
		if err != nil || len(of) != 3 || of[0].Act != standing.Unban || of[2].By != "ann" || of[2].Reason != "a bot" {
			t.Errorf("the acts: %+v, %v", of, err)
		}
		if settled, err := b.Retry(ctx, rain.ClaimID("c", 1)); err != nil || len(settled) != 1 {
			t.Errorf("a person pays it: %+v, %v", settled, err)
		}
	})
}

// Concurrent acts get one number each, without gaps, and each cache has them all.
func TestSanctionsAtOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		const all = 12
		var wg sync.WaitGroup
		nodes := []*ledger.Ledger{paytest.Node(t, b), paytest.Node(t, b)}
		for i := range all {
			wg.Go(func() {
				_, err := nodes[i%2].Sanctions.Give(t.Context(), fmt.Sprint("u", i), standing.Ban, warden)
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
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
