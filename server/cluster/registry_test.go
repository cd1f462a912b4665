package cluster

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/servertest"
)

// fakeSource keeps campaigns in memory.
type fakeSource struct {
	mu    sync.Mutex
	byID  servertest.Campaigns
	reads int
	gate  chan struct{} // a query waits until it is closed; nil: it does not
}

func (f *fakeSource) Campaign(ctx context.Context, id string) (*rain.Campaign, error) {
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return f.byID.Campaign(ctx, id)
}

func (f *fakeSource) Live(ctx context.Context) ([]*rain.Campaign, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byID.Live(ctx)
}

func (f *fakeSource) set(c rain.Campaign) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID[c.ID] = &c
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
		t.Errorf("revision %d, notified of %v", got, told)
	}
}

// TestRegistryHealsByItself: the registry has an unannounced change after one refresh, and removes a drained campaign.
func TestRegistryHealsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: servertest.Campaigns{}}
		source.set(rain.Campaign{ID: "c", Revision: 1, Status: rain.Open})
		r := newTestRegistry(source)
		testenv.Run(t, r.Run)
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
	})
}

// TestRegistryAsksOnceForMany: a hall of players who open one campaign at the same moment make one query.
func TestRegistryAsksOnceForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: servertest.Campaigns{}, gate: make(chan struct{})}
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
		testenv.Equal(t, source.reads, 1, "queries")
		testenv.WantErr(t, testenv.Err(r.Get(t.Context(), "nowhere")), posting.ErrUnknownCampaign,
			"an unknown campaign")
	})
}

// TestRegistryReadsWhatIsAnnounced: an announced change is read before the next refresh, and the announcer does not
// wait for it. A cached revision is not read.
func TestRegistryReadsWhatIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{byID: servertest.Campaigns{}}
		source.set(rain.Campaign{ID: "c", Revision: 1, Status: rain.Open})
		r := newTestRegistry(source)
		testenv.Run(t, r.Run)
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
		testenv.Equal(t, source.reads, before, "reads of a cached campaign")
	})
}

// TestAPanicEndsNoMoreThanItsReload: many callers share one query in a goroutine of its own. Only the registry can
// recover from a panic of the functions that follow the change.
func TestAPanicEndsNoMoreThanItsReload(t *testing.T) {
	source := &fakeSource{byID: servertest.Campaigns{}}
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
