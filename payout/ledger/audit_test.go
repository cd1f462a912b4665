package ledger_test

import (
	"encoding/json"
	"errors"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

func TestChangesAreAudited(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		deposit := func(amount rain.Money) error {
			_, err := b.Deposit(paytest.As(t, "deposit"), "acme", "invoice 1", amount)
			return err
		}
		for range 3 { // the same is sent again
			paytest.Must(t, deposit(500))
		}
		testenv.WantErr(t, deposit(501), ledger.ErrReferenceReused)
		r, before, after, n := b.LastAudit(t)
		if n != 1 || r.Actor != "ann" || r.Action != "deposit" || r.Target != "sponsor:acme" ||
			before["balance"] != 0.0 || after["balance"] != 500.0 {
			t.Errorf("%d records, %+v", n, r)
		}
		var detail struct {
			Address string `json:"address"`
		}
		if err := json.Unmarshal(r.Detail, &detail); err != nil || detail.Address != "::1" {
			t.Errorf("%s, %v", r.Detail, err)
		}

		c := &rain.Campaign{ID: "c1", Status: rain.Loading, Revision: 1, Spec: rain.Spec{
			Name: "x", Sponsor: "acme", Budget: 100, Packets: 10, Shards: 1, Min: 1, Split: rain.Even,
		}}
		for i := range 2 {
			if err := b.CreateCampaign(paytest.As(t, "campaign.create"), c); (i > 0) != errors.Is(err,
				ledger.ErrCampaignExists) {
				t.Fatal(err)
			}
		}
		r, before, after, n = b.LastAudit(t)
		if n != 2 || r.Target != "campaign:c1" || before["sponsor_balance"] != 500.0 ||
			after["sponsor_balance"] != 400.0 || after["budget"] != 100.0 {
			t.Errorf("%d records, %+v: %s", n, r, r.Detail)
		}
		if _, err := b.Update(ledger.WithoutAudit(paytest.As(t, "campaign.create")), "c1",
			func(c *rain.Campaign) error { c.Stocked(); return nil }); err != nil {
			t.Fatal(err)
		}
		for i, change := range []func(*rain.Campaign) error{
			(*rain.Campaign).Pause, (*rain.Campaign).Pause, // carried out, though it changes nothing
			func(*rain.Campaign) error { return rain.ErrRainRunning }, // refused
			func(*rain.Campaign) error { return ledger.ErrUnchanged }, // an answer that is given again
		} {
			_, err := b.Update(paytest.As(t, "campaign.pause"), "c1", change)
			if (err != nil) != (i == 2) {
				t.Errorf("change %d: %v", i, err)
			}
			r, before, after, n = b.LastAudit(t)
			if want := min(3+i, 4); n != want || r.Action != "campaign.pause" || after["status"] != "paused" {
				t.Errorf("change %d: %d records, want %d: %s", i, n, want, r.Detail)
			}
			if i == 0 && (before["status"] != "open" || before["revision"] != 2.0 || after["revision"] != 3.0) {
				t.Errorf("%s", r.Detail)
			}
		}

		b.MustPost(t, paytest.Entry("c2", 1, paytest.Win("u1", 0, 10)))
		testenv.WantErr(t, testenv.Err(b.Retry(paytest.As(t, "payout.retry"), "c2-0")), ledger.ErrStillDead)
		b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 10})
		if _, err := b.Retry(paytest.As(t, "payout.retry"), "c2-0"); err != nil {
			t.Error(err)
		}
		r, before, after, n = b.LastAudit(t)
		if n != 5 || r.Target != "claim:c2-0" || before["state"] != "dead" || after["state"] != "settled" ||
			after["user"] != "u1" || after["amount"] != 10.0 {
			t.Errorf("%d records: %s", n, r.Detail)
		}
	})
}

// TestNothingHappensUnaudited: where the record cannot be written, neither is the change.
func TestNothingHappensUnaudited(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		trigger := "CREATE TRIGGER gap BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the log is full'); END"
		if b.DB.Dialect() == sqldb.MySQL {
			trigger = "CREATE TRIGGER gap BEFORE INSERT ON audit FOR EACH ROW SIGNAL SQLSTATE '45000' " +
				"SET MESSAGE_TEXT = 'the log is full'"
		}
		b.Statement(t, trigger)
		if _, err := b.Deposit(paytest.As(t, "deposit"), "acme", "more", 500); err == nil {
			t.Error("a deposit without a record")
		}
		if _, err := b.Update(paytest.As(t, "campaign.pause"), "c1", (*rain.Campaign).Pause); err == nil {
			t.Error("a pause without a record")
		}
		b.WantBalance(t, booking.SponsorAccount("acme"), 0)
		if c, err := b.Campaign(t.Context(), "c1"); err != nil || c.Status != rain.Open || c.Revision != 2 {
			t.Errorf("%+v, %v", c, err)
		}
		b.CheckBooks(t)
	})
}
