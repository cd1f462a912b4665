package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// absurd are invalid rows that could end a reconciliation or hide faults.
var absurd = map[string]string{
	"packets below zero":     "UPDATE campaign SET packets = -1000 WHERE id = 'bad'",
	"more shards than fit":   "UPDATE campaign SET shards = 2000000000 WHERE id = 'bad'",
	"no shards":              "UPDATE campaign SET shards = -5 WHERE id = 'bad'",
	"an unknown split":       "UPDATE campaign SET split = 'mine' WHERE id = 'bad'",
	"an unreadable seed":     "UPDATE campaign SET split_seed = 'x' WHERE id = 'bad'",
	"an empty seed":          "UPDATE campaign SET split_seed = '' WHERE id = 'bad'",
	"an unknown status":      "UPDATE campaign SET status = 'mine' WHERE id = 'bad'",
	"an absurd drained":      "UPDATE campaign SET drained = 7 WHERE id = 'bad'",
	"times below zero":       "UPDATE campaign SET created_at = -5, expires_at = -9 WHERE id = 'bad'",
	"a budget beyond limits": "UPDATE campaign SET budget = 9000000000000000000 WHERE id = 'bad'",
	"a rain without a seed":  "UPDATE rain SET seed = 'zz' WHERE campaign_id = 'bad'",
	"an absurd rain":         "UPDATE rain SET duration_ms = 9000000000000000000 WHERE campaign_id = 'bad'",
	"a rain out of order":    "UPDATE rain SET ordinal = 5 WHERE campaign_id = 'bad'",
	"amounts that are none": "UPDATE campaign SET split = 'list' WHERE id = 'bad'; INSERT INTO campaign_amounts " +
		"VALUES ('bad', 'x')",
	"a name that is no text":   "UPDATE campaign SET sponsor = x'ff' WHERE id = 'bad'",
	"balances that do not fit": "UPDATE entry SET amount = 9223372036854775807 WHERE account_id = 'escrow:bad'",
	"payouts that do not fit":  "UPDATE payout SET amount = 9223372036854775807 WHERE campaign_id = 'bad'",
	"reclaims beyond limits": "INSERT INTO reclaim (campaign_id, shard, numbers, packets, amount, closed_at, " +
		"entry_seq, " +
		"reclaimed_at, txn_id) VALUES ('bad', 0, 'x', -3, 9223372036854775807, -1, -1, -1, 0)",
	"counts that do not fit": "UPDATE campaign_tally SET paid = 9223372036854775807 WHERE campaign_id = 'bad'; " +
		"INSERT INTO campaign_tally (campaign_id, paid, amount_paid, reclaimed, amount_reclaimed) VALUES ('gone', " +
		"9223372036854775807, 0, 0, 0)",
	"a move that is none": "INSERT INTO move (id, campaign_id, from_shard, to_shard, numbers, packets, from_number, " +
		"epoch, created_at) VALUES ('m', 'bad', -1, 900, '5-3', -1, -1, -1, -1)",
	"a letter that is none": "INSERT INTO dead_letter (fingerprint, claim, source, kind, campaign_id, shard, packet, " +
		"user_id, amount, won_at, entry_seq, reason, payload, created_at) " +
		"VALUES ('f', 'c', 's', 'reclaim', 'bad', 0, " +
		"-7, 'u', 9223372036854775807, -1, -1, 'r', x'70', 0)",
}

// TestARowThatMakesNoSenseHidesNothing: it is a finding, everything else is checked, and the work lists have all
// other campaigns.
func TestARowThatMakesNoSenseHidesNothing(t *testing.T) {
	paytest.OnBoth(t, func(t *testing.T, b *paytest.Books) {
		f := paytest.NewFakeRedis(b.Clock.Now)
		for _, id := range []string{"bad", "good"} {
			f.Open(b.OpenCampaign(t, id, rain.Spec{Budget: 100, Packets: 10, WinsPerUser: 2}))
			f.Win(id, 0, id+"-u", id+"-v")
			e := f.Entries(paytest.FakeKey{Campaign: id})[0]
			b.MustPost(t, e)
			testenv.Must(t, f.Remove(t.Context(), []rain.EntryRef{e.Ref}))
		}
		tables := append([]string{"rain", "campaign_amounts"}, bookTables...)
		restore := keepTables(t, b, tables)
		for what, statements := range absurd {
			if b.DB.Dialect() == sqldb.SQLite && strings.Contains(statements, "x'ff'") {
				statements = strings.ReplaceAll(statements, "x'ff'", "CAST(x'ff' AS TEXT)")
			}
			change(t, b, statements)
			checkAbsurd(t, b, f, what)
			restore()
		}
		if one, all := everything(t, b, f, "bad"); one != "" || all != "" {
			t.Errorf("untouched: %q, %q", one, all)
		}
	})
}

func checkAbsurd(t *testing.T, b *paytest.Books, f *paytest.FakeRedis, what string) {
	t.Helper()
	proved := map[string]bool{}
	each := func(id string, r reconcile.Reconciliation, err error) {
		proved[id] = err == nil
		if id == "good" && (err != nil || !r.Balanced) {
			t.Errorf("%s: the other campaign: %+v, %v", what, r, err)
		}
	}
	books, err := b.Proof.ReconcileFull(t.Context(), f, reconcile.FullOptions{Each: each})
	if err != nil || books.Balanced || !proved["good"] || books.Transactions < 6 {
		t.Errorf("%s: %+v, %v", what, books, err)
	}
	one, err := b.Proof.ReconcileCampaign(t.Context(), "bad", f, reconcile.Rows)
	if err != nil || one.Balanced {
		t.Errorf("%s: of itself: %+v, %v", what, one, err)
	}
	for _, finding := range one.Findings {
		if strings.Contains(finding, "broke off") {
			t.Errorf("%s: %s", what, finding)
		}
	}
	live, err := b.Live(t.Context())
	if err != nil || len(live) == 0 || live[len(live)-1].ID != "good" {
		t.Errorf("%s: live are %d, %v", what, len(live), err)
	}
	testenv.Got(b.LiveIDs(t.Context())).Len(t, 2, "%s to be proved are", what)
	testenv.Got3(b.ListCampaigns(t.Context(), ledger.CampaignQuery{Limit: 10})).Len(t, 2, "%s listed are", what)
}

// A proof that could not read a table is an error, and never books that balance.
func TestAProofSaysThatATableIsAway(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	ctx := t.Context()
	c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	f := paytest.NewFakeRedis(b.Clock.Now, c)
	f.Win("c1", 0, "u1", "u2")
	b.SettleAll(t, f, 0)
	proofs := map[string]func() (bool, error){
		"one campaign": func() (bool, error) {
			r, err := b.Proof.ReconcileCampaign(ctx, "c1", f, reconcile.Rows)
			return r.Balanced, err
		},
		"sums": func() (bool, error) { // which read each table once
			r, err := b.Proof.ReconcileCampaign(ctx, "c1", f, reconcile.Sums)
			return r.Balanced, err
		},
		"everything": func() (bool, error) {
			all, err := b.Proof.ReconcileFull(ctx, f, reconcile.FullOptions{})
			return all.Balanced, err
		},
	}
	for what, prove := range proofs {
		testenv.Got(prove()).Want(t, true, "%s", what)
		for _, table := range []string{"payout", "reclaim", "dead_letter", "txn", "entry", "balance",
			"campaign_tally", "campaign"} {
			b.Statement(t, "ALTER TABLE "+table+" RENAME TO elsewhere")
			if balanced, err := prove(); balanced || err == nil {
				t.Errorf("%s, without %s: balanced %v, %v", what, table, balanced, err)
			}
			b.Statement(t, "ALTER TABLE elsewhere RENAME TO "+table)
		}
	}
}

// faulty is a Redis with a fault for the campaign "bad".
type faulty struct {
	*paytest.FakeRedis
	snapshot func(ctx context.Context) error
	records  error
}

func (h faulty) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	if c.ID == "bad" && h.snapshot != nil {
		if err := h.snapshot(ctx); err != nil {
			return nil, err
		}
	}
	return h.FakeRedis.Snapshot(ctx, c)
}

func (h faulty) EachRecord(ctx context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error {
	if c.ID == "bad" && h.records != nil {
		return h.records
	}
	return h.FakeRedis.EachRecord(ctx, c, shard, fn)
}

// TestARedisThatCannotBeReadIsNoDifference: a campaign is unchecked if its Redis is away, hangs or goes away halfway.
// It has a finding if the program breaks over its proof. The other campaign is proved, and each is reported.
func TestARedisThatCannotBeReadIsNoDifference(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f := paytest.NewFakeRedis(b.Clock.Now)
		for _, id := range []string{"bad", "good"} {
			f.Open(b.OpenCampaign(t, id, rain.Spec{Budget: 100, Packets: 10}))
			f.Win(id, 0, id+"-u")
		}
		b.Proof.SetLiveLimit(time.Second)
		for what, hot := range map[string]faulty{
			"away": {FakeRedis: f, snapshot: func(context.Context) error { return errors.New("refused") }},
			"hangs": {FakeRedis: f, snapshot: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}},
			"goes away": {FakeRedis: f, records: errors.New("broken pipe")},
			"breaks":    {FakeRedis: f, snapshot: func(context.Context) error { panic("torn") }},
		} {
			broken := what == "breaks"
			one, err := b.Proof.ReconcileCampaign(t.Context(), "bad", hot, reconcile.Rows)
			found := strings.Join(one.Findings, "\n")
			if broken && (err != nil || one.Balanced || !strings.Contains(found, "broke off")) ||
				!broken && !errors.Is(err, reconcile.ErrLiveState) {
				t.Errorf("%s: %+v, %v", what, one, err)
			}
			if hot.records != nil { // which the sums do not need
				sums, err := b.Proof.ReconcileCampaign(t.Context(), "bad", hot, reconcile.Sums)
				if err != nil || !sums.Balanced {
					t.Errorf("%s: %+v, %v", what, sums, err)
				}
			}
			var told []string
			each := func(id string, r reconcile.Reconciliation, err error) {
				told = append(told, fmt.Sprintf("%s %v %v", id, r.Balanced, errors.Is(err, reconcile.ErrLiveState)))
			}
			all, err := b.Proof.ReconcileFull(t.Context(), hot, reconcile.FullOptions{Each: each})
			unchecked, unbalanced := 1, 0
			if broken {
				unchecked, unbalanced = 0, 1
			}
			if want := []string{fmt.Sprint("bad false ", !broken), "good true false"}; err != nil || all.Balanced ||
				all.Difference != 0 && !broken || len(all.Unchecked) != unchecked || all.Unbalanced != unbalanced ||
				len(all.Findings) != 0 || !slices.Equal(told, want) {
				t.Errorf("%s: %+v, %v, reported %q", what, all, err, told)
			}
		}
	})
}
