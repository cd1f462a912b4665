package campaigns

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// stage has the dependencies of a demo, in memory.
type stage struct {
	memoryLedger
	told

	known    map[string]*rain.Campaign
	deposits int
	online   int
	stock    int
}

func (s *stage) Put(c *rain.Campaign) *rain.Campaign { s.known[c.ID] = c; return c }
func (s *stage) Cached(id string) *rain.Campaign     { return s.known[id] }
func (s *stage) Changed(*rain.Campaign)              {}

func (s *stage) Live(context.Context) (live []*rain.Campaign, err error) {
	for _, c := range s.memoryLedger {
		live = append(live, c)
	}
	return live, nil
}

func (s *stage) Deposit(context.Context, string, string, rain.Money) (rain.Money, error) {
	s.deposits++
	return demoBudget, nil
}

func (s *stage) Levels(context.Context, *rain.Campaign) (store.Levels, error) {
	return store.Levels{Stock: s.stock}, nil
}

// knownStage is a stage as the campaigns that a node knows.
type knownStage struct{ *stage }

func (s knownStage) Live() []*rain.Campaign { return nil }

// The demo makes a campaign, or continues that of an earlier process. It rains more often while a player is there, and
// waits while it is paused. It makes a new campaign when the stock is empty or the list of rains is long.
func TestDemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{memoryLedger: memoryLedger{}, known: map[string]*rain.Campaign{}, stock: 1}
		clock := rain.Clock(func() int64 { return time.Now().UnixMilli() })
		node := memoryNode(knownStage{s}, s, clock)
		service := NewService(ServiceOptions{Node: node, Ledger: s, Stock: &memoryStock{}})
		begin := func() *Demo {
			return &Demo{Node: node, Service: service, Campaigns: s, Deposit: s.Deposit, Levels: s.Levels,
				Members: func(string) int { return s.online }}
		}
		d := begin()
		testenv.Equal(t, d.Campaign(), "", "there is a demo before it has begun")
		// steps lets some time pass, a step each second, and returns how many rains there are.
		steps := func(seconds int) int {
			for range seconds {
				testenv.Must(t, d.step(t.Context()))
				<-time.After(time.Second) // of the bubble
			}
			return len(s.memoryLedger[d.Campaign()].Rains)
		}
		if n := steps(2); n != 1 || s.deposits != 1 || d.Campaign() == "" {
			t.Fatalf("%d rains, %d deposits", n, s.deposits)
		}
		first := d.Campaign()
		of := s.memoryLedger[first]
		length := int((of.Rains[0].EndsAt() - clock()) / 1000)
		testenv.Equal(t, steps(length+demoIdleMS/1000-1), 1, "rains before it was quiet for a minute")
		testenv.Equal(t, steps(3), 2, "rains after a minute")
		s.online = 1
		testenv.Equal(t, steps(length+demoPauseMS/1000+5), 3, "rains while a player is there")
		d = begin() // another process on the same data
		s.known = map[string]*rain.Campaign{}
		if steps(1); d.Campaign() != first || s.deposits != 1 {
			t.Errorf("%q and not %q goes on, with %d deposits", d.Campaign(), first, s.deposits)
		}
		testenv.Must(t, testenv.Err(service.Pause(t.Context(), first)))
		testenv.Equal(t, steps(300), 3, "rains while it is paused")
		testenv.Must(t, testenv.Err(service.Resume(t.Context(), first)))
		s.stock = 0
		steps(2)
		if d.Campaign() == first || s.deposits != 2 || s.memoryLedger[first].Status != rain.Closed {
			t.Errorf("everything is won, and %q goes on after %d deposits", d.Campaign(), s.deposits)
		}
		s.stock = 1
		second := d.Campaign()
		if steps(demoMaxRains * (length + demoPauseMS/1000 + 10)); d.Campaign() == second {
			t.Errorf("%d rains, and no new campaign", len(s.memoryLedger[second].Rains))
		}
	})
}
