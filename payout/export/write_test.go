package export_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// lived makes a campaign that is over and has been through everything: c1, with c1-2 beside it.
func lived(t testing.TB, b *paytest.Books) *paytest.FakeRedis {
	t.Helper()
	ctx := t.Context()
	f := paytest.NewFakeRedis(b.Clock.Now)
	amounts := slices.Repeat([]rain.Money{40, 60}, 10)
	f.Open(b.OpenCampaign(t, "c1", rain.Spec{Budget: 1000, Packets: 20, Shards: 2, Split: rain.List, Amounts: amounts}))
	b.OpenCampaign(t, "c1-2", rain.Spec{Budget: 10, Packets: 1})
	f.Win("c1", 0, "u1", "u2")
	f.Win("c1", 0, "u1")
	b.SettleAll(t, f, 0)
	f.Win("c1", 1, "v")
	b.SettleAll(t, f, 1)
	lent := f.Lend("c1", 0, 1, "a move", 2)
	testenv.Must(t, b.Moves.Write(ctx, "c1", 0, *lent))
	testenv.Must(t, b.Moves.Done(ctx, "a move", f.Borrow("c1", *lent)))
	f.Done("c1", 0, "a move")
	// A win that was refused too often, and is paid after a retry; and one of another player's packet.
	f.Win("c1", 1, "w")
	refused := f.Entries(paytest.FakeKey{Campaign: "c1", Shard: 1})[0]
	testenv.Equal(t, testenv.Got(b.Attempt(ctx, refused, errors.New("refused"), 1)).Must(t).GivenUp, true, "given up")
	testenv.Must(t, f.Remove(ctx, []rain.EntryRef{refused.Ref}))
	testenv.Must(t, testenv.Err(b.RetryAll(ctx, "c1", func([]posting.Settlement) {})))
	b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("x", 0, 0)))
	testenv.Must(t, testenv.Err(b.Dismiss(paytest.As(t, "payout.dismiss"), "c1-0", 0, "nobody's")))
	closed := paytest.As(t, "campaign.close")
	testenv.Must(t, testenv.Err(b.Update(closed, "c1", func(c *rain.Campaign) error { return c.Close(b.Clock.Now()) })))
	for shard := range 2 {
		f.Close("c1", shard)
		b.SettleAll(t, f, shard)
	}
	testenv.Must(t, testenv.Err(b.Update(closed, "c1", func(c *rain.Campaign) error { c.Drained = true; return nil })))
	testenv.Must(t, b.Audit(ctx, ledger.AuditRecord{Actor: "ann", Action: "of another", Target: "claim:c1-2-0"}))
	return f
}

// cut makes a finished campaign whose Redis forgot a win, and so reclaimed its packet.
func cut(t testing.TB, b *paytest.Books) {
	t.Helper()
	b.OpenCampaign(t, "cut", rain.Spec{Budget: 200, Packets: 4})
	b.MustPost(t, paytest.Entry("cut", 1, paytest.Win("u1", 0, 50), paytest.Win("y", 1, 50)))
	b.CloseCampaign(t, "cut")
	back := paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "cut", ID: "9-0"},
		Reclaim: &rain.Reclaim{Numbers: paytest.Packets(1, 3)}})
	testenv.Equal(t, len(b.MustPost(t, back).Cut), 1, "cuts")
	b.Drain(t, "cut")
}

// dismissed makes a finished campaign with a packet that was returned last. A won line was replayed for the packet,
// and its dead letter was dismissed after everything else was drained.
func dismissed(t testing.TB, b *paytest.Books, f *paytest.FakeRedis, id string, spec rain.Spec) {
	t.Helper()
	spec.Budget, spec.Packets = 100, 10
	c := b.OpenCampaign(t, id, spec)
	f.Open(c)
	f.Win(id, 0, "p")
	won := f.Entries(paytest.FakeKey{Campaign: id})[0]
	again := won.Wins[0]
	again.Packet = 9 // the guests', if they have a lane
	b.MustPost(t, won)
	testenv.Equal(t, len(b.MustPost(t, paytest.Entry(id, int(b.Clock.Now()), again)).Dead), 1, "dead")
	testenv.Must(t, f.Remove(t.Context(), []rain.EntryRef{won.Ref}))
	b.CloseCampaign(t, id)
	for shard := range c.Shards {
		f.Close(id, shard)
		b.MustPost(t, f.Entries(paytest.FakeKey{Campaign: id, Shard: shard})...)
	}
	b.Drain(t, id)
	testenv.Equal(t, testenv.Got(b.Dismiss(paytest.As(t, "payout.dismiss"), id+"-9", 0, "nobody's")).Must(t).Reclaimed,
		10, "given back")
}

// givenUp makes a campaign that was abandoned before it was stocked.
func givenUp(t testing.TB, b *paytest.Books) {
	t.Helper()
	testenv.Must(t, b.CreateCampaign(t.Context(), b.LoadingCampaign(t, "given-up")))
	testenv.Must(t, testenv.Err(b.Abandon(t.Context(), "given-up")))
	b.Drain(t, "given-up")
}

// exported returns the export of a campaign.
func exported(t testing.TB, b *paytest.Books, campaign string, f *paytest.FakeRedis) (string, export.Trailer) {
	t.Helper()
	proof, err := b.Proof.ReconcileCampaign(t.Context(), campaign, f, reconcile.Rows)
	if err != nil || !proof.Balanced {
		t.Fatalf("%+v, %v", proof, err)
	}
	var file bytes.Buffer
	trailer := testenv.Got(export.New(b.DB, b.Clock.Now).Write(t.Context(), campaign, "ann", proof, &file)).Must(t)
	return file.String(), trailer
}

// TestAnExportIsProved exports a campaign from every database, and verifies the file.
func TestAnExportIsProved(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f := lived(t, b)
		file, trailer := exported(t, b, "c1", f)
		v, err := export.Verify(strings.NewReader(file))
		if err != nil || !v.Proved || v.SHA256 != trailer.SHA256 || v.Rows != trailer.Rows {
			t.Errorf("%+v, %v; %+v", v, err, trailer)
		}
		if v.Paid+v.Reclaimed != 1000 || v.Paid == 0 || v.Reclaimed == 0 || v.Transactions < 5 ||
			v.Hashes < v.Transactions {
			t.Errorf("%+v", v)
		}
		for _, part := range []string{`"payout.dismiss"`, `"campaign.close"`, `"a move"`} {
			if !strings.Contains(file, part) {
				t.Errorf("there is no %s in the export", part)
			}
		}
		if strings.Contains(file, "of another") {
			t.Error("a record about a claim of another campaign is in the export")
		}
		cut(t, b)
		givenUp(t, b)
		dismissed(t, b, f, "late", rain.Spec{})
		dismissed(t, b, f, "late-lanes", rain.Spec{Shards: 4, GuestsShare: 400_000})
		for _, campaign := range []string{"cut", "given-up", "late", "late-lanes"} {
			file, _ := exported(t, b, campaign, f)
			testenv.Equal(t, testenv.Got(export.Verify(strings.NewReader(file))).Must(t).Proved, true, "%s", campaign)
		}
	})
}

// TestOnlyWhatIsOverIsExported refuses campaigns that may still change.
func TestOnlyWhatIsOverIsExported(t *testing.T) {
	t.Parallel()
	for what, undo := range map[string]string{
		"it was not closed":  "UPDATE campaign SET status = 'open' WHERE id = 'c1'",
		"it was not drained": "UPDATE campaign SET drained = 0 WHERE id = 'c1'",
		"a letter waits":     "UPDATE dead_letter SET resolved_at = 0",
		"an entry is tried again": "INSERT INTO attempt_claim (entry, line_no, campaign_id, packet, user_id) " +
			"VALUES ('e', 0, 'c1', 0, 'u')",
		"there is none": "DELETE FROM campaign WHERE id = 'c1'",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := paytest.OnSQLite(t)
			lived(t, b)
			b.Statement(t, undo)
			var file bytes.Buffer
			_, err := export.New(b.DB, b.Clock.Now).Write(t.Context(), "c1", "ann", nil, &file)
			if !errors.Is(err, export.ErrNotOver) || file.Len() > 0 {
				t.Errorf("%v, with %d bytes", err, file.Len())
			}
		})
	}
}
