package campaigns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestRebuild: a rebuild restores the wins of the ledger and of the stream. It offers all other packets again, and
// late entries about these are void. The limits hold, the numbers are right, and every cent is in one place.
func TestRebuild(t *testing.T) {
	for name, redis := range forgetful {
		t.Run(name, func(t *testing.T) {
			l := newLossy(t, redis(t))
			spec := servertest.EvenSpec(6_000, 600, 3)
			spec.Split, spec.WinsPerUser = rain.DoubleMean, 2
			c := l.raining(spec)
			posted := l.win(c, 0, users("posted", 30)...)
			l.publish(posted)
			l.post(posted)
			published := l.win(c, 0, users("published", 20)...)
			l.publish(published)
			lost := l.win(c, 0, users("lost", 10)...)
			before := l.books(c)
			testenv.WantErr(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), c.ID)), store.ErrAlive, "nothing is lost")
			l.forget()
			if done := l.rebuild(c.ID); len(done.Shards) != 3 || done.Wins != 50 || done.Packets != 550 {
				t.Errorf("rebuilt: %+v", done)
			}
			got := l.books(c)
			if !got.Balanced || got.Unsettled != 0 || got.Paid+got.Stock != 6_000 || got.Stock <= before.Stock {
				t.Errorf("the books: %+v", got)
			}
			levels, err := l.grabber.Levels(t.Context(), c)
			if err != nil || levels.Stock != 550 || levels.Won != 50 || levels.AmountWon != got.Paid {
				t.Errorf("levels %+v, %v", levels, err)
			}
			// A player who has won the same drop before gets the same; and then one packet more, which is all that
			// is allowed.
			fresh := l.win(c, 0, "posted-3", "published-3")
			testenv.Equal(t, len(fresh), 0, "won again: %+v", fresh)
			late := l.post(lost)
			if len(late.Void) != 10 || len(late.Dead)+len(late.Settled) != 0 {
				t.Errorf("what comes too late: %+v", late)
			}
			fresh = l.win(c, 1, "posted-3", "published-3")
			drop := rain.DropID{N: c.Current().FirstWave, K: 2}.String()
			if r := grabtest.TapOn(l.grabber.Gate(c), "posted-3", drop); r.Outcome != outcome.Already {
				t.Errorf("a third win: %+v", r)
			}
			if p := l.post(fresh); p.New != 2 || len(p.Void)+len(p.Dead) != 0 {
				t.Errorf("the life after: %+v", p)
			}
			l.balanced(c, "the life after")
			l.quiet()
			// The outbox sweeper of another node publishes an entry from before the loss. The entry is void, and stays
			// so.
			l.publish(lost)
			l.forget()
			l.rebuild(c.ID)
			l.balanced(c, "after the second loss")
		})
	}
}

// restoredBus notes the campaigns that are reported as restored.
type restoredBus struct {
	Bus
	restored []string
}

func (b *restoredBus) Restored(campaign string) { b.restored = append(b.restored, campaign) }

// TestARestorationIsToldOf even if a later step fails: no later notice reaches the nodes.
func TestARestorationIsToldOf(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 1))
	bus, away := &restoredBus{Bus: l.bus}, errors.New("away")
	r := l.another()
	r.o.Bus = bus
	r.o.Service = NewService(ServiceOptions{Node: r.o.Node, Ledger: l.ledger.Campaigns,
		Stock: &memoryStock{away: away}})
	if _, err := r.Rebuild(t.Context(), c.ID); !errors.Is(err, store.ErrAlive) || len(bus.restored) != 0 {
		t.Errorf("nothing is lost: %v, notified of %q", err, bus.restored)
	}
	l.forget()
	if _, err := r.Rebuild(t.Context(), c.ID); !errors.Is(err, away) || !slices.Equal(bus.restored, []string{c.ID}) {
		t.Errorf("%v, notified of %q", err, bus.restored)
	}
}

// TestAVoidWinRaisesAnAlarm when a settlement worker meets it. A void reclaim raises none: no player expects it.
func TestAVoidWinRaisesAnAlarm(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 1))
	lost := l.win(c, 0, "u1", "u2")
	l.forget()
	l.rebuild(c.ID)
	l.publish(lost)
	l.publish([]rain.Entry{{Ref: rain.EntryRef{Campaign: c.ID, ID: "9-0"},
		SealedAt: l.now, Reclaim: &rain.Reclaim{Numbers: rain.Numbers{{First: 2, Last: 9}},
			Seal: grabtest.Ring.Closing(c.ID, 0, l.now)}}})
	stop := testenv.Run(t, l.settler.Run)
	l.alarm("void_win", c.ID)
	testenv.Eventually(t, 10*time.Second, "all is settled", func() bool {
		n, err := l.grabber.Pending(t.Context(), c)
		return err == nil && n == 0
	})
	stop()
	if got := l.books(c); !got.Balanced || got.Paid != 0 || got.Stock != 100 {
		t.Errorf("the books: %+v", got)
	}
}

// TestRebuildOfAClosedCampaign: the remaining packets are returned once, whether the reclaim was posted, published or
// lost. Drained, unknown and loading campaigns are not rebuilt.
func TestRebuildOfAClosedCampaign(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(900, 90, 3))
	entries := l.win(c, 0, users("u", 12)...)
	l.post(entries)
	testenv.Must(t, testenv.Err(l.service.Close(t.Context(), c.ID)))
	c = l.campaign(c.ID)
	var reclaims []rain.Entry
	for shard := range 3 {
		found, _, err := l.grabber.Page(t.Context(), c.ID, shard, "", 100)
		found = slices.DeleteFunc(found, func(e rain.Entry) bool { return e.Reclaim == nil })
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		reclaims = append(reclaims, found...)
	}
	l.publish(reclaims[:1]) // the first is in the stream, the second in the ledger, the third nowhere
	l.post(reclaims[1:2])
	l.forget()
	if done := l.rebuild(c.ID); len(done.Shards) != 3 || done.Wins != 12 {
		t.Errorf("rebuilt: %+v", done)
	}
	if p := l.post(reclaims); len(p.Void) != 1 || len(p.Dead) != 0 {
		t.Errorf("the old reclaims: %+v", p)
	}
	for range 2 {
		testenv.Must(t, testenv.Err(l.keep(c.ID)))
	}
	if c = l.campaign(c.ID); !c.Drained {
		t.Error("it is not drained")
	}
	l.wantSponsor(1_000_000_000 - 120)
	testenv.WantErr(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), c.ID)), ErrDrained, "of a drained campaign")
	if got := l.books(c); !got.Balanced || got.Reclaimed != 780 || got.Paid != 120 {
		t.Errorf("the books: %+v", got)
	}
	testenv.WantErr(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), "nowhere")), posting.ErrUnknownCampaign,
		"an unknown campaign")
	loading, err := l.service.fund(t.Context(), servertest.EvenSpec(100, 10, 1), "")
	testenv.Must(t, err)
	testenv.WantErr(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), loading.ID)), rain.ErrNotStocked, "a loading one")
}

// TestTwoRebuildersMeet, again and again. The outbox goes on above the ledger's barrier, so new wins are not void.
func TestTwoRebuildersMeet(t *testing.T) {
	l := newLossy(t, forgetful["real"](t))
	c := l.raining(servertest.EvenSpec(40_000, 4_000, 1))
	nodes := []*Rebuilder{l.rebuilder, l.another(), l.another()}
	won := 0
	for round := range 12 {
		won++
		l.post(l.win(c, 0, fmt.Sprintf("u-%d", round)))
		l.forget()
		var wg sync.WaitGroup
		for _, node := range nodes {
			wg.Go(func() {
				_, err := node.Rebuild(t.Context(), c.ID)
				known := errors.Is(err, store.ErrAlive) || errors.Is(err, store.ErrSuperseded) ||
					errors.Is(err, posting.ErrRebuildSuperseded)
				if err != nil && !known {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, err := l.rebuilder.Rebuild(t.Context(), c.ID); err != nil && !errors.Is(err, store.ErrAlive) {
			t.Fatal(err)
		}
		shards, err := l.grabber.Snapshot(t.Context(), c)
		testenv.Must(t, err)
		if s := shards[0]; !s.Found || s.Won != won || s.Stock.Count() != 4_000-won {
			t.Errorf("round %d: %+v", round, s)
		}
		p := l.post(l.win(c, 1, fmt.Sprintf("v-%d", round)))
		won += p.New
		if p.New != 1 || len(p.Void)+len(p.Dead) != 0 {
			t.Errorf("round %d: a win of the living: %+v", round, p)
		}
	}
	if got := l.books(c); !got.Balanced {
		t.Errorf("the books: %+v", got)
	}
}

// stepped is a ledger that asks the test before each step; a step that the test fails is not made.
type stepped struct {
	*posting.Rebuilds
	step func(ctx context.Context, name string) error // "begin", "fence", "fenced" (after it) and "top"
}

func (s *stepped) BeginRebuild(ctx context.Context, campaign string, shard int) (int64, error) {
	if err := s.step(ctx, "begin"); err != nil {
		return 0, err
	}
	return s.Rebuilds.BeginRebuild(ctx, campaign, shard)
}

func (s *stepped) Fence(ctx context.Context, campaign string, shard int,
	attempt int64) (posting.Barrier, error) {
	if err := s.step(ctx, "fence"); err != nil {
		return posting.Barrier{}, err
	}
	barrier, err := s.Rebuilds.Fence(ctx, campaign, shard, attempt)
	return barrier, errors.Join(err, s.step(ctx, "fenced"))
}

func (s *stepped) Top(ctx context.Context, c *rain.Campaign, shard, limit int) ([]posting.Total, error) {
	if err := s.step(ctx, "top"); err != nil {
		return nil, err
	}
	return s.Rebuilds.Top(ctx, c, shard, limit)
}

// at has r run do before a step of its rebuilds.
func (l *lossy) at(r *Rebuilder, step string, do func(context.Context) error) {
	r.o.Ledger = &stepped{l.ledger.Rebuilds, func(ctx context.Context, name string) error {
		if name == step {
			return do(ctx)
		}
		return nil
	}}
}

func cut(context.Context) error { return errCut }

// TestAFenceIsOnlySetByWhoCanOpen: one rebuilder has set its fence. A second one sets another, and waits for the end of
// the first. The first one must not open the shard, because its outbox would go on below the second one's barrier.
func TestAFenceIsOnlySetByWhoCanOpen(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 1))
	l.forget()
	first, second := l.rebuilder, l.another()
	firstEnded, secondFenced, secondEnded := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	l.at(second, "fenced", func(context.Context) error { close(secondFenced); <-firstEnded; return nil })
	l.at(first, "fenced", func(context.Context) error {
		go func() { _, err := second.Rebuild(t.Context(), c.ID); secondEnded <- err }()
		<-secondFenced
		return nil
	})
	testenv.WantErr(t, testenv.Err(first.Rebuild(t.Context(), c.ID)), store.ErrSuperseded, "the first")
	close(firstEnded)
	testenv.WantErr(t, <-secondEnded, nil, "the second")
	if p := l.post(l.win(c, 0, "u")); p.New != 1 || len(p.Void) != 0 {
		t.Errorf("a win of the living: %+v", p)
	}
}

// TestTheKeeperSaysThatStateIsLost, once until it is healed. It rebuilds nothing by itself without --confirm stream.
func TestTheKeeperSaysThatStateIsLost(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 1))
	for range 2 {
		testenv.Must(t, l.loop.keep(t.Context(), c))
		l.forget()
		l.now += enforceEvery
		for range 3 {
			testenv.WantErr(t, l.loop.keep(t.Context(), c), store.ErrNoState, "keeping")
			l.now += enforceEvery
		}
		l.wantLost(c, 1)
		l.alarm("state_lost", c.ID)
		l.quiet()
		l.rebuild(c.ID)
	}
}
