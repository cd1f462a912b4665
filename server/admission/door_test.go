package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// seats is a room with a set answer. It notes its calls.
type seats struct {
	mu   sync.Mutex
	turn store.Turn
	err  error
	said []string
}

func (s *seats) note(what string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, fmt.Sprintf(what, args...))
	return s.err
}

// heard returns the calls since it was last called, sorted.
func (s *seats) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said
	s.said = nil
	slices.Sort(said)
	return said
}

func (s *seats) Ask(_ context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	return s.turn, s.note("ask %s %s", c.ID, user)
}

func (s *seats) Enter(_ context.Context, c *rain.Campaign, user, node string) (store.Turn, error) {
	return s.turn, s.note("enter %s %s %s", c.ID, user, node)
}

func (s *seats) Keep(_ context.Context, campaign, node string, users []string) (int, error) {
	if len(users) == 0 {
		return 0, nil
	}
	slices.Sort(users)
	return 0, s.note("keep %s %s %v", campaign, node, users)
}

func (s *seats) Lost(_ context.Context, campaign, _ string, users []string) error {
	if len(users) == 0 {
		return nil
	}
	slices.Sort(users)
	return s.note("lost %s %v", campaign, users)
}

func (s *seats) Left(_ context.Context, campaign, _ string, users []string) error {
	if len(users) == 0 {
		return nil
	}
	slices.Sort(users)
	return s.note("left %s %v", campaign, users)
}

func (s *seats) Counts(context.Context, string) (waiting, seated int64, err error) { return 5, 7, nil }

type known []*rain.Campaign

func (k known) Live() []*rain.Campaign { return k }

func campaign(id string, capacity int) *rain.Campaign {
	c := &rain.Campaign{ID: id, Status: rain.Open}
	c.Capacity = capacity
	return c
}

// world runs a Door in fake time.
func world(t *testing.T, s *seats, test func(d *Door, reg *prometheus.Registry)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		d := NewDoor(DoorOptions{
			Seats: s, Known: known{campaign("c", 9), campaign("c2", 1), campaign("open", 0)}, Node: "n",
			Log: slog.New(slog.DiscardHandler), Registerer: reg,
		})
		testenv.Run(t, d.Run)
		synctest.Wait()
		test(d, reg)
	})
}

// wait lets an amount of fake time pass, and everything that happens in it.
func wait(rounds int) {
	<-after(rounds)
	synctest.Wait()
}

func TestSeatsAreKeptWhilePlayersAreThere(t *testing.T) {
	s := &seats{turn: store.Turn{Admitted: true, New: true}}
	world(t, s, func(d *Door, reg *prometheus.Registry) {
		for _, in := range []struct {
			capacity   int
			id, player string
		}{{9, "c", "a"}, {9, "c", "a"}, {9, "c", "b"}, {1, "c2", "a"}, {0, "open", "a"}} {
			if turn, err := d.Enter(t.Context(), campaign(in.id, in.capacity), in.player); err != nil ||
				!turn.Admitted {
				t.Fatal(turn, err)
			}
		}
		if got := s.heard(); len(got) != 4 {
			t.Errorf("%v, want no question about the campaign without a limit", got)
		}
		wait(1)
		testenv.Equal(t, s.heard(), []string{"keep c n [a b]", "keep c2 n [a]"}, "said")
		d.Leave("open", "a", true)
		d.Leave("c", "a", true) // the other socket is there still
		synctest.Wait()
		if got := s.heard(); len(got) != 0 {
			t.Errorf("%v, though the player is there", got)
		}
		d.Leave("c", "a", false)
		d.Leave("c", "b", true)
		d.Leave("c", "stranger", true)
		synctest.Wait()
		testenv.Equal(t, s.heard(), []string{"left c [b]", "lost c [a]"}, "said")
		wait(1)
		testenv.Equal(t, s.heard(), []string{"keep c2 n [a]"}, "said")
		if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP redrain_waiting Players in the waiting rooms of all campaigns, over all nodes: each node reports the same.
# TYPE redrain_waiting gauge
redrain_waiting 10
# HELP redrain_admitted_total Players that this node has admitted to rooms with a capacity.
# TYPE redrain_admitted_total counter
redrain_admitted_total 4
`), "redrain_waiting", "redrain_admitted_total"); err != nil {
			t.Error(err)
		}
	})
}

// A waiting player has no slot to keep or to free. The same is true of a player whose request failed.
func TestWhoWaitsHasNoSeat(t *testing.T) {
	away := errors.New("away")
	for _, s := range []*seats{{turn: store.Turn{Position: 3}}, {err: away}} {
		world(t, s, func(d *Door, _ *prometheus.Registry) {
			turn, err := d.Enter(t.Context(), campaign("c", 9), "a")
			if turn != s.turn || !errors.Is(err, s.err) {
				t.Errorf("%+v, %v", turn, err)
			}
			if turn, err := d.Ask(t.Context(), campaign("c", 9), "a"); turn != s.turn || !errors.Is(err, s.err) {
				t.Errorf("%+v, %v", turn, err)
			}
			_ = s.heard()
			wait(2)
			if got := s.heard(); len(got) != 0 {
				t.Errorf("%v", got)
			}
		})
	}
}

// A closed campaign's room is everybody's.
func TestAClosedCampaignLetsEverybodyIn(t *testing.T) {
	s := &seats{}
	world(t, s, func(d *Door, _ *prometheus.Registry) {
		c := campaign("c", 1)
		c.Status = rain.Closed
		if turn, err := d.Enter(t.Context(), c, "a"); err != nil || !turn.Admitted {
			t.Error(turn, err)
		}
		if turn, err := d.Ask(t.Context(), c, "a"); err != nil || !turn.Admitted {
			t.Error(turn, err)
		}
		if got := s.heard(); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

func TestMain(m *testing.M) { testenv.Main(m) }

// after ends after a number of the Door's rounds.
func after(rounds int) <-chan time.Time { return time.After(time.Duration(rounds) * keepEvery) }
