package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

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
			r, err := b.Proof.ReconcileWith(ctx, "c1", f, reconcile.Rows)
			return r.Balanced, err
		},
		"sums": func() (bool, error) { // which read each table once
			r, err := b.Proof.ReconcileWith(ctx, "c1", f, reconcile.Sums)
			return r.Balanced, err
		},
		"everything": func() (bool, error) {
			all, err := b.Proof.ReconcileAll(ctx, f, nil)
			return all.Balanced, err
		},
	}
	for what, prove := range proofs {
		paytest.Got(prove()).Want(t, true, what)
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

// TestARedisThatCannotBeReadIsNoDifference: a campaign whose Redis is away, hangs or goes away halfway is not checked,
// and one over whose proof the program breaks has a finding. The other campaign is proved, and each is told of.
func TestARedisThatCannotBeReadIsNoDifference(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f := paytest.NewFakeRedis(b.Clock.Now)
		for _, id := range []string{"bad", "good"} {
			f.Open(b.OpenCampaign(t, id, rain.Spec{Budget: 100, Packets: 10}))
			f.Win(id, 0, id+"-u")
		}
		b.Proof.SetHotLimit(time.Second)
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
			one, err := b.Proof.ReconcileWith(t.Context(), "bad", hot, reconcile.Rows)
			found := strings.Join(one.Findings, "\n")
			if broken && (err != nil || one.Balanced || !strings.Contains(found, "broke off")) ||
				!broken && !errors.Is(err, reconcile.ErrHot) {
				t.Errorf("%s: %+v, %v", what, one, err)
			}
			if hot.records != nil { // which the sums do not need
				sums, err := b.Proof.ReconcileWith(t.Context(), "bad", hot, reconcile.Sums)
				if err != nil || !sums.Balanced {
					t.Errorf("%s: %+v, %v", what, sums, err)
				}
			}
			var told []string
			all, err := b.Proof.ReconcileAll(t.Context(), hot, func(id string, r reconcile.Reconciliation, err error) {
				told = append(told, fmt.Sprintf("%s %v %v", id, r.Balanced, errors.Is(err, reconcile.ErrHot)))
			})
			unchecked, unbalanced := 1, 0
			if broken {
				unchecked, unbalanced = 0, 1
			}
			if want := []string{fmt.Sprint("bad false ", !broken), "good true false"}; err != nil || all.Balanced ||
				all.Difference != 0 && !broken || len(all.Unchecked) != unchecked || all.Unbalanced != unbalanced ||
				len(all.Findings) != 0 || !slices.Equal(told, want) {
				t.Errorf("%s: %+v, %v, told %q", what, all, err, told)
			}
		}
	})
}
