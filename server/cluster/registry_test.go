package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger/history"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// fakeSource keeps campaigns in memory.
type fakeSource struct {
	mu    sync.Mutex
	byID  map[string]*rain.Campaign
	reads int
	hand  map[string]bool // campaigns that somebody has changed by hand
	gate  chan struct{}   // a query waits until it is closed; nil: it does not
}

func (f *fakeSource) WholeCampaign(_ context.Context, id string) (*rain.Campaign, error) {
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.hand[id] {
		return nil, history.ErrTampered
	}
	if c := f.byID[id]; c != nil {
		return c.Clone(), nil
	}
	return nil, posting.ErrUnknownCampaign
}

func (f *fakeSource) Live(context.Context) ([]*rain.Campaign, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var live []*rain.Campaign
	for _, c := range f.byID {
		if !c.Drained {
			live = append(live, c.Clone())
		}
	}
	return live, nil
}

func (f *fakeSource) set(c rain.Campaign) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID[c.ID] = &c
}

// byHand says which campaigns somebody has changed.
func (f *fakeSource) byHand(ids ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hand = map[string]bool{}
	for _, id := range ids {
		f.hand[id] = true
	}
}

func newTestRegistry(source *fakeSource) *Registry {
	return NewRegistry(RegistryOptions{Source: source, Known: NewKnown(), Log: slog.New(slog.DiscardHandler)})
}

func TestRegistryKeepsTheNewerVersion(t *testing.T) {
	var told []int64
	r := NewRegistry(RegistryOptions{
		Source: &fakeSource{}, Known: NewKnown(),
		Changed: []func(*rain.Campaign){func(c *rain.Campaign) { told = append(told, c.Revision) }},
	})
	for _, rev := range []int64{2, 1, 2, 5, 3} {
		r.Put(&rain.Campaign{ID: "c", Revision: rev})
	}
	if got := r.Cached("c").Revision; got != 5 || len(told) != 2 || told[0] != 2 || told[1] != 5 {
		t.Errorf("revision %d, told of %v", got, told)
	}
}

// TestRegistryHealsByItself: a change that nobody has announced is known after one refresh, and a drained campaign is
// forgotten.
func TestRegistryHealsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: map[string]*rain.Campaign{}}
		source.set(rain.Campaign{ID: "c", Revision: 1, Status: rain.Open})
		r := newTestRegistry(source)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		if len(r.Live()) != 1 {
			t.Fatal("the first refresh has not found the campaign")
		}
		source.set(rain.Campaign{ID: "c", Revision: 2, Status: rain.Closed})
		time.Sleep(RefreshEvery + time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if c := r.Cached("c"); c == nil || c.Revision != 2 {
			t.Errorf("after a refresh: %+v", c)
		}
		source.set(rain.Campaign{ID: "c", Revision: 3, Status: rain.Closed, Drained: true})
		time.Sleep(RefreshEvery + time.Millisecond)
		synctest.Wait()
		if c := r.Cached("c"); c != nil {
			t.Errorf("a drained campaign is kept: %+v", c)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestRegistryAsksOnceForMany: a hall of players who open one campaign at the same moment make one query.
func TestRegistryAsksOnceForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: map[string]*rain.Campaign{}, gate: make(chan struct{})}
		source.set(rain.Campaign{ID: "c", Revision: 1})
		r := newTestRegistry(source)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := r.Get(t.Context(), "c"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all of them are waiting for the answer
		close(source.gate)
		wg.Wait()
		if source.reads != 1 {
			t.Errorf("%d queries", source.reads)
		}
		if _, err := r.Get(t.Context(), "nowhere"); !errors.Is(err, posting.ErrUnknownCampaign) {
			t.Errorf("an unknown campaign: %v", err)
		}
	})
}

// TestRegistryReadsWhatIsAnnounced: what another node announces is read before the next refresh, without holding up who
// announces it, and what is known already is not read.
func TestRegistryReadsWhatIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: map[string]*rain.Campaign{}}
		source.set(rain.Campaign{ID: "c", Revision: 1, Status: rain.Open})
		r := newTestRegistry(source)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		source.set(rain.Campaign{ID: "c", Revision: 2, Status: rain.Paused})
		r.Announce("c", 2)
		synctest.Wait()
		if c := r.Cached("c"); c.Revision != 2 {
			t.Errorf("after the announcement: %+v", c)
		}
		before := source.reads
		r.Announce("c", 2)
		synctest.Wait()
		if source.reads != before {
			t.Error("what is known was read again")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestRegistryFollowsNoHand: of a campaign that somebody has changed in the database a node keeps what it knows, and
// one that knows nothing does not serve it. That holds up no other campaign, is said once, and ends when it is put
// right.
func TestRegistryFollowsNoHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: map[string]*rain.Campaign{}}
		source.set(rain.Campaign{ID: "known", Revision: 1})
		var said bytes.Buffer
		r := NewRegistry(RegistryOptions{Source: source, Known: NewKnown(),
			Log: slog.New(slog.NewTextHandler(&said, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()

		source.byHand("known", "new")
		source.set(rain.Campaign{ID: "known", Revision: 90})
		source.set(rain.Campaign{ID: "new", Revision: 1})
		source.set(rain.Campaign{ID: "other", Revision: 1})
		r.Announce("known", 90)
		time.Sleep(3 * RefreshEvery) // of the bubble's clock
		if c := r.Cached("known"); c == nil || c.Revision != 1 || r.Cached("new") != nil || r.Cached("other") == nil {
			t.Errorf("known %+v, new %+v, other %+v", c, r.Cached("new"), r.Cached("other"))
		}
		if _, err := r.Get(ctx, "new"); !errors.Is(err, history.ErrTampered) {
			t.Errorf("new: %v", err)
		}
		if n := strings.Count(said.String(), "level="); n != 2 || strings.Count(said.String(), "not followed") != 2 {
			t.Errorf("%d lines:\n%s", n, said.String())
		}
		source.byHand()
		source.set(rain.Campaign{ID: "known", Revision: 2})
		time.Sleep(2 * RefreshEvery) // of the bubble's clock
		if c := r.Cached("known"); c.Revision != 2 || r.Cached("new") == nil {
			t.Errorf("put right: known %+v, new %+v", c, r.Cached("new"))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestAPanicEndsNoMoreThanItsReload: many callers share one query in a goroutine of its own, where nobody but the
// registry can catch a panic of those who follow the change.
func TestAPanicEndsNoMoreThanItsReload(t *testing.T) {
	source := &fakeSource{byID: map[string]*rain.Campaign{}}
	source.set(rain.Campaign{ID: "c", Revision: 1})
	torn := true
	r := NewRegistry(RegistryOptions{
		Source: source, Known: NewKnown(), Log: slog.New(slog.DiscardHandler),
		Changed: []func(*rain.Campaign){func(*rain.Campaign) {
			if torn {
				panic("a torn listener")
			}
		}},
	})
	if c, err := r.Reload(t.Context(), "c"); c != nil || err == nil {
		t.Errorf("the caller of a reload that panicked got %v, %v", c, err)
	}
	torn = false
	source.set(rain.Campaign{ID: "c", Revision: 2})
	if c, err := r.Reload(t.Context(), "c"); err != nil || c.Revision != 2 {
		t.Errorf("the reload after it: %v, %v", c, err)
	}
}
