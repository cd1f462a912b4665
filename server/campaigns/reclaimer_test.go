package campaigns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/servertest"
)

// reclaimerOf is the reclaimer of another node, on the same back ends.
func (u *upkeep) reclaimerOf(node string) *Reclaimer {
	o := u.reclaim.o
	o.Name = node
	return NewReclaimer(o)
}

// settle posts what waits in the outboxes, and removes it. It returns the dead letters.
func (u *upkeep) settle(c *rain.Campaign) (dead []posting.DeadLetter) {
	u.Helper()
	for shard := range c.Shards {
		entries, _, err := u.grabber.Page(u.Context(), c.ID, shard, "", 1000)
		testenv.Must(u, err)
		for _, e := range entries {
			posted, err := u.ledger.Poster.Post(u.Context(), []rain.Entry{e})
			testenv.Must(u, errors.Join(err, u.grabber.Remove(u.Context(), []rain.EntryRef{e.Ref})))
			dead = append(dead, posted.Dead...)
		}
	}
	return dead
}

func (u *upkeep) count(query string) (n int) {
	u.Helper()
	testenv.Must(u, testenv.Err(u.db.First(u.Context(), []any{&n}, query)))
	return n
}

// inFlight counts the calls of Redis in flight, and their maximum.
type inFlight struct {
	mu        sync.Mutex
	now, most int
}

func (f *inFlight) begin() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now++
	f.most = max(f.most, f.now)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now--
	}
}

func (*inFlight) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *inFlight) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		end := f.begin()
		defer end()
		return next(ctx, cmd)
	}
}

func (f *inFlight) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		end := f.begin()
		defer end()
		return next(ctx, cmds)
	}
}

// TestManyAreDueAtOnce: after a long outage, on two nodes. Each campaign is reclaimed once, a few at a time.
func TestManyAreDueAtOnce(t *testing.T) {
	const campaigns = 250
	u := newUpkeep(t, testenv.Redis(t))
	all := make([]*rain.Campaign, campaigns)
	for i := range all {
		u.now = max(u.now, time.Now().UnixMilli()) // Redis has a clock of its own, and takes no late stocking
		all[i] = u.create(servertest.EvenSpec(100, 10, 1+i%3))
	}
	u.wantSponsor(rain.Money(1_000_000_000 - 100*campaigns))
	u.now += 2 * rain.DefaultSpec().ExpiresInMS
	calls := &inFlight{}
	u.rdb.AddHook(calls)
	nodes := []*Reclaimer{u.reclaimerOf("a"), u.reclaimerOf("b")}
	for round := 0; u.count("SELECT COUNT(*) FROM campaign WHERE drained = 0") > 0; round++ {
		if round > 20 {
			t.Fatal("they do not come to an end")
		}
		// Both at once; and where the lease lets only one work, the other without it: nothing may depend on the lease.
		var both sync.WaitGroup
		for i, node := range nodes {
			both.Go(func() {
				work := func(ctx context.Context) error { return node.lease.Under(ctx, node.sweep) }
				if i == round%2 {
					work = node.sweep
				}
				if err := work(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		for _, c := range all {
			u.settle(c)
		}
		if n := u.count("SELECT COUNT(*) FROM reclaim WHERE amount > 0"); round == 0 && n != shardsIn(all) {
			t.Errorf("the first sweep went through %d of %d shards", n, shardsIn(all))
		}
		u.now += 60_000
	}
	u.wantSponsor(1_000_000_000)
	testenv.Equal(t, u.count("SELECT COUNT(*) FROM reclaim WHERE amount > 0"), shardsIn(all), "reclaims of all shards")
	testenv.Equal(t, u.count("SELECT COUNT(*) FROM dead_letter")+u.count("SELECT COUNT(*) FROM reclaim_cut"), 0,
		"dead letters and cut reclaims")
	// Each node works on some campaigns, with at most one call for each of their three shards. A new connection
	// introduces itself with a call of its own.
	if most, limit := calls.most, 2*len(nodes)*reclaimAtOnce*3; most > limit || most < 2 {
		t.Errorf("%d calls at one time, at most %d are meant to be there", most, limit)
	}
	for _, key := range []string{"state", "wins", "outbox", "nodes"} {
		name := "rr:{" + all[0].ID + ".0}:" + key
		if ttl := u.rdb.PTTL(t.Context(), name).Val(); ttl == -1 || ttl > 24*time.Hour {
			t.Errorf("%s stays for %v", name, ttl)
		}
	}
}

func shardsIn(all []*rain.Campaign) (n int) {
	for _, c := range all {
		n += c.Shards
	}
	return n
}

// TestOneThatFailsHoldsUpNobody: it is tried again, later each time, and done when it works.
func TestOneThatFailsHoldsUpNobody(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	sick, well := u.create(servertest.EvenSpec(100, 10, 1)), u.create(servertest.EvenSpec(100, 10, 1))
	stock := "rr:{" + sick.ID + ".0}:stock"
	testenv.Must(t, u.rdb.Rename(t.Context(), stock, stock+".away").Err())
	u.rdb.Set(t.Context(), stock, "no list", 0)
	u.now += 2 * rain.DefaultSpec().ExpiresInMS
	turn := func() {
		t.Helper()
		testenv.Must(t, u.reclaim.lease.Under(t.Context(), u.reclaim.sweep))
		u.settle(well)
		u.settle(sick)
	}
	for range 10 {
		turn()
		u.now += 1_000
	}
	if c := u.campaign(well.ID); !c.Drained {
		t.Error("the other one is held up")
	}
	if a := u.reclaim.again[sick.ID]; u.campaign(sick.ID).Drained || a.tries < 2 || a.tries > 5 {
		t.Errorf("after ten seconds: %+v", a)
	}
	u.rdb.Rename(t.Context(), stock+".away", stock)
	for range 3 {
		u.now += 60_000
		turn()
	}
	if c := u.campaign(sick.ID); !c.Drained || len(u.reclaim.again) != 0 {
		t.Errorf("drained %v, still noted: %v", c.Drained, u.reclaim.again)
	}
	u.wantSponsor(1_000_000_000)
}

// TestExpiryWhileTheDatabaseIsDown: campaigns that expire meanwhile are reclaimed when the database is back.
func TestExpiryWhileTheDatabaseIsDown(t *testing.T) {
	server := testenv.StartMySQL(t)
	db, err := sqldb.OpenMySQL(server.DSN)
	testenv.Must(t, err)
	u := newUpkeepOn(t, testenv.Redis(t), db)
	all := make([]*rain.Campaign, 20)
	for i := range all {
		u.now = max(u.now, time.Now().UnixMilli()) // Redis has a clock of its own, and takes no late stocking
		all[i] = u.create(servertest.EvenSpec(100, 10, 2))
	}
	server.Kill()
	u.now += 2 * rain.DefaultSpec().ExpiresInMS
	if u.reclaim.lease.Under(t.Context(), u.reclaim.sweep) == nil || u.reclaim.sweep(t.Context()) == nil {
		t.Error("without the database, neither the lease nor the work under it fails")
	}
	if levels, err := u.grabber.Levels(t.Context(), all[0]); err != nil || levels.Stock != 10 {
		t.Errorf("a campaign was closed that the database knows nothing of: %+v, %v", levels, err)
	}
	server.Start()
	testenv.Eventually(t, time.Minute, "everything is drained", func() bool {
		u.now += 60_000
		if err := u.reclaim.lease.Under(t.Context(), u.reclaim.sweep); err != nil {
			return false
		}
		for _, c := range all {
			u.settle(c)
		}
		return u.count("SELECT COUNT(*) FROM campaign WHERE drained = 0") == 0
	})
	u.wantSponsor(1_000_000_000)
}

// TestALostLeaseEndsTheWork: a node that cannot renew its lease stops, so two nodes do the same work for a short time
// only. Until it notices, its work changes nothing in the ledger.
func TestALostLeaseEndsTheWork(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	c := u.create(servertest.EvenSpec(100, 10, 1))
	err := u.reclaim.lease.Under(t.Context(), func(work context.Context) error {
		testenv.WantErr(t, testenv.Err(u.reclaim.o.Service.Pause(work, c.ID)), nil, "under its lease")
		_, err := u.db.Exec(t.Context(), "UPDATE lease SET holder = 'another', term = term + 1 WHERE name = 'reclaim'")
		if err != nil {
			t.Error(err)
		}
		testenv.WantErr(t, testenv.Err(u.reclaim.o.Service.Close(work, c.ID)), ledger.ErrLeaseTaken,
			"under another's lease")
		<-work.Done()
		return work.Err()
	})
	testenv.Must(t, err)
	if is, err := u.ledger.Campaigns.Campaign(t.Context(), c.ID); err != nil || is.Status != rain.Paused {
		t.Errorf("%+v, %v", is, err)
	}
}
