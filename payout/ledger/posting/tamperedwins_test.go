package posting_test

import (
	"errors"
	"fmt"
	"testing"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestWinsGoByWhatWasKnown: of a campaign whose row somebody has changed by hand, a node that knows it pays what the
// players were told. For one that does not, the wins are letters until the row is put right.
func TestWinsGoByWhatWasKnown(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 4, Split: rain.List,
			Amounts: []rain.Money{10, 20, 30, 40}})
		c, err := b.Campaign(ctx, "c1")
		paytest.Must(t, err)
		amounts, err := rain.NewAmounts(c)
		paytest.Must(t, err)
		win := func(packet int) rain.Entry {
			return paytest.Entry("c1", packet+1, paytest.Win(fmt.Sprintf("u%d", packet), packet, 0))
		}
		pays := func(by *posting.Poster, packet int) {
			t.Helper()
			posted, err := by.Post(ctx, []rain.Entry{win(packet)})
			if err != nil || len(posted.Settled) != 1 || posted.Settled[0].Amount != amounts.Of(packet) {
				t.Errorf("%d of packet %d: %+v, %v", amounts.Of(packet), packet, posted, err)
			}
		}
		pays(b.Poster, 0)
		b.Statement(t, "UPDATE campaign_amounts SET amounts = '[22,22,22,34]' WHERE campaign_id = 'c1'")
		b.Statement(t, "UPDATE campaign SET revision = revision + 1 WHERE id = 'c1'")
		pays(b.Poster, 1)

		node := paytest.Node(t, b)
		if changed, err := node.Campaigns.Campaign(ctx, "c1"); err != nil || changed.Amounts[0] != 22 {
			t.Fatalf("%+v, %v", changed, err)
		}
		pays(node.Poster, 1) // was paid before
		posted, err := node.Poster.Post(ctx, []rain.Entry{win(2)})
		paytest.Must(t, err)
		wantDead(t, "by a changed row", posted, posting.LetterPay, "somebody has changed it")
		if _, err := b.Dismiss(ctx, "c1-2", 0, "nobody's"); !errors.Is(err, ledger.ErrNotDismissed) {
			t.Errorf("dismissed: %v", err)
		}
		b.Statement(t, "UPDATE campaign_amounts SET amounts = '[10,20,30,40]' WHERE campaign_id = 'c1'")
		b.Statement(t, "UPDATE campaign SET revision = revision - 1 WHERE id = 'c1'")
		if _, err := node.DeadLetters.Retry(ctx, "c1-2"); err != nil {
			t.Errorf("put right: %v", err)
		}
		b.WantBalance(t, booking.UserAccount("u2"), amounts.Of(2))
		pays(node.Poster, 3)
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		b.CheckBooks(t)
	})
}

// TestAStaleCampaignLosesNoWin: what a node knows of a campaign may be older than what somebody has changed by hand. Of
// what is new since then it keeps every win, however many are one player's.
func TestAStaleCampaignLosesNoWin(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		const wins = 2 * posting.MostHopeless
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 1000, Packets: 100})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 99, 10))) // so that the poster knows it
		second := paytest.Rain("c1")
		second.ID, second.FirstWave = "second", second.Waves()
		second.StartsAt, second.DurationMS = second.StartsAt+second.DurationMS, 60_000
		if _, err := b.Update(ctx, "c1", func(c *rain.Campaign) error {
			c.Rains = append(c.Rains, second)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		b.Statement(t, "UPDATE campaign SET name = 'other' WHERE id = 'c1'")
		fresh := make([]rain.Win, wins)
		for i := range fresh { // ten drops of each wave
			fresh[i] = paytest.Win("u1", i, 10)
			fresh[i].Drop = rain.DropID{N: second.FirstWave + int64(i)/10, K: i % 10}.String()
		}
		posted := b.MustPost(t, paytest.Entry("c1", 2, fresh...))
		if len(posted.Dead) != wins || posted.Dropped != 0 {
			t.Fatalf("%d letters, %d dropped, %d settled", len(posted.Dead), posted.Dropped, len(posted.Settled))
		}
		b.Statement(t, "UPDATE campaign SET name = 'Gala' WHERE id = 'c1'")
		if done, err := b.RetryAll(ctx, "c1", func([]posting.Settlement) {}); err != nil || done.Settled != wins {
			t.Errorf("put right: %+v, %v", done, err)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 10*(wins+1))
		b.CheckBooks(t)
	})
}

// TestALetterWithoutAnAmountNeedsTwo people where a limit is set, and stands for all that the escrow holds.
func TestALetterWithoutAnAmountNeedsTwo(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.Statement(t, "UPDATE campaign SET name = 'other' WHERE id = 'c1'")
		wantDead(t, "by a changed row", b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10))),
			posting.LetterPay, "somebody has changed it")
		b.Statement(t, "UPDATE campaign SET name = 'Gala' WHERE id = 'c1'")
		two := b.Approvals.Above(new(rain.Money(50)))
		ann := ledger.Person{Name: "ann", ID: "ann"}
		done, err := two.RetryAll(ctx, "", func([]posting.Settlement) {})
		if err != nil || done.NeedTwo != 1 || done.Retried != 0 {
			t.Errorf("all: %+v, %v", done, err)
		}
		order, err := two.Do(ctx, ledger.Deed{Act: ledger.ActRetry, Target: "c1-0"}, ann)
		if err != nil || order.Pending == nil {
			t.Fatalf("%+v, %v", order, err)
		}
		b.CloseCampaign(t, "c1")
		for i, rest := range []rain.Range{{First: 1, Last: 8}, {First: 9, Last: 9}} {
			b.MustPost(t, paytest.ReclaimEntry(0, 2+i, rest))
			if cleared, err := b.Cleared(ctx, "c1"); cleared != (i == 1) || err != nil {
				t.Errorf("after %v, cleared: %t, %v", rest, cleared, err)
			}
		}
		if _, o, err := two.Confirm(ctx, order.Pending.ID, ledger.Person{Name: "bob", ID: "bob"}); err != nil ||
			len(o.Settled) != 1 {
			t.Errorf("%+v, %v", o, err)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 10)
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		b.CheckBooks(t)
	})
}

// TestWhatIsVoidStaysVoid: a win from before a shard was lost is no letter because its campaign's row was changed: its
// packet is on offer again, and a retry would pay it twice.
func TestWhatIsVoidStaysVoid(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.MustFence(t, 0)
		b.Statement(t, "UPDATE campaign SET name = 'other' WHERE id = 'c1'")
		posted := b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		if len(posted.Void) != 1 || len(posted.Dead) != 0 {
			t.Errorf("%+v", posted)
		}
		b.Statement(t, "UPDATE campaign SET name = 'Gala' WHERE id = 'c1'")
		if _, err := b.Retry(t.Context(), "c1-0"); !errors.Is(err, ledger.ErrUnknownClaim) {
			t.Errorf("retried: %v", err)
		}
		b.CheckBooks(t)
	})
}

// TestALinkThatIsGone: where the transaction before a campaign's funding is gone from the chain, nobody can say whether
// the campaign was changed. Nothing goes by its row until that is put right, and the reason names what is gone.
func TestALinkThatIsGone(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.CloseCampaign(t, "c1")
		before, err := sqldb.Column[int64](t.Context(), b.DB, "SELECT p.id FROM txn p "+
			"JOIN txn f ON f.stripe = p.stripe AND f.link = p.link + 1 WHERE f.idem_key = 'fund:c1'")
		if err != nil || len(before) != 1 {
			t.Fatalf("before it are %v, %v", before, err)
		}
		b.Statement(t, fmt.Sprintf("UPDATE txn SET link = -link WHERE id = %d", before[0]))
		win := paytest.Entry("c1", 1, paytest.Win("u1", 0, 10))
		back := paytest.ReclaimEntry(0, 2, rain.Range{First: 1, Last: 9})
		posted := b.MustPost(t, win, back)
		wantDead(t, "without a link", posted, posting.LetterPay, "the transaction in the chain before")
		if len(posted.Waiting) != 1 || !errors.Is(posted.Waiting[0].Cause, posting.ErrUnproved) {
			t.Errorf("%+v", posted)
		}
		b.Statement(t, fmt.Sprintf("UPDATE txn SET link = -link WHERE id = %d", before[0]))
		b.MustPost(t, back)
		if _, err := b.Retry(t.Context(), "c1-0"); err != nil {
			t.Errorf("put right: %v", err)
		}
		b.WantBalance(t, booking.EscrowAccount("c1"), 0)
		b.CheckBooks(t)
	})
}

// TestACampaignThatIsRemoved from the database: a node that knows it pays its wins.
func TestACampaignThatIsRemoved(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))
		b.Statement(t, "UPDATE campaign SET id = 'gone' WHERE id = 'c1'")
		b.Statement(t, "UPDATE history SET thing = 'gone' WHERE kind = 'campaign' AND thing = 'c1'")
		if posted := b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("u1", 1, 10))); posted.New != 1 {
			t.Errorf("%+v", posted)
		}
		posted, err := paytest.Node(t, b).Poster.Post(t.Context(),
			[]rain.Entry{paytest.Entry("c1", 3, paytest.Win("u1", 2, 10))})
		paytest.Must(t, err)
		wantDead(t, "by another node", posted, posting.LetterPay, "no such campaign")
		b.Statement(t, "UPDATE campaign SET id = 'c1' WHERE id = 'gone'")
		b.Statement(t, "UPDATE history SET thing = 'c1' WHERE kind = 'campaign' AND thing = 'gone'")
		if _, err := b.Retry(t.Context(), "c1-2"); err != nil {
			t.Errorf("put right: %v", err)
		}
		b.WantBalance(t, booking.UserAccount("u1"), 30)
		b.CheckBooks(t)
	})
}
