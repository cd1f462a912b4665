package archive_test

import (
	"errors"
	"fmt"
	"testing"

	"redrain/payout/archive"
	"redrain/payout/export"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestACampaignLeaves drops a campaign in steps: the balances are what they were, every proof is content, and the other
// campaign is exported as before.
func TestACampaignLeaves(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		over(t, b, "c1", 12)
		over(t, b, "c2", 5)
		b.MustWithdraw(t, "w1", "u0", 25)
		balances := map[string]rain.Money{}
		for _, user := range []string{"u0", "u1", "u2"} {
			balance, err := b.UserBalance(t.Context(), user)
			paytest.Must(t, err)
			balances[user] = balance
		}
		clean(t, b, "before")
		file := exported(t, b, "c1")
		a := archive.New(b.DB, b.Clock.Now)
		a.Rows = 3
		p, err := a.Campaign(t.Context(), "c1", read(t, file), "ann")
		paytest.Must(t, err)
		if p.FinishedAt == 0 || p.Links != 11 || p.Payouts != 10 || p.AmountPaid != 100 || p.AmountBack != 20 ||
			p.PacketsBack != 2 {
			t.Errorf("%+v", p)
		}
		if n := rowsLeft(t, b); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM archive_step"); n != 4 {
			t.Errorf("%d steps", n)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM audit WHERE action IN ('campaign.drop', 'campaign.dropped') AND "+
			"target = 'campaign:c1' AND actor = 'ann'"); n != 2 {
			t.Errorf("%d records in the audit", n)
		}
		for user, was := range balances {
			if is, err := b.UserBalance(t.Context(), user); err != nil || is != was {
				t.Errorf("%s: %d, and was %d, %v", user, is, was, err)
			}
		}
		clean(t, b, "after")
		again, err := a.Campaign(t.Context(), "c1", read(t, file), "bob")
		if err != nil || again != p {
			t.Errorf("again: %+v, %v", again, err)
		}
		other := exported(t, b, "c2") // its links follow some that have left
		_, err = a.Campaign(t.Context(), "c2", read(t, other), "ann")
		paytest.Must(t, err)
		clean(t, b, "after the other")
		if err := export.New(b.DB, b.Clock.Now).Check(t.Context(), "c1"); !errors.Is(err, export.ErrDropped) {
			t.Errorf("%v", err)
		}
	})
}

// TestACampaignLeavesAfterAnyKill breaks off at each point, proves, and goes on with another process.
func TestACampaignLeavesAfterAnyKill(t *testing.T) {
	t.Parallel()
	killed := errors.New("killed")
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		over(t, b, "c1", 9)
		over(t, b, "c2", 4)
		file := exported(t, b, "c1")
		points, met := map[string]int{}, map[string]bool{}
		for kills := 0; ; kills++ {
			a := archive.New(b.DB, b.Clock.Now)
			a.Rows = 2
			a.Passed = func(point string) error {
				at := fmt.Sprint(point, rowsLeft(t, b))
				if met[at] {
					return nil
				}
				met[at] = true
				points[point]++
				return killed
			}
			_, err := a.Campaign(t.Context(), "c1", read(t, file), "ann")
			clean(t, b, "killed")
			if err == nil {
				break
			}
			if !errors.Is(err, killed) || kills > 30 {
				t.Fatal(err)
			}
		}
		if points["archive.began"] == 0 || points["archive.step"] < 4 || points["archive.winners"] < 1 ||
			points["archive.finished"] != 1 {
			t.Errorf("%v", points)
		}
		if n := rowsLeft(t, b); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestWhatIsNotDropped refuses what is not over, not exported, or not what the export says, and changes nothing.
func TestWhatIsNotDropped(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		undo string
		want error
	}{
		"it is open":        {"UPDATE campaign SET status = 'open'", export.ErrNotOver},
		"it is not drained": {"UPDATE campaign SET drained = 0", export.ErrNotOver},
		"money is in its escrow": {"UPDATE balance SET amount = 1 WHERE account_id = 'escrow:c1'",
			export.ErrNotOver},
		"it was exported otherwise": {"UPDATE audit SET detail = 'null' WHERE action = 'campaign.export'",
			archive.ErrUnknownFile},
		"its tally is another":  {"UPDATE campaign_tally SET paid = paid - 1", archive.ErrDiffers},
		"a payout is another's": {"UPDATE payout SET user_id = 'x' WHERE packet = 3", archive.ErrDiffers},
		"a payout is gone":      {"DELETE FROM payout WHERE packet = 3", archive.ErrDiffers},
		"a line is another's": {"UPDATE entry SET account_id = 'user:u9' WHERE account_id = 'user:u0' AND txn_id " +
			"> 5", archive.ErrDiffers},
		"a transaction is another": {"UPDATE txn SET created_at = created_at + 1 WHERE kind = 'reclaim'",
			archive.ErrDiffers},
		"its removal was begun with another export": {"INSERT INTO archive (id, file, links, payouts, amount_paid, " +
			"packets_back, amount_back, actor, began_at) VALUES ('c1', 'other', 1, 1, 1, 1, 1, 'x', 1)",
			archive.ErrOtherFile},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := paytest.OnSQLite(t)
			over(t, b, "c1", 6)
			f := read(t, exported(t, b, "c1"))
			b.Statement(t, c.undo)
			before := rowsLeft(t, b)
			_, err := archive.New(b.DB, b.Clock.Now).Campaign(t.Context(), "c1", f, "ann")
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if after := rowsLeft(t, b); after != before {
				t.Errorf("%d rows, and there were %d", after, before)
			}
		})
	}
}

// TestWhatComesLateForADroppedCampaign posts copies of what was paid long ago: none is paid, each waits for a person,
// who can dismiss it.
func TestWhatComesLateForADroppedCampaign(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		over(t, b, "c1", 6)
		f := read(t, exported(t, b, "c1"))
		node := paytest.Node(t, b).Poster
		copied := paytest.Entry("c1", 1, paytest.Win("u0", 0, 10))
		_, err := node.Post(t.Context(), []rain.Entry{copied}) // it remembers the campaign
		paytest.Must(t, err)
		_, err = archive.New(b.DB, b.Clock.Now).Campaign(t.Context(), "c1", f, "ann")
		paytest.Must(t, err)
		was, err := b.UserBalance(t.Context(), "u0")
		paytest.Must(t, err)
		back := paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: "1006-0"},
			Reclaim: &rain.Reclaim{Numbers: paytest.Packets(4, 5), Amount: 20}})
		for range 2 {
			posted, err := node.Post(t.Context(), []rain.Entry{copied, back})
			if err != nil || len(posted.Settled) != 0 {
				t.Errorf("%+v, %v", posted, err)
			}
		}
		if is, err := b.UserBalance(t.Context(), "u0"); err != nil || is != was {
			t.Errorf("%d, %v", is, err)
		}
		if n := b.CountDead(t); n != 2 {
			t.Errorf("%d letters", n)
		}
		clean(t, b, "with letters")
		letters, _, err := b.ListDeadLetters(t.Context(), "", 10)
		paytest.Must(t, err)
		for _, l := range letters {
			d, err := b.Dismiss(paytest.As(t, "payout.dismiss"), l.Claim, 0, "it is in the export")
			if err != nil || d.Letters != 1 || d.Reclaimed != 0 {
				t.Errorf("%+v, %v", d, err)
			}
		}
		clean(t, b, "dismissed")
	})
}
