package bench_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/bench"
	"redrain/internal/bench/benchtest"
	"redrain/internal/testenv"
)

// gather lets players into a room that a test has made. A player's token is "p" and its number.
func gather(t *testing.T, room *benchtest.Room, change func(*bench.Options)) (*bench.Crowd, error) {
	t.Helper()
	s := httptest.NewServer(room)
	t.Cleanup(s.Close)
	o := bench.Options{
		Targets: []string{"ws" + strings.TrimPrefix(s.URL, "http")}, Campaigns: []string{"c1"}, Players: 20,
		Token: func(_ context.Context, player int) (string, error) { return "p" + strconv.Itoa(player), nil },
	}
	if change != nil {
		change(&o)
	}
	crowd, err := bench.Gather(t.Context(), o)
	if err == nil {
		t.Cleanup(crowd.Leave)
	}
	return crowd, err
}

func mustGather(t *testing.T, room *benchtest.Room, change func(*bench.Options)) *bench.Crowd {
	t.Helper()
	crowd, err := gather(t, room, change)
	testenv.Must(t, err)
	return crowd
}

// until is a context that ends when the function is called n times.
func until(t *testing.T, n int64) (ctx context.Context, called func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var count atomic.Int64
	return ctx, func() {
		if count.Add(1) == n {
			cancel()
		}
	}
}

// Every tap is answered once and counted, no player taps a drop twice, and every win that the server tells is reported.
func TestClosedLoop(t *testing.T) {
	const taps = 2_000
	ctx, tapped := until(t, taps)
	room := &benchtest.Room{Answer: func(user, drop string) (string, string) {
		tapped()
		if strings.HasSuffix(drop, ".5") {
			return "won", user + "-" + drop
		}
		return "empty", ""
	}}
	crowd := mustGather(t, room, nil)
	if !crowd.AwaitRain(t.Context()) {
		t.Fatal("it does not rain")
	}
	r := crowd.Play(ctx, bench.Plan{Duration: 30 * time.Second})
	won := 0
	for key, times := range room.Taps() {
		user, drop, _ := strings.Cut(key, " ")
		if times != 1 {
			t.Errorf("%s tapped %s %d times", user, drop, times)
		}
		if strings.HasSuffix(drop, ".5") {
			won++
		}
		if strings.HasSuffix(drop, ".5") && !slices.ContainsFunc(r.Told, func(w bench.Win) bool {
			return w.Claim == user+"-"+drop && w.Amount == benchtest.Amount &&
				"p"+strconv.Itoa(w.Player) == user
		}) {
			t.Errorf("the win of %s with %s is not reported", user, drop)
		}
	}
	all := int64(len(room.Taps()))
	if r.Taps != all || r.Answered != all || r.Times.TotalCount() != all || all < taps ||
		r.Unanswered+r.Lost != 0 ||
		r.Outcomes["won"] != int64(won) || r.Outcomes["won"]+r.Outcomes["empty"] != all || len(r.Told) != won {
		t.Errorf("%d taps got there, %d of them wins; report %+v", all, won, r)
	}
	if r.Joined != 20 || len(r.NotJoined)+len(r.Faults)+len(r.Errors)+len(r.Closes) != 0 ||
		r.Reconnects+r.Broken != 0 {
		t.Errorf("report %+v", r)
	}
}

// Players come back after the codes that allow it and tap on; the same drop is not tapped again.
func TestReconnect(t *testing.T) {
	ctx, tapped := until(t, 1_000)
	var closing atomic.Int64
	room := &benchtest.Room{
		Answer: func(string, string) (string, string) { tapped(); return "empty", "" },
		Closing: func(string) int {
			if closing.Add(1) <= 5 {
				return 4000
			}
			return 0
		},
	}
	r := mustGather(t, room, nil).Play(ctx, bench.Plan{Duration: 30 * time.Second})
	if r.Closes["4000"] != 5 || r.Lost != 5 || r.Reconnects > 5 || r.Taps != r.Answered+5 || len(r.Faults) != 0 {
		t.Errorf("report %+v", r)
	}
	for key, times := range room.Taps() {
		if times != 1 {
			t.Errorf("%s: %d times", key, times)
		}
	}
}

// All that left come back, and say so.
func TestEverybodyComesBack(t *testing.T) {
	const players = 3
	var closing atomic.Int64
	room := &benchtest.Room{Closing: func(string) int {
		if closing.Add(1) <= players {
			return 4001
		}
		return 0
	}}
	ctx, back := until(t, 2*players)
	room.Welcome = func(string) int { back(); return 0 }
	crowd := mustGather(t, room, func(o *bench.Options) { o.Players = players })
	plan := bench.Plan{Duration: 30 * time.Second}
	crowd.Play(ctx, plan)
	for crowd.Progress().Connected < players && t.Context().Err() == nil {
		crowd.Play(t.Context(), bench.Plan{Duration: time.Millisecond, Watch: true})
	}
	for user, times := range room.Welcomes() {
		if times != 2 {
			t.Errorf("%s came in %d times", user, times)
		}
	}
}

// With one of several servers gone, its players play on another.
func TestPlayersMoveToAnotherServer(t *testing.T) {
	gone := httptest.NewServer(&benchtest.Room{Closing: func(string) int { return 4000 }})
	t.Cleanup(gone.Close)
	const players = 10
	ctx, here := until(t, players)
	room := &benchtest.Room{Welcome: func(string) int { here(); return 0 }}
	crowd := mustGather(t, room, func(o *bench.Options) {
		o.Players, o.Targets = players, append(o.Targets, "ws"+strings.TrimPrefix(gone.URL, "http"))
	})
	crowd.Play(ctx, bench.Plan{Duration: 30 * time.Second})
	if n := len(room.Welcomes()); n != players {
		t.Errorf("%d players have come to the other server", n)
	}
}

// Whoever is refused for good does not try again, and the others play.
func TestRefused(t *testing.T) {
	var tries atomic.Int64
	room := &benchtest.Room{Welcome: func(user string) int {
		if user == "p3" {
			tries.Add(1)
			return 4500
		}
		return 0
	}}
	r := mustGather(t, room, nil).Play(t.Context(), bench.Plan{Duration: time.Millisecond, Watch: true})
	if r.Joined != 19 || len(r.NotJoined) != 1 || r.Closes["4500"] != 1 || tries.Load() != 1 {
		t.Errorf("%d tries; report %+v", tries.Load(), r)
	}
	_, err := gather(t, &benchtest.Room{Welcome: func(string) int { return 4502 }}, nil)
	closed, ok := errors.AsType[*client.ClosedError](err)
	if !ok || closed.Code != 4502 || !strings.Contains(err.Error(), "as the test wants") {
		t.Errorf("nobody is let in: %v", err)
	}
}

// A tap without an answer is reported, and not waited for longer than is wanted.
func TestUnanswered(t *testing.T) {
	room := &benchtest.Room{}
	ctx, answered := until(t, 100)
	room.Answer = func(user, _ string) (string, string) {
		if user == "p0" {
			return "", ""
		}
		answered()
		return "empty", ""
	}
	crowd := mustGather(t, room, nil)
	r := crowd.Play(ctx, bench.Plan{Duration: 30 * time.Second, Drain: 20 * time.Millisecond})
	if r.Unanswered < 1 || r.Taps != r.Answered+r.Unanswered {
		t.Errorf("report %+v", r)
	}
}

// In an open loop no more is sent than was ordered.
func TestOpenLoop(t *testing.T) {
	room := &benchtest.Room{}
	const rate, duration = 1_000, 200 * time.Millisecond
	r := mustGather(t, room, nil).Play(t.Context(), bench.Plan{Duration: duration, Rate: rate})
	most := int64(rate*(float64(r.DurationMS)/1000)) + 2
	if r.Taps == 0 || r.Taps > most || r.Answered != r.Taps || r.NothingInAir+r.NobodyThere != 0 ||
		r.Times.TotalCount() != r.Answered {
		t.Errorf("%d taps of at most %d; report %+v", r.Taps, most, r)
	}
}

// TestGatherFails where the players need more files than there are, or nobody answers.
func TestGatherFails(t *testing.T) {
	o := bench.Options{Targets: []string{"ws://localhost:1/ws"}, Campaigns: []string{"c"}, Players: 1 << 30,
		Token: func(context.Context, int) (string, error) { return "t", nil }, JoinWithin: time.Millisecond}
	if _, err := bench.Gather(t.Context(), o); err == nil || !strings.Contains(err.Error(), "open files") {
		t.Errorf("a billion players: %v", err)
	}
	o.Players = 1
	if _, err := bench.Gather(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "no player could join in time") {
		t.Errorf("no server: %v", err)
	}
}
