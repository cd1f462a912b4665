package campaigns

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// upkeep is the campaign service, the reconcile loop and the reclaimer, on a real Redis and an SQLite ledger. The test
// sets the time.
type upkeep struct {
	*testing.T
	node     Node
	service  *Service
	loop     *ReconcileLoop
	registry *cluster.Registry
	bus      *cluster.Bus
	nc       *nats.Conn
	reclaim  *Reclaimer
	grabber  *grabtest.Node
	ledger   *ledger.Ledger
	rdb      redis.UniversalClient
	db       *sqldb.DB
	amounts  *rain.AmountsCache
	now      int64
}

func newUpkeep(t *testing.T, addr string) *upkeep {
	t.Helper()
	db, err := sqldb.OpenSQLite("")
	testenv.Must(t, err)
	return newUpkeepOn(t, addr, db)
}

// newUpkeepOn is newUpkeep on a database, which it closes in the end.
func newUpkeepOn(t *testing.T, addr string, db *sqldb.DB) *upkeep {
	t.Helper()
	u := &upkeep{T: t, now: time.Now().UnixMilli(), db: db}
	clock := rain.Clock(func() int64 { return u.now })
	log := slog.New(slog.DiscardHandler)
	var err error
	if u.rdb, err = store.Connect(t.Context(), addr); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, db.Migrate(t.Context()))
	bus, err := embedded.NATS("")
	testenv.Must(t, err)
	nc, err := bus.Connect()
	testenv.Must(t, err)
	u.amounts = rain.NewAmountsCache()
	u.ledger = ledger.New(db, clock, u.amounts)
	secret := grabtest.Secret
	testenv.Must(t, testenv.Err(db.Exec(t.Context(), "UPDATE seal_key SET secret = ?", secret[:])))
	testenv.Must(t, u.ledger.Seals.Load(t.Context()))
	u.grabber = grabtest.NewNode(u.rdb, grabtest.Options{Options: grab.Options{Clock: clock, Log: log}})
	t.Cleanup(func() {
		u.grabber.Close()
		nc.Close()
		if err := errors.Join(bus.Close(), db.Close(), u.rdb.Close()); err != nil {
			t.Error(err)
		}
	})
	u.registry = cluster.NewRegistry(
		cluster.RegistryOptions{Source: servertest.Campaigns{}, Known: cluster.NewKnown(), Log: log},
	)
	u.nc, u.bus = nc, cluster.NewBus(nc, cluster.BusOptions{
		Namespace: "rr", Sealer: grabtest.Ring, Log: log,
		Clock: func() int64 { return time.Now().UnixMilli() }, // read on goroutines of NATS
	})
	u.node = Node{Name: "test", Leases: u.ledger.Leases, Known: u.registry, Bus: u.bus, Clock: clock, Log: log}
	u.service = NewService(ServiceOptions{Node: u.node, Ledger: u.ledger.Campaigns, Stock: u.grabber})
	u.loop = &ReconcileLoop{Node: u.node, Service: u.service}
	u.reclaim = NewReclaimer(ReclaimerOptions{
		Node: u.node, Service: u.service, Ledger: u.ledger.Campaigns, Stock: u.grabber.Stock, Outbox: u.grabber.Outbox,
		KeepFor: 24 * time.Hour,
	})
	testenv.Must(t, testenv.Err(u.ledger.Sponsors.Deposit(t.Context(), "acme", "first", 1_000_000_000)))
	return u
}

func (u *upkeep) create(spec rain.Spec) *rain.Campaign {
	u.Helper()
	for try := 1; ; try++ {
		c, err := u.service.Create(u.Context(), spec, "")
		if errors.Is(err, ErrApply) && try < 5 {
			continue // a busy machine has not stocked it within the time that there is for it; nothing is left of it
		}
		testenv.Must(u, err)
		return c
	}
}

// keep lets the reconcile loop and the reclaimer look after a campaign as the ledger has it, and settles what waits.
func (u *upkeep) keep(id string) (*rain.Campaign, error) {
	u.Helper()
	c := u.campaign(id)
	err := u.loop.keep(u.Context(), c)
	if err == nil {
		for id, a := range u.reclaim.again {
			a.at = 0 // whatever was tried before is tried again
			u.reclaim.again[id] = a
		}
		err = u.reclaim.lease.Under(u.Context(), u.reclaim.sweep)
	}
	u.settle(c)
	return u.campaign(id), err
}

func (u *upkeep) campaign(id string) *rain.Campaign {
	u.Helper()
	c, err := u.ledger.Campaigns.Campaign(u.Context(), id)
	testenv.Must(u, err)
	return c
}

// books are those of a campaign, proved.
func (u *upkeep) books(c *rain.Campaign) reconcile.Reconciliation {
	u.Helper()
	hot := struct {
		*store.Sums
		*store.Wins
	}{u.grabber.Sums, u.grabber.Wins}
	books := reconcile.New(u.db, u.ledger.Campaigns, func() int64 { return u.now }, nil)
	r, err := books.ReconcileCampaign(u.Context(), c.ID, hot, reconcile.Rows)
	testenv.Must(u, err)
	return r
}

func (u *upkeep) wantSponsor(want rain.Money) {
	u.Helper()
	if got, err := u.ledger.Sponsors.SponsorBalance(u.Context(), "acme"); err != nil || got != want {
		u.Errorf("the sponsor has %d of %d (%v)", got, want, err)
	}
}

// TestAFullRedisIsFreedAgain: the budget of a campaign that did not fit goes back, also while there is no room.
func TestAFullRedisIsFreedAgain(t *testing.T) {
	u := newUpkeep(t, testenv.StartRedis(t).Addr)
	testenv.Must(t, u.rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := u.service.Create(t.Context(), servertest.EvenSpec(1_000, 10, 2), "")
	if !errors.Is(err, ErrUnstocked) {
		t.Fatalf("stocked in a Redis that is full: %v", err)
	}
	u.wantSponsor(1_000_000_000)
	live, err := u.ledger.Campaigns.Live(t.Context())
	if err != nil || len(live) != 1 {
		t.Fatalf("%d live campaigns (%v): its remains are never reclaimed", len(live), err)
	}
	if c, err := u.keep(live[0].ID); err != nil || !c.Drained {
		t.Errorf("drained: %v, %v", c.Drained, err)
	}
	testenv.Must(t, u.rdb.ConfigSet(t.Context(), "maxmemory", "0").Err())
	if n, err := u.rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("%d keys are left (%v)", n, err)
	}
	u.create(servertest.EvenSpec(1_000, 10, 1)) // there is room again
}

// TestDrainedIsWhatTheLedgerSays: a shard that looks empty and is not in the ledger is not taken for an empty one.
func TestDrainedIsWhatTheLedgerSays(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	c := u.create(servertest.EvenSpec(1_000, 10, 2))
	// The test removes the packets of shard 1.
	shard := "rr:{" + c.ID + ".1}:"
	testenv.Must(t, errors.Join(u.rdb.LTrim(t.Context(), shard+"stock", -1, -1).Err(),
		u.rdb.HSet(t.Context(), shard+"state", "left", 0).Err()))
	testenv.Must(t, testenv.Err(u.service.Close(t.Context(), c.ID)))
	var err error
	for range 3 {
		if c, err = u.keep(c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if c.Drained {
		t.Error("drained, with half of the budget unassigned")
	}
	if !u.reclaim.again[c.ID].alarmed {
		t.Error("no alarm")
	}
	u.wantSponsor(1_000_000_000 - 500)
	if rec := u.books(c); rec.Balanced || rec.Difference != 500 {
		t.Errorf("the books do not show it: %+v", rec)
	}
}

// TestALostApplyIsRepeated: a rain that Redis has forgotten the window of falls all the same.
func TestALostApplyIsRepeated(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	c := u.create(servertest.EvenSpec(1_000, 10, 1))
	key := "rr:{" + c.ID + ".0}:state"
	before, err := u.rdb.HGetAll(t.Context(), key).Result()
	testenv.Must(t, err)
	if c, _, err = u.service.StartRain(t.Context(), c.ID, rain.DefaultRain(), ""); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, testenv.Err(u.keep(c.ID)))
	u.rdb.HSet(t.Context(), key, before)
	u.now += enforceEvery
	testenv.Must(t, testenv.Err(u.keep(c.ID)))
	if got, err := u.rdb.HGet(t.Context(), key, "first_wave").Result(); err != nil ||
		got != strconv.FormatInt(c.Current().FirstWave, 10) {
		t.Errorf("Redis has the rain with the first wave %q (%v)", got, err)
	}
}

// TestAnIdleCampaignIsLookedAfter: that Redis has lost a campaign without a rain is found out before the next one,
// and not by its players.
func TestAnIdleCampaignIsLookedAfter(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	c := u.create(servertest.EvenSpec(1_000, 10, 1))
	testenv.Must(t, u.loop.keep(t.Context(), c))
	testenv.Must(t, u.rdb.Del(t.Context(), "rr:{"+c.ID+".0}:state").Err())
	u.now += enforceEvery
	testenv.WantErr(t, u.loop.keep(t.Context(), c), nil, "looked at as often as in a rain")
	u.now += idleEvery
	testenv.WantErr(t, u.loop.keep(t.Context(), c), store.ErrNoState, "a minute later")
}

// TestAStuckLoadingEnds: by an operator's close, or at its expiry.
func TestAStuckLoadingEnds(t *testing.T) {
	u := newUpkeep(t, testenv.Redis(t))
	for i, end := range []func(id string){
		func(id string) {
			if _, err := u.service.Close(t.Context(), id); err != nil {
				t.Error(err)
			}
		},
		func(id string) {
			u.now += 2 * rain.DefaultSpec().ExpiresInMS
			if _, err := u.keep(id); err != nil {
				t.Error(err)
			}
		},
	} {
		c, err := u.service.fund(t.Context(), servertest.EvenSpec(1_000, 10, 1),
			"key of the test "+strings.Repeat("i", i)+testenv.Namespace(t))
		testenv.Must(t, err)
		end(c.ID)
		u.wantSponsor(1_000_000_000)
		if c, err = u.keep(c.ID); err != nil || !c.Drained {
			t.Errorf("%s, drained %v (%v)", c.Status, c.Drained, err)
		}
	}
}
