package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// TestRainmakerTellsOfTheCampaign: the room hears what becomes of its campaign, also without a rain, from the moment in which its
// first member has joined; and nothing of what a player does not see.
func TestRainmakerTellsOfTheCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() int64 { return time.Now().UnixMilli() }
		registry := newTestRegistry(&fakeSource{byID: map[string]*rain.Campaign{}})
		var maker *rainmaker
		lobby := room.NewLobby(room.Options{
			Log: slog.New(slog.DiscardHandler), OnOpen: func(c string) { maker.Open(c) }, OnEmpty: func(c string) { maker.Empty(c) },
		})
		maker = newRainmaker(now, registry, lobby)
		registry.changed = append(registry.changed, maker.Changed)
		ctx, cancel := context.WithCancel(t.Context())
		running := make(chan error, 1)
		go func() { running <- lobby.Run(ctx) }()

		c := &rain.Campaign{ID: "c", Status: rain.Open, Revision: 1, ExpiresAt: now() + 3_600_000}
		registry.Put(c)
		hearing := &ear{}
		lobby.Join("c", "u", lobby.NewMember(hearing.connect(t), nil))
		change := func(do func(*rain.Campaign)) {
			c = c.Clone()
			c.Revision++
			do(c)
			registry.Put(c)
		}
		change(func(c *rain.Campaign) { c.Status = rain.Paused }) // at once: the shower may not have run yet
		synctest.Wait()
		change(func(c *rain.Campaign) { c.Status = rain.Open })
		synctest.Wait()
		start := now() + 2_000
		change(func(c *rain.Campaign) { // a countdown is no news of the campaign, but of its rain
			c.Rains = []rain.Rain{{ID: "r", Campaign: "c", StartsAt: start, DurationMS: 3_000, DropsPerSecond: 8, FallMS: 1_000}}
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
		for _, h := range hearing.of("campaign") {
			var m wire.CampaignChange
			if err := json.Unmarshal(h.data, &m); err != nil {
				t.Fatal(err)
			}
			state := m.Campaign.State
			if m.Campaign.Drained {
				state += ", drained"
			}
			told = append(told, state)
		}
		want := []string{"paused", "ready", "raining", "ready", "closed", "closed, drained"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		maker.Stop()
		cancel()
		if err := <-running; err != nil {
			t.Error(err)
		}
	})
}
