package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/server/presence"
)

// hearing is an audience whose notices are noted.
type hearing struct {
	*Audience

	mu    sync.Mutex
	heard map[string]int // by claim
}

// hears runs an audience on a bus. Whoever has the claim "torn" panics.
func hears(t *testing.T, bus *Bus) *hearing {
	t.Helper()
	h := &hearing{heard: map[string]int{}}
	recoverer, err := loop.NewRecoverer(nil, slog.New(slog.DiscardHandler), nil)
	testenv.Must(t, err)
	h.Audience = NewAudience(bus, recoverer, func(_ string, n Settled) {
		for _, c := range n.Claims {
			if c.Drop == "torn" {
				panic("a torn notice")
			}
			h.mu.Lock()
			h.heard[c.User+" "+c.Drop]++
			h.mu.Unlock()
		}
	})
	testenv.Run(t, h.Run)
	return h
}

func (h *hearing) times(user, claim string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard[user+" "+claim]
}

// subscribed waits until so many subjects are subscribed to: the groups of each audience, and one for all nodes.
func subscribed(t *testing.T, bus *Bus, subjects int) {
	t.Helper()
	testenv.Eventually(t, time.Minute, fmt.Sprintf("%d subjects are subscribed to", subjects), func() bool {
		return bus.nc.NumSubscriptions() == subjects
	})
}

func tell(t *testing.T, bus *Bus, user, drop string) {
	t.Helper()
	testenv.Must(t, bus.Settled(t.Context(), "c", []posting.Settlement{{Campaign: "c", Drop: drop, User: user}}))
}

// A node hears what concerns its players, from when the first of a group has come until the last has gone; a player
// on two nodes is told on both.
func TestAudienceHearsItsPlayers(t *testing.T) {
	bus := newTestBus(t)
	one, two := hears(t, bus), hears(t, bus)
	until := func(h *hearing, user, claim string) {
		t.Helper()
		testenv.Eventually(t, 10*time.Second, user+" hears of "+claim, func() bool { return h.times(user, claim) == 1 })
	}
	one.Join(t.Context(), "u")
	one.Join(t.Context(), "u") // a second connection
	two.Join(t.Context(), "u")
	tell(t, bus, "u", "1")
	until(one, "u", "1")
	until(two, "u", "1")
	one.Leave("u")
	two.Leave("u")
	two.Leave("u") // once too often does no harm
	subscribed(t, bus, 2)
	tell(t, bus, "u", "2")
	until(one, "u", "2")
	one.Join(t.Context(), "v")
	tell(t, bus, "v", "3")
	until(one, "v", "3")
	if two.times("u", "2")+two.times("v", "3") > 0 {
		t.Error("a node hears of players that are not on it")
	}
	one.Leave("u")
	subscribed(t, bus, 2)
	tell(t, bus, "u", "4")
	tell(t, bus, "v", "5")
	until(one, "v", "5")
	if one.times("u", "4") > 0 {
		t.Error("a node hears of a player who has gone")
	}
}

// Thousands of players make no goroutine each, and those who come and go at once leave nothing behind.
func TestManyPlayersOfAnAudience(t *testing.T) {
	bus := newTestBus(t)
	h := hears(t, bus)
	before := runtime.NumGoroutine()
	const players = 4_000
	each := func(do func(user string)) {
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := worker; i < players; i += 4 {
					do(fmt.Sprintf("player-%d", i))
				}
			})
		}
		wg.Wait()
	}
	each(func(user string) { h.Join(t.Context(), user) })
	if grown := runtime.NumGoroutine() - before; grown > 20 {
		t.Errorf("%d goroutines for %d players", grown, players)
	}
	tell(t, bus, "player-7", "1")
	testenv.Eventually(t, 10*time.Second, "one of them hears", func() bool { return h.times("player-7", "1") == 1 })
	each(h.Leave)
	subscribed(t, bus, 0)
}

// A notice that makes its listener panic, or that nobody can read, ends nothing.
func TestAudienceGoesOnAfterAPanic(t *testing.T) {
	bus := newTestBus(t)
	h := hears(t, bus)
	h.Join(t.Context(), "u")
	tell(t, bus, "u", "torn")
	testenv.Must(t, bus.nc.Publish(bus.subject(topicSettled, group("u")), []byte("nothing")))
	tell(t, bus, "u", "1")
	testenv.Eventually(t, 10*time.Second, "what comes after it", func() bool { return h.times("u", "1") == 1 })
}

// Where more comes than is handled, what does not fit is lost and holds up nobody; what comes later is heard.
func TestALostNotice(t *testing.T) {
	bus := newTestBus(t)
	var wait sync.Mutex
	wait.Lock()
	var mu sync.Mutex
	heard := map[string]int{}
	a := NewAudience(bus, nil, func(_ string, n Settled) {
		wait.Lock()
		defer wait.Unlock()
		mu.Lock()
		defer mu.Unlock()
		heard[n.Claims[0].Drop]++
	})
	testenv.Run(t, a.Run)
	a.Join(t.Context(), "u")
	for range heardAtOnce + 1_000 {
		tell(t, bus, "u", "many")
	}
	testenv.Must(t, bus.nc.Flush())
	wait.Unlock()
	testenv.Eventually(t, 10*time.Second, "what fits is heard", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard["many"] >= heardAtOnce
	})
	tell(t, bus, "u", "later")
	testenv.Eventually(t, 10*time.Second, "what comes later is heard", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return heard["later"] == 1
	})
}

// Only arrivals wait for NATS.
func TestAudienceWaitsForArrivals(t *testing.T) {
	bus := newTestBus(t)
	a := NewAudience(bus, nil, func(string, Settled) {})
	ended, cancel := context.WithTimeout(t.Context(), time.Minute)
	cancel()
	for state, want := range map[presence.State]error{presence.Here: context.Canceled, presence.Left: nil} {
		err := a.follow(ended, []presence.Change[struct{}, string]{{Member: group("u"), State: state}})
		if !errors.Is(err, want) {
			t.Errorf("state %d: %v, want %v", state, err, want)
		}
	}
}

// A player comes in while NATS is away, and at once; and when the connection is closed for good, too.
func TestAudienceWithoutNATS(t *testing.T) {
	bus := newTestBus(t)
	h := hears(t, bus)
	h.Join(t.Context(), "u")
	bus.nc.Close()
	const times = 20
	began := time.Now()
	for range times {
		h.Join(t.Context(), "u")
		h.Join(t.Context(), "v")
		h.Leave("v")
		h.Leave("u")
	}
	h.Leave("u")
	if took := time.Since(began); took > times*time.Second/10 { // with waits it would be 10 s
		t.Errorf("it took %v", took)
	}
	testenv.Equal(t, h.groups.Groups(), 0, "groups of players")
}
