package live

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// scheduled is a schedule with a lobby that runs.
type scheduled struct {
	*Schedule
	known *cluster.Known
	lobby *room.Lobby
}

func now() int64 { return time.Now().UnixMilli() }

func onSchedule(t *testing.T) *scheduled {
	t.Helper()
	known := cluster.NewKnown()
	s := &scheduled{Schedule: NewSchedule(now, known, nil), known: known}
	s.lobby = room.NewLobby(room.Options{Log: slog.New(slog.DiscardHandler), OnOpen: s.Open, OnEmpty: s.Empty})
	testenv.Run(t, s.lobby.Run)
	return s
}

func (s *scheduled) put(c *rain.Campaign) {
	s.known.Store(c)
	s.Changed(c)
}

// join has a player join the room of the campaign "c".
func (s *scheduled) join(t *testing.T) *servertest.Ear {
	t.Helper()
	ear := &servertest.Ear{}
	s.lobby.Join("c", "u", s.lobby.NewMember(ear.Connect(t)))
	return ear
}

// TestTheScheduleOfARain plays a rain on a fake clock. Each phase is sent when it begins, and each wave once, a little
// before its moment. A paused rain sends none. When it resumes, the falling packets are sent again.
func TestTheScheduleOfARain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSchedule(t)
		c := &rain.Campaign{ID: "c", Status: rain.Open, Revision: 1}
		s.put(c)
		hearing := s.join(t)
		synctest.Wait() // the shower has begun, after the welcome

		start := now() + 2_000
		c = c.Clone()
		c.Revision++
		c.Rains = []rain.Rain{{ID: "r", Campaign: "c", StartsAt: start,
			Settings: rain.Settings{DurationMS: 3_000, DropsPerSecond: 8, FallMS: 1_000}}}
		s.put(c)
		synctest.Wait()
		if got := hearing.Of("rain"); len(got) != 1 {
			t.Fatalf("%d notices of the countdown", len(got))
		}
		time.Sleep(2_000 * time.Millisecond) // the start
		synctest.Wait()
		if got := hearing.Of("rain"); len(got) != 2 || got[1].At != start {
			t.Errorf("the start: %v", got)
		}
		time.Sleep(1_000 * time.Millisecond)
		pause := c.Clone()
		pause.Revision++
		pause.Status = rain.Paused
		s.put(pause)
		synctest.Wait()
		before := len(hearing.Of("wave"))
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		if got := len(hearing.Of("wave")); got != before {
			t.Errorf("%d waves while paused", got-before)
		}
		again := c.Clone()
		again.Revision += 2
		s.put(again)
		time.Sleep(5_000 * time.Millisecond)
		synctest.Wait()

		seen := map[int64]bool{}
		for _, h := range hearing.Of("wave") {
			var w wire.Wave
			testenv.Must(t, json.Unmarshal(h.Data, &w))
			if seen[w.N] && h.At < start+1_900 {
				t.Errorf("wave %d came twice before the pause", w.N)
			}
			seen[w.N] = true
			if h.At > w.At && h.At != start+1_900 { // those in the air at the resumption come late
				t.Errorf("wave %d came %d ms late", w.N, h.At-w.At)
			}
			if w.At-h.At > waveLeadMS {
				t.Errorf("wave %d came %d ms early", w.N, w.At-h.At)
			}
		}
		testenv.Equal(t, len(seen), 12, "waves")
		phases := hearing.Of("rain")
		var last wire.RainChange
		testenv.Must(t, json.Unmarshal(phases[len(phases)-1].Data, &last))
		if last.Rain.Phase != rain.PhaseEnded || phases[len(phases)-1].At != start+4_000 || len(phases) != 5 {
			t.Errorf("%d phases, the last %s at %d", len(phases), last.Rain.Phase, phases[len(phases)-1].At-start)
		}
		s.Stop()
	})
}

// TestTheScheduleTellsOfTheCampaign: a room receives the changes of its campaign that players see, even without a rain.
// It does so from the moment when its first member joins.
func TestTheScheduleTellsOfTheCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onSchedule(t)
		c := &rain.Campaign{ID: "c", Status: rain.Open, Revision: 1, ExpiresAt: now() + 3_600_000}
		s.put(c)
		hearing := s.join(t)
		change := func(do func(*rain.Campaign)) {
			c = c.Clone()
			c.Revision++
			do(c)
			s.put(c)
		}
		change(func(c *rain.Campaign) { c.Status = rain.Paused }) // at once: the shower may not have run yet
		synctest.Wait()
		change(func(c *rain.Campaign) { c.Status = rain.Open })
		synctest.Wait()
		start := now() + 2_000
		change(func(c *rain.Campaign) { // a countdown is no news of the campaign, but of its rain
			c.Rains = []rain.Rain{{
				ID: "r", Campaign: "c", StartsAt: start,
				Settings: rain.Settings{DurationMS: 3_000, DropsPerSecond: 8, FallMS: 1_000},
			}}
		})
		time.Sleep(2_500 * time.Millisecond)
		synctest.Wait()
		time.Sleep(5_000 * time.Millisecond)
		synctest.Wait()
		change(func(c *rain.Campaign) { c.Status = rain.Closed })
		synctest.Wait()
		change(func(c *rain.Campaign) { c.Drained = true })
		synctest.Wait()

		var told []string
		for _, h := range hearing.Of("campaign") {
			var m wire.CampaignChange
			testenv.Must(t, json.Unmarshal(h.Data, &m))
			state := m.Campaign.State
			if m.Campaign.Drained {
				state += ", drained"
			}
			told = append(told, state)
		}
		want := []string{"paused", "ready", "raining", "ready", "closed", "closed, drained"}
		testenv.Equal(t, told, want, "received")
		s.Stop()
	})
}

// TestInAir: a late player sees the same packets as the others.
func TestInAir(t *testing.T) {
	c := &rain.Campaign{ID: "c", Status: rain.Open, Rains: []rain.Rain{
		{
			ID: "r", Campaign: "c", StartsAt: 10_000, FirstWave: 40,
			Settings: rain.Settings{DurationMS: 3_000, DropsPerSecond: 8, FallMS: 1_000},
		},
	}}
	for now, want := range map[int64][2]int{ // first wave shown, how many
		9_949: {0, 0}, 9_950: {40, 1}, 10_000: {40, 1}, 11_000: {41, 4}, 12_999: {48, 4}, 14_000: {0, 0},
	} {
		got := InAir(c, now)
		if len(got) != want[1] {
			t.Errorf("at %d: %d waves, want %d", now, len(got), want[1])
			continue
		}
		if len(got) > 0 {
			var w wire.Wave
			if err := json.Unmarshal(got[0], &w); err != nil || w.N != int64(want[0]) {
				t.Errorf("at %d: first wave %d, want %d (%v)", now, w.N, want[0], err)
			}
		}
	}
	c.Status = rain.Paused
	if got := InAir(c, 11_000); len(got) > 0 {
		t.Errorf("%d waves while paused", len(got))
	}
}

// TestARoundThatPanicsEndsNoSchedule: it is counted, and the next one comes a second later.
func TestARoundThatPanicsEndsNoSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet, alarms := slog.New(slog.DiscardHandler), []string{}
		recoverer, err := loop.NewRecoverer(nil, quiet, func(part, _ string) { alarms = append(alarms, part) })
		testenv.Must(t, err)
		known, rounds := cluster.NewKnown(), 0
		s := NewSchedule(func() int64 { rounds++; panic("torn") }, known, recoverer)
		lobby := room.NewLobby(room.Options{Log: quiet, OnOpen: s.Open, OnEmpty: s.Empty})
		lobby.Join("c", "u", lobby.NewMember((&servertest.Ear{}).Connect(t)))
		known.Store(&rain.Campaign{ID: "c"}) // too late for Open, which looks for it as well
		s.Changed(&rain.Campaign{ID: "c"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		testenv.Must(t, lobby.Run(ctx))
		s.Stop()
		if rounds < 50 || !slices.Equal(alarms, []string{"rain schedule"}) {
			t.Errorf("%d rounds, the alarms %q", rounds, alarms)
		}
	})
}
