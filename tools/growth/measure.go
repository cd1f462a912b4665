package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// run is a measurement.
type measurement struct {
	o    options
	db   *sqldb.DB
	l    *ledger.Ledger
	plan *plan
	live job

	clock   rain.Clock
	redis   *paytest.FakeRedis
	proof   *reconcile.Reconciler
	figures []figure
}

// risingClock is the time, which rises by each look at it: outbox entries are named by it.
func risingClock() rain.Clock {
	var last atomic.Int64
	return func() int64 {
		for {
			was := last.Load()
			if now := max(time.Now().UnixMilli(), was+1); last.CompareAndSwap(was, now) {
				return now
			}
		}
	}
}

// measure fills the database, if need be, and times the proofs.
func measure(ctx context.Context, o options) (figures []figure, err error) {
	db, end, err := openDatabase(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	clock := risingClock()
	m := &measurement{o: o, db: db, l: ledger.New(db, clock, rain.NewAmountsCache()),
		plan: newPlan(o.rows, o.posts, o.campaigns), clock: clock}
	jobs := m.plan.campaigns()
	m.live = jobs[len(jobs)-1]
	m.proof = reconcile.New(db, m.l.Campaigns, clock, nil)
	if err := m.l.Seals.Load(ctx); err != nil {
		return nil, err
	}
	if o.only {
		return nil, m.fill(ctx)
	}
	for _, step := range []func(context.Context) error{m.fill, m.readLive, m.checkLive, m.post, m.checkLive, m.recent,
		m.full} {
		if err := step(ctx); err != nil {
			return m.figures, err
		}
	}
	return m.figures, nil
}

func (m *measurement) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(m.o.log, format+"\n", args...)
}

// fill fills an empty ledger.
func (m *measurement) fill(ctx context.Context) error {
	var campaigns, over, points int
	_, err := m.db.First(ctx, []any{&campaigns, &over, &points}, "SELECT (SELECT COUNT(*) FROM campaign), "+
		"(SELECT COUNT(*) FROM campaign WHERE drained = 1), (SELECT COUNT(*) FROM proof_checkpoint)")
	if err != nil {
		return err
	}
	f := &filler{db: m.db, l: m.l, plan: m.plan, clock: m.clock, log: m.logf}
	switch want := len(m.plan.campaigns()); {
	case campaigns == want && points > 0:
		m.logf("the ledger is filled already")
		return nil
	case campaigns == want && over == want-1:
		return f.checkpoint(ctx, m.plan.campaigns()) // an earlier run has ended just before this
	case campaigns > 0:
		return fmt.Errorf("the database has %d campaigns and %d checkpoints, where these -rows make %d campaigns: "+
			"take an empty one, or the -rows that it was filled with", campaigns, points, want)
	}
	began := time.Now()
	if err := f.fill(ctx); err != nil {
		return err
	}
	m.logf("filled in %.0f s", time.Since(began).Seconds())
	return nil
}

// readLimit is how long it may take to read what the live campaign has paid.
const readLimit = 10 * time.Minute

// readLive has the Redis that is played know what it would know of the live campaign.
func (m *measurement) readLive(ctx context.Context) error {
	c, err := m.l.Campaigns.Campaign(ctx, liveID)
	if err != nil {
		return err
	}
	m.redis = paytest.NewFakeRedis(m.clock)
	m.redis.RecordsAtOnce = 1000 // as Redis gives them
	m.redis.Open(c)
	var e rain.Entry
	settle := func(scan sqldb.Scan) error {
		var ms, seq int64
		var shard int
		var w rain.Win
		if err := scan(&shard, &ms, &seq, &w.Packet, &w.User, &w.Drop, &w.Amount); err != nil {
			return err
		}
		ref := rain.EntryRef{Campaign: liveID, Shard: shard, ID: fmt.Sprintf("%d-%d", ms, seq)}
		if ref != e.Ref && len(e.Wins) > 0 {
			m.redis.Settled(e)
			e.Wins = nil
		}
		e.Ref, e.Wins = ref, append(e.Wins, w)
		return nil
	}
	err = m.db.View(ctx, readLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Each(ctx, settle, "SELECT shard, won_at, entry_seq, packet, user_id, drop_id, amount FROM payout "+
			"WHERE campaign_id = ? ORDER BY shard, won_at, entry_seq, packet", liveID)
	})
	if err == nil && len(e.Wins) > 0 {
		m.redis.Settled(e)
	}
	return err
}

// counts is how many payouts there are, in all and of the live campaign, as the tallies say.
func (m *measurement) counts(ctx context.Context) (all, live int64, err error) {
	_, err = m.db.First(ctx, []any{&all}, "SELECT SUM(paid) FROM campaign_tally")
	if err == nil {
		_, err = m.db.First(ctx, []any{&live}, "SELECT paid FROM campaign_tally WHERE campaign_id = ?", liveID)
	}
	return all, live, err
}

// note keeps a figure, and says so.
func (m *measurement) note(f figure) {
	m.figures = append(m.figures, f)
	m.logf("%s: %.3f s, balanced: %v", f.What, f.TookMS/1000, f.Balanced)
}

// liveTries is how many live checks are made; the one in the middle counts.
const liveTries = 5

// checkLive times what is done for each live campaign every --reconcile-every.
func (m *measurement) checkLive(ctx context.Context) error {
	all, live, err := m.counts(ctx)
	if err != nil {
		return err
	}
	var took []time.Duration
	balanced := true
	for range liveTries {
		began := time.Now()
		r, err := m.proof.ReconcileWith(ctx, liveID, m.redis, reconcile.Sums)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if balanced = balanced && r.Balanced; !r.Balanced {
			m.logf("%q", r.Findings)
		}
	}
	slices.Sort(took)
	m.note(newFigure("live check of the running campaign", all, live, took[liveTries/2], balanced))
	return m.unlessBalanced(balanced)
}

var errUnbalanced = errors.New("the books are not balanced, so what was measured is worth nothing")

func (m *measurement) unlessBalanced(balanced bool) error {
	if balanced {
		return nil
	}
	return errUnbalanced
}

// post lets players win, and posts that as the settler does.
func (m *measurement) post(ctx context.Context) error {
	began, posted := time.Now(), 0
	for posted < m.o.posts {
		var entries []rain.Entry
		for s := range shards {
			var users []string
			next := m.redis.Shards[paytest.FakeKey{Campaign: liveID, Shard: s}].Snapshot.Won
			for n := range min(batchWins/shards, (m.o.posts-posted+shards-1)/shards) {
				users = append(users, player(m.live.winner(s, next+n)))
			}
			for some := range slices.Chunk(users, entryWins) {
				if m.redis.Win(liveID, s, some...) < len(some) {
					return errors.New("the live campaign has no packets left: begin with an empty database")
				}
			}
			for _, e := range m.redis.Entries(paytest.FakeKey{Campaign: liveID, Shard: s}) {
				entries = append(entries, paytest.SealWith(m.l.Seals.Ring(), e))
			}
		}
		done, err := m.l.Poster.Post(ctx, entries)
		if err != nil || len(done.Dead) > 0 {
			return fmt.Errorf("posting: %d dead letters, %w", len(done.Dead), err)
		}
		posted += done.New
		for _, e := range entries {
			if err := m.redis.Remove(ctx, []rain.EntryRef{e.Ref}); err != nil {
				return err
			}
		}
	}
	m.logf("posted %d payouts in %.1f s", posted, time.Since(began).Seconds())
	return nil
}

// recent times the proof of what is recent.
func (m *measurement) recent(ctx context.Context) error {
	all, _, err := m.counts(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	books, err := m.proof.ReconcileRecent(ctx, m.redis, nil)
	if err != nil {
		return err
	}
	if !books.Balanced {
		m.logf("%q %+v", books.Findings, books.Campaigns)
	}
	m.note(newFigure(fmt.Sprintf("proof of what is recent, after %d more payouts", m.o.posts), all, int64(m.o.posts),
		time.Since(began), books.Balanced))
	return m.unlessBalanced(books.Balanced)
}

// full times the full proof.
func (m *measurement) full(ctx context.Context) error {
	if !m.o.full {
		return nil
	}
	all, _, err := m.counts(ctx)
	if err != nil {
		return err
	}
	began, part := time.Now(), ""
	var rows int64
	books, err := m.proof.ReconcileFull(ctx, m.redis, reconcile.FullOptions{Progress: func(p reconcile.Progress) {
		rows = p.Done
		if p.Part != part {
			part = p.Part
			m.logf("%4.0f s: %s, %d of %d rows, %.0f rows/s, %.0f s left", time.Since(began).Seconds(), p.Part, p.Done,
				p.Of, p.Rate, float64(p.LeftMS)/1000)
		}
	}})
	if err != nil {
		return err
	}
	if !books.Balanced {
		m.logf("%q %+v", books.Findings, books.Campaigns)
	}
	m.note(newFigure("full proof", all, rows, time.Since(began), books.Balanced))
	return m.unlessBalanced(books.Balanced)
}
