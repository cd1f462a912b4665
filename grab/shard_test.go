package grab

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// fakeScript is a shard of one packet for each tap that asks, as long as the stock lasts.
type fakeScript struct {
	mu      sync.Mutex // guards stock and batches, which tests look at meanwhile
	stock   int
	batches [][]string      // "user drop" of each batch
	always  outcome.Outcome // what every tap gets; Unavailable: as the stock is
	err     error
	sent    []string // "user drop" of each tap that it was asked
	hold    chan struct{}
	pending []string
	lasted  int           // calls of Confirmed
	within  time.Duration // that it was given, the last time
}

func (s *fakeScript) Add(user *string, ticket rain.Ticket) {
	s.pending = append(s.pending, *user+" "+ticket.String())
}

func (s *fakeScript) Confirmed() { s.lasted++ }

func (s *fakeScript) Decide(ctx context.Context, _ *rain.Rain, _ *rain.Amounts, _ int64) (*store.Answer, error) {
	s.within = timeLeft(ctx)
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.pending
	s.batches = append(s.batches, asked)
	s.pending, s.sent = nil, append(s.sent, asked...)
	if s.err != nil {
		return nil, s.err
	}
	a := &store.Answer{EntryID: "7-0", Results: make([]outcome.Result, len(asked)),
		EntryIDs: make([]string, len(asked))}
	for i := range asked {
		if s.always != outcome.Unavailable {
			a.Results[i].Outcome = s.always
			continue
		}
		if s.stock == 0 {
			a.Results[i].Outcome = outcome.SoldOut
			continue
		}
		s.stock--
		a.Results[i], a.EntryIDs[i] = outcome.Result{Outcome: outcome.Won, Packet: s.stock, Amount: 1}, a.EntryID
	}
	a.Left = int64(s.stock)
	a.Entry = rain.Entry{Ref: rain.EntryRef{Campaign: "c", ID: a.EntryID}, Wins: []rain.Win{{User: "p"}}}
	if !slices.ContainsFunc(a.Results, func(r outcome.Result) bool { return r.Outcome == outcome.Won }) {
		a.EntryID = ""
	}
	return a, nil
}

// restock brings stock.
func (s *fakeScript) restock(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stock += n
}

func timeLeft(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return time.Until(deadline)
}

// fakeConfirmer confirms all or nothing, and fails with err, when it is released.
type fakeConfirmer struct {
	immediate, all bool
	err            error
	hold           chan struct{}
	within         time.Duration // that it was given
	asked          int           // how often
	losers         bool          // something without an outbox entry was to be confirmed
}

func (c *fakeConfirmer) Immediate() bool { return c.immediate }

func (c *fakeConfirmer) Confirm(ctx context.Context, campaign string, shard int, p *confirm.Pending) error {
	c.within = timeLeft(ctx)
	c.asked++
	if c.hold != nil {
		<-c.hold
	}
	if c.all {
		_ = confirm.New(store.New(nil, store.Options{}), confirm.Redis, nil, nil).Confirm(ctx, campaign, shard, p)
	}
	c.losers = c.losers || p.Confirmed("")
	return c.err
}

// bench is a node with a fake Redis, in a rain whose drops of wave 0 are in the air.
type bench struct {
	gates *Gates[string]
	gate  *Gate[string]
	mu    sync.Mutex
	told  []string // "caller outcome" in the order of the results
	empty []int    // how many taps waited for stock, each time that some did
	wins  int
	late  atomic.Int64 // how much later it is than 2,000, ms
}

func newBench(t testing.TB, s *fakeScript, c *fakeConfirmer) *bench {
	t.Helper()
	return newShardedBench(t, c, s)
}

// newShardedBench is a node with a shard for each script.
func newShardedBench(t testing.TB, c *fakeConfirmer, scripts ...*fakeScript) *bench {
	t.Helper()
	b := &bench{}
	b.gates = newGates(func(_ string, shard int) script { return scripts[shard] }, c, func(taps []*Tap[string]) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, t := range taps {
			b.told = append(b.told, t.Caller+" "+t.Result().Outcome.String())
		}
	}, Options{
		Clock: func() int64 { return 2_000 + b.late.Load() },
		OnWin: func(*rain.Entry) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.wins++
		},
		OnEmpty: func(_ string, _, taps int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.empty = append(b.empty, taps)
		},
	})
	t.Cleanup(b.gates.Close)
	b.gate = b.gates.Gate(aCampaign(len(scripts)))
	return b
}

func aCampaign(shards int) *rain.Campaign {
	return &rain.Campaign{
		ID: "c", Status: rain.Open, Revision: 1,
		Spec: rain.Spec{Budget: 1_000, Packets: 1_000, Min: 1, Split: rain.Even, WinsPerUser: 2, Shards: shards},
		Rains: []rain.Rain{{
			ID: "r", StartsAt: 1_000,
			Settings: rain.Settings{DurationMS: 10_000, DropsPerSecond: 40, FallMS: 4_000},
		}},
	}
}

// aShard is the only shard of a campaign, for a test that decides its batches itself, with a tap for each player.
func aShard(s *fakeScript, c *fakeConfirmer, o Options, answer Answer[string], users ...string) (*shard[string],
	[]*Tap[string]) {
	o.Clock = func() int64 { return 2_000 }
	gate := newGates(func(string, int) script { return s }, c, answer, o).Gate(aCampaign(1))
	taps := make([]*Tap[string], len(users))
	for i, user := range users {
		taps[i] = &Tap[string]{User: user, Caller: user, player: gate.stripe(user).add(user)}
	}
	return gate.shards[0], taps
}

// tap taps and returns the gate's immediate result, or "". The later result names the caller.
func (b *bench) tap(user, drop, caller string) string {
	id, _ := rain.ParseDrop(drop)
	if r, known := b.gate.Tap(&Tap[string]{User: user, Drop: id, Caller: caller}); known {
		return r.Outcome.String()
	}
	return ""
}

func (b *bench) wantTold(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	testenv.Equal(t, b.told, want, "told")
	b.told = nil
}

// A second tap on a drop waits if the first one is not decided yet. It costs Redis nothing more. Each tap gets one
// result.
func TestATapUnderWayAnswersItsCopies(t *testing.T) {
	for _, immediate := range []bool{true, false} {
		s := &fakeScript{stock: 2, hold: make(chan struct{})}
		b := newBench(t, s, &fakeConfirmer{immediate: immediate})
		for _, tap := range [][3]string{
			{"p", "0.0", "p1"}, {"p", "0.0", "p2"}, {"q", "0.0", "q1"}, {"p", "0.0", "p3"}, {"p", "0.1", "p4"},
		} {
			testenv.Equal(t, b.tap(tap[0], tap[1], tap[2]), "", "%v", tap)
		}
		close(s.hold)
		b.gates.work.wg.Wait()
		b.gates.Close()
		want := []string{"p 0.0", "q 0.0"}
		if immediate {
			want = append(want, "p 0.1")
		}
		testenv.Equal(t, s.sent, want, "sent")
		if immediate {
			b.wantTold(t, "p1 won", "p2 won", "p3 won", "q1 won", "p4 sold_out")
		} else { // unconfirmed wins are not reported, and later batches are not sent
			slices.Sort(b.told)
			b.wantTold(t, "p1 unavailable", "p2 unavailable", "p3 unavailable", "p4 unavailable", "q1 unavailable")
		}
		if (b.wins > 0) != immediate || !b.gate.soldOut[rain.LanePlayers].Load() {
			t.Errorf("%d entries sent, sold out %t", b.wins, b.gate.soldOut[rain.LanePlayers].Load())
		}
	}
}

// Losers get their results at once: a pending confirmation does not delay them. A winner gets one result, after the
// confirmation.
func TestLosersDoNotWait(t *testing.T) {
	s, c := &fakeScript{stock: 1}, &fakeConfirmer{hold: make(chan struct{})}
	told := make(chan string, 10)
	d, taps := aShard(s, c, Options{}, func(taps []*Tap[string]) {
		for _, t := range taps {
			told <- t.Caller + " " + t.Result().Outcome.String()
		}
	}, "p", "q")
	var deciding sync.WaitGroup
	deciding.Go(func() {
		testenv.WantErr(t, d.decide(taps), nil)
	})
	testenv.Equal(t, <-told, "q sold_out", "first")
	select {
	case got := <-told:
		t.Errorf("%s, before it was confirmed", got)
	case c.hold <- struct{}{}:
	}
	deciding.Wait()
	testenv.Equal(t, <-told, "p unavailable", "then")
	testenv.Equal(t, len(told), 0, "second results")
}

// A tap is not sealed any more if it waited so long that the ledger might refuse its win. Each reported win is paid.
// The player may tap again.
func TestATapThatWaitedTooLongIsNotSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeScript{stock: 10, hold: make(chan struct{})}
		b := newBench(t, s, &fakeConfirmer{immediate: true})
		b.tap("first", "0.0", "first")
		synctest.Wait() // its batch is away
		b.late.Add(1)
		b.tap("long", "0.0", "long")
		b.late.Add(1)
		b.tap("just", "0.0", "just")
		b.late.Add(rain.SealWithinMS)
		close(s.hold)
		b.gates.Close()
		b.wantTold(t, "first won", "long unavailable", "just won")
		testenv.Equal(t, s.sent, []string{"first 0.0", "just 0.0"}, "the script was asked")
	})
}
